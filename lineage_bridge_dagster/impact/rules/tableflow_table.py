"""A table that Tableflow writes, over a topic that changes.

Sources: Confluent's page "Schemas with Tableflow"; the rules by which Schema Registry's own checks compare
schemas for Iceberg, format version 2 (`IcebergComparison` of its logical types). A table takes a new optional
column, int to long, float to double, a decimal of more digits and another branch of a union, which is a row
of its branches; an enum is a string, whatever its symbols. Anything else stops it. In mode `UPSERT`, the
records' key identifies rows, so no change of it is taken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lineage_bridge_dagster.impact.deltas import OF_OLD_READERS, DeltaKind, NodeDelta
from lineage_bridge_dagster.impact.rules.reaction import Reaction
from lineage_bridge_dagster.impact.world import TableflowTable

_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_CONTAINERS = ("list<", "map<")
_UNION = "union<"
_PASSED = frozenset({DeltaKind.ROWS_LOST, DeltaKind.NULLED, DeltaKind.MEANING})


def table_reaction(table: TableflowTable, deltas: Sequence[NodeDelta]) -> Reaction:
    """What happens to a table, and to its readers if it is no longer written.

    Args:
        deltas: What differs on its topic, from one change.
    """
    reaction = Reaction()
    for delta in deltas:
        problem = _problem(table, delta)
        if problem:
            own = NodeDelta(DeltaKind.BROKEN, delta.column, problem, path=delta.path)
            return Reaction([own])
        if (
            delta.kind in _PASSED
            or delta.kind is DeltaKind.ADDED
            or (delta.kind is DeltaKind.TYPE and delta.before != delta.after)
        ):
            reaction.own.append(delta)
        elif delta.kind is DeltaKind.DELETES_LOST and table.mode == "UPSERT":
            reaction.own.append(
                NodeDelta(DeltaKind.MEANING, None, "rows are no longer deleted", path=delta.path)
            )
    return reaction


def is_promotion(before: str, after: str) -> bool:
    """Whether Iceberg widens a column of one type to another.

    >>> is_promotion("int", "long"), is_promotion("decimal(9,2)", "decimal(12,2)")
    (True, True)
    """
    old, new = _DECIMAL.fullmatch(before), _DECIMAL.fullmatch(after)
    if old and new:
        return old[2] == new[2] and int(old[1]) <= int(new[1])
    for outer in _CONTAINERS:
        if before.startswith(outer) and after.startswith(outer):
            inner = [text.removeprefix(outer).removesuffix(">") for text in (before, after)]
            if outer == "map<":
                keys = [text.partition(", ") for text in inner]
                return keys[0][0] == keys[1][0] and is_promotion(keys[0][2], keys[1][2])
            return is_promotion(*inner)
    if before.startswith(_UNION) and after.startswith(_UNION):
        old_branches, new_branches = _branches(before), _branches(after)
        return all(is_promotion(kind, new_branches.get(name, "")) for name, kind in old_branches.items())
    return before == after or (before, after) in {("int", "long"), ("float", "double")}


def _branches(union: str) -> dict[str, str]:
    """The branches of a union, each with its type."""
    parts = union.removeprefix(_UNION).removesuffix(">").split("|")
    return {name: kind for name, _, kind in (part.partition(": ") for part in parts)}


def _problem(table: TableflowTable, delta: NodeDelta) -> str:
    """Why a table does not take what differs; empty if it does."""
    stops = "materialization stops"
    if delta.is_key and table.mode == "UPSERT" and delta.kind not in OF_OLD_READERS:
        return f"the record's key identifies the table's rows, and it changes: {stops}"
    match delta.kind:
        case DeltaKind.REMOVED:
            return f"{delta.column} is no longer in the schema: {stops}"
        case DeltaKind.ADDED if not delta.nullable:
            if delta.default and delta.after.startswith(_CONTAINERS):
                return ""
            return f"{delta.column} is not optional, and older rows have no value for it: {stops}"
        case DeltaKind.TYPE if delta.before == delta.after and "binary" in delta.before:
            return f"{delta.reason}, and Iceberg changes the size of no fixed: {stops}"
        case DeltaKind.TYPE if not is_promotion(delta.before, delta.after):
            return f"{delta.before} to {delta.after} is not a type promotion that Iceberg allows: {stops}"
        case DeltaKind.REQUIRED if not (delta.default and delta.after.startswith(_CONTAINERS)):
            return f"{delta.column} changes from nullable to non-nullable: {stops}"
        case DeltaKind.UNREADABLE:
            return f"{delta.reason}: {stops}"
        case DeltaKind.TOMBSTONES if table.mode == "APPEND" and table.on_error == "SUSPEND":
            return "a record with a null value suspends a table in mode APPEND"
    return ""
