"""Invalid YAML instances of the component, and a user's project that contains one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from dagster import Definitions
from dagster.components.testing import create_defs_folder_sandbox

from lineage_bridge_dagster.component import LineageBridgeComponent

TYPE = "lineage_bridge_dagster.component.LineageBridgeComponent"

_PYPROJECT = """\
[tool.dg]
directory_type = "project"

[tool.dg.project]
root_module = "ours"
code_location_target_module = "ours.definitions"
code_location_name = "ours"

[tool.dg.cli]
suppress_warnings = ["project_and_activated_venv_mismatch"]
"""

_DEFINITIONS = """\
from pathlib import Path

from dagster import Definitions, definitions, load_from_defs_folder


@definitions
def defs() -> Definitions:
    return load_from_defs_folder(path_within_project=Path(__file__).parent)
"""


@dataclass(frozen=True)
class Mistake:
    """A wrong line, with the text about what to write that an error must contain."""

    section: str
    line: str
    #: The error of loading, and that of `dg check yaml`, which has only the JSON schema.
    error: str
    schema_error: str

    @property
    def yaml(self) -> str:
        return f"type: {TYPE}\nattributes:\n" + (
            f"  {self.section}:\n    {self.line}\n" if self.section else f"  {self.line}\n"
        )


#: Mistakes in the text itself: an unknown field, a wrong type, an impossible value.
MISTAKES = [
    Mistake("aws", "regoin: us-east-1", "Did you mean 'region'?", "is not one of ['region', 'profile'"),
    Mistake("aws", "region: us-east1", "an AWS region, for example us-east-1", "for example us-east-1"),
    Mistake("aws", "catalog_id: 111122223333", 'in quotes, for example "1111', "is not of type 'string'"),
    Mistake("aws", "role_arn: lineage", "for example arn:aws:iam::", "for example arn:aws:iam::"),
    Mistake("aws", "endpoint_url: glue", "with its scheme, for example https://", "with its scheme"),
    Mistake(
        "confluent", "api_url: api.confluent.cloud", "for example https://api", "for example https://api"
    ),
    Mistake("confluent", "clusters: {a: b}", "a name, or a list of names", "not of type 'string', 'array'"),
    Mistake("confluent", "timeout_seconds: soon", "a number above 0, for example 30", "of type 'number'"),
    Mistake("include", "topics: perhaps", "true or false, for example true", "not of type 'boolean'"),
    Mistake(
        "push", "sql: everything", "full, redacted, hash or none", "['full', 'redacted', 'hash', 'none']"
    ),
    Mistake("push", "max_concurrency: 100", "a whole number from 1 to 64", "the maximum of 64"),
    Mistake("push", "max_removal_share: 2", "a number from 0 to 1", "the maximum of 1"),
    Mistake("sensor", "interval_seconds: 0", "a whole number above 0", "the minimum of 0"),
    Mistake("sensor", "running: sometimes", "true or false", "not of type 'boolean'"),
    Mistake("sensor", "refresh_cron: hourly", "for example */15 * * * *", "for example */15 * * * *"),
    Mistake("freshness", "warn_minutes: soon", "a number above 0", "not of type 'number'"),
    Mistake("freshness", "carried_days: -7", "a number above 0", "the minimum of 0"),
    Mistake("spark", "catalog: {wharehouse: x}", "Did you mean 'warehouse'?", "'wharehouse' was unexpected"),
    Mistake("spark", "conf: local", "a mapping", "not of type 'object'"),
    Mistake("translation", "grup_name: x", "Did you mean 'group_name'?", "'grup_name' was unexpected"),
    Mistake("", "region: us-east-1", "It belongs under 'aws'", "is not one of ['confluent', 'aws'"),
    Mistake("", "name: e-u", "letters, digits and underscores", "letters, digits and underscores"),
]


def project(folder: Path, yaml: str | list[str]) -> Path:
    """Write a user's project with an instance for each text and return its folder."""
    package = folder / "ours"
    package.mkdir(exist_ok=True)
    for number, text in enumerate([yaml] if isinstance(yaml, str) else yaml):
        instance = package / "defs" / f"lineage_{number}"
        instance.mkdir(parents=True, exist_ok=True)
        (instance / "defs.yaml").write_text(text, encoding="utf-8")
    (folder / "pyproject.toml").write_text(_PYPROJECT, encoding="utf-8")
    (package / "__init__.py").touch()
    (package / "definitions.py").write_text(_DEFINITIONS, encoding="utf-8")
    return folder


def combined_mistakes() -> tuple[str, dict[int, Mistake]]:
    """Return an instance with one mistake per field, and its mistakes by line number."""
    sections: dict[str, list[Mistake]] = {}
    for mistake in MISTAKES:
        sections.setdefault(mistake.section, []).append(mistake)
    lines, by_line, seen = [f"type: {TYPE}", "attributes:"], {}, set()
    for section, mistakes in sections.items():
        if section:
            lines.append(f"  {section}:")
        for mistake in mistakes:
            field = (section, mistake.line.partition(":")[0])
            if field not in seen:
                seen.add(field)
                lines.append(("    " if section else "  ") + mistake.line)
                by_line[len(lines)] = mistake
    return "\n".join(lines) + "\n", by_line


@contextmanager
def loaded(attributes: dict[str, Any]) -> Iterator[Definitions]:
    """Load a component instance with the given attributes and yield its definitions."""
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=LineageBridgeComponent,
            defs_yaml_contents={"type": TYPE, "attributes": attributes},
        )
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, definitions):
            yield definitions


def load_error(attributes: dict[str, Any]) -> str:
    """Return the root cause's message of a component instance that fails to load."""
    with pytest.raises(Exception, match=r"defs\.yaml") as raised, loaded(attributes):
        pass
    error: BaseException = raised.value
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error)
