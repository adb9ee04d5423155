"""The settings of Confluent's managed connectors, and which of them are passwords.

To bring the list up to date with the templates of Confluent's connect-migration-utility:
`python -m lineage_bridge_dagster_tests.connector_keys path/to/templates/fm`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lineage_bridge_dagster_tests.secret_cases import FOLDER


def typed_keys(document: Any) -> Iterator[tuple[str, str]]:
    """The names and types of all settings in a template."""
    if isinstance(document, dict):
        if isinstance(name := document.get("name"), str) and isinstance(kind := document.get("type"), str):
            yield name, kind
        document = list(document.values())
    if isinstance(document, list):
        for item in document:
            yield from typed_keys(item)


def one_of_each(keys: Iterable[str]) -> list[str]:
    """The keys without those that differ only in a number: `api1.topics`, `api2.topics`."""
    return list({re.sub(r"\d+", "#", key): key for key in sorted(keys, reverse=True)}.values())[::-1]


def main(folder: Path) -> None:
    found = [
        pair
        for path in sorted(folder.glob("*.json"))
        for pair in typed_keys(json.loads(path.read_text(encoding="utf-8")))
    ]
    passwords = {name for name, kind in found if kind == "PASSWORD"}
    lists = {
        "PASSWORD": one_of_each(passwords),
        "other": one_of_each({name for name, _ in found} - passwords),
    }
    (FOLDER / "connector_keys.json").write_text(json.dumps(lists, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
