"""A Flink statement that is replaced by other SQL: what its sinks get from then on.

Sources: Confluent Cloud's page "Schema and Statement Evolution" (a new statement starts without the state of
the old one); Flink's validation of INSERT (`DynamicSinkUtils`: the columns by position, implicit casts as
`LogicalTypeCasts` has them).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from lineage_bridge_dagster.impact.deltas import DeltaKind, NodeDelta
from lineage_bridge_dagster.impact.flows import FlowJob, Output, OutputColumn
from lineage_bridge_dagster.impact.world import NodeRef

_REFUSED = ("there is no column", "the query has ")
_NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE")
_TEXTS = ("CHAR", "VARCHAR", "STRING")
_TIMES = ("TIMESTAMP", "TIMESTAMP_LTZ")
_FAMILIES: Mapping[str, str] = {
    **dict.fromkeys(_NUMBERS, "number"),
    **dict.fromkeys(_TEXTS, "text"),
    **dict.fromkeys(_TIMES, "time"),
    **dict.fromkeys(("BINARY", "VARBINARY", "BYTES"), "bytes"),
    "INTEGER": "number",
    "BOOLEAN": "boolean",
    "DATE": "date",
}


class SinkColumn(NamedTuple):
    """A column of a sink: its type in SQL (empty if unknown), and whether it may be null."""

    type: str
    nullable: bool


Sinks = Mapping[NodeRef, Mapping[str, SinkColumn]]
"""The columns of the topics that a statement writes, where they are known."""


def refusal(job: FlowJob, topics: frozenset[NodeRef], sinks: Sinks) -> tuple[str | None, str]:
    """The column for which Flink refuses a statement, if one decides, and why; no reason if it does not."""
    if job.error:
        return None, f"Flink refuses the SQL: {job.error}"
    missing = sorted(node.name for node in job.inputs - topics)
    if missing:
        return None, f"there is no table {missing[0]}"
    for output in job.outputs:
        found = _refused_output(output, sinks.get(output.node, {}))
        if found is not None:
            return found
    return None, ""


def replaced(old: FlowJob, new: FlowJob, ages: bool) -> Iterator[tuple[NodeRef, NodeDelta]]:
    """What differs in the sinks of a statement that is replaced, and not refused.

    Args:
        old: It before.
        new: It after.
        ages: Whether a source no longer has all records from which the old one made its state.
    """
    for before in old.outputs:
        after = new.output(before.node)
        if after is None:
            yield before.node, NodeDelta(DeltaKind.ROWS_LOST, reason=f"{new.node.name} no longer writes it")
        else:
            yield from ((before.node, delta) for delta in _differences(before, after, ages))


def is_aggregated(column: OutputColumn) -> bool:
    """Whether a column is computed from many rows, for which the statement keeps state."""
    keys = {use.formula for use in column.uses if use.role == "group"}
    return bool(keys) and column.formula not in keys


def _refused_output(output: Output, sink: Mapping[str, SinkColumn]) -> tuple[str | None, str] | None:
    for column in output.columns:
        reasons = (column.open, *(use.open for use in column.uses))
        reason = next((each for each in reasons if each.startswith(_REFUSED)), "")
        if reason:
            return column.name, f"Flink refuses the SQL: {reason}"
        if not sink:
            continue
        target = sink.get(column.name)
        if target is None:
            return column.name, f"{output.node.name} has no column {column.name}"
        if not _casts(column.type, target.type):
            return column.name, f"{column.type} cannot be written to {column.name}, which is {target.type}"
    written = {column.name for column in output.columns}
    if sink and output.columns and not output.open:
        for name, target in sink.items():
            if name not in written and not target.nullable:
                return name, f"{name} of {output.node.name} may not be null, and nothing is written to it"
    return None


def _casts(source: str, target: str) -> bool:
    """Whether Flink casts a type implicitly to that of a sink's column; True if one is unknown."""
    left, right = (name.upper().partition("(")[0].strip().partition(" ")[0] for name in (source, target))
    families = _FAMILIES.get(left), _FAMILIES.get(right)
    if None in families:
        return True
    if families[0] != families[1]:
        return False
    if families[0] == "number":
        left, right = ("INT" if name == "INTEGER" else name for name in (left, right))
        return _NUMBERS.index(left) <= _NUMBERS.index(right)
    return True


def _differences(before: Output, after: Output, ages: bool) -> Iterator[NodeDelta]:
    if before.inputs != after.inputs:
        yield NodeDelta(DeltaKind.MEANING, None, "it is computed from different tables")
    rows: set[str] = set()
    for old in before.columns:
        new = after.column(old.name)
        if new is None:
            yield NodeDelta(
                DeltaKind.NULLED, old.name, f"{old.name} is no longer written, so it is NULL in new rows"
            )
            continue
        changed = _uses(old) ^ _uses(new)
        selecting = {role for role, _, is_row in changed if is_row}
        rows |= selecting
        if changed and not selecting:
            yield NodeDelta(DeltaKind.MEANING, old.name, f"{old.name} is joined on a different condition")
        elif old.formula != new.formula:
            yield NodeDelta(DeltaKind.MEANING, old.name, f"{old.name} is computed differently")
        elif ages and is_aggregated(new):
            reason = f"{old.name} is computed again, from the records that its sources still have"
            yield NodeDelta(DeltaKind.MEANING, old.name, reason)
    for new in after.columns:
        if before.column(new.name) is None:
            yield NodeDelta(DeltaKind.MEANING, new.name, f"{new.name} is written from now on")
    if rows:
        yield NodeDelta(DeltaKind.MEANING, None, f"its rows differ: {', '.join(sorted(rows))} changed")


def _uses(column: OutputColumn) -> set[tuple[str, str, bool]]:
    """What decides on a column, and whether that is on all rows: a join's condition is not."""
    return {(use.role, use.formula, use.role != "join") for use in column.uses}
