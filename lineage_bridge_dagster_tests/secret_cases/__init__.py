"""Secrets as users have them in configurations, statements, properties and texts, and what only looks alike.

`planted.jsonl` has 200 secrets, each with the place it is in, and `strangers.jsonl` more that were written
after the rules; `harmless.jsonl` has values that no rule may mask. `connector_keys.json` has the settings of
Confluent's managed connectors by type, from the templates of its connect-migration-utility (Apache-2.0,
commit 03c8323).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from lineage_bridge_dagster.redaction.redact import redact_config, redact_sql, redact_text

FOLDER = Path(__file__).parent
#: Places whose values are SQL, and those whose values belong to a key.
STATEMENTS = ("flink", "ksql", "query")
SETTINGS = ("config", "parameter", "topic_config")


class Case(NamedTuple):
    """A value in a place; `secret` is the part of it, or of its key, that must stay."""

    place: str
    value: str
    key: str = ""
    secret: str = ""

    @property
    def whole(self) -> str:
        return f"{self.key}={self.value}" if self.place in SETTINGS else self.value

    @property
    def redacted(self) -> str:
        if self.place in STATEMENTS:
            return redact_sql(self.value)
        if self.place in SETTINGS:
            (shown,) = redact_config({self.key: self.value}).items()
            return "=".join(shown)
        return redact_text(self.value)


def cases(name: str) -> list[Case]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")
    return [Case(**json.loads(line)) for line in lines if line]


def connector_keys() -> tuple[list[str], list[str]]:
    """The settings of connectors that are of the type PASSWORD in a template, and those of other types."""
    keys = json.loads((FOLDER / "connector_keys.json").read_text())
    return keys["PASSWORD"], keys["other"]
