"""The variables that the package reads. `python -m lineage_bridge_dagster_tests.variables` lists them."""

from __future__ import annotations

import re
from pathlib import Path

import lineage_bridge_dagster
from lineage_bridge_dagster import component as _every_component  # noqa: F401 - declares all groups of settings
from lineage_bridge_dagster.collector.settings import NOT_IN_A_FILE, collector_variables
from lineage_bridge_dagster.config.credentials import is_credential
from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.config.variables import known_variables

PACKAGE = Path(lineage_bridge_dagster.__file__).parent
LIST = PACKAGE / "config" / "variables.txt"


def read_variables() -> set[str]:
    """The variables of fields, and those that the packaged instance and the code name."""
    instance = (PACKAGE / "defs" / "confluent_to_glue" / "defs.yaml").read_text(encoding="utf-8")
    found = known_variables() | {*collector_variables().values(), *NOT_IN_A_FILE.values()}
    found |= set(re.findall(rf"{PREFIX}\w+", instance))
    for path in PACKAGE.rglob("*.py"):
        found |= _named(path.read_text(encoding="utf-8"))
    return {name for name in found if not is_credential(name)}


def _named(code: str) -> set[str]:
    """The names in expressions such as `PREFIX + "LOG_LEVEL"` and `"LINEAGE_BRIDGE_LOG_LEVEL"`."""
    ends = re.findall(rf'PREFIX \+ "([A-Z0-9_]+)"|"{PREFIX}([A-Z0-9_]*[A-Z0-9])"', code)
    return {PREFIX + end for pair in ends for end in pair if end}


if __name__ == "__main__":
    LIST.write_text("\n".join(sorted(read_variables())) + "\n", encoding="utf-8")
