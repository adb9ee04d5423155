"""Compares derived columns with a case's expectation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lineage_bridge_dagster.lineage.columns import How
from lineage_bridge_dagster.sql.columns.derivation import TextColumns
from lineage_bridge_dagster.sql.flink.names import known_part
from lineage_bridge_dagster.sql.statement import TablePath


def name(path: TablePath) -> str:
    return ".".join(known_part(path))


def mistakes(text: TextColumns, case: Mapping[str, Any]) -> list[str]:
    """What differs from the expectation."""
    unjudged = set(case.get("open", ()))
    written = {f"{name(c.table)}.{c.column}": c for c in text.written}
    unexpected = written.keys() - case["columns"].keys() - unjudged
    found = [f"{column} is not expected" for column in unexpected]
    for column, sources in case["columns"].items():
        actual = written.get(column)
        if actual is None:
            found.append(f"{column} is missing")
            continue
        if sorted([name(s.table), s.column] for s in actual.sources) != sorted(sources):
            found.append(f"{column} derives from {actual.sources}")
        if actual.complete == (column in case.get("incomplete", ())):
            found.append(f"{column}: complete is {actual.complete} ({actual.open})")
        strongest = max((s.how for s in actual.sources), key=list(How).index, default=None)
        if sources and column in case["kind"] and strongest != case["kind"][column]:
            found.append(f"{column} is {strongest}")
    return found
