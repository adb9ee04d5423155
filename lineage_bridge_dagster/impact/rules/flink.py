"""A running Flink statement over a topic that changes.

Sources: Confluent Cloud's page "Schema and Statement Evolution": a statement reads with the schemas of its
creation, so it ignores new fields and a `*` is fixed; a field that is missing takes the default of that
schema, and records that this schema does not resolve are an error. A statement set is one job.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lineage_bridge_dagster.impact.deltas import DeltaKind, NodeDelta
from lineage_bridge_dagster.impact.flows import FlowJob, Output
from lineage_bridge_dagster.impact.rules.reaction import Reaction, broken, silent
from lineage_bridge_dagster.impact.world import NodeRef

_LOST = frozenset({DeltaKind.REMOVED, DeltaKind.NULLED, DeltaKind.RENUMBERED, DeltaKind.UNSEEN})
_OTHER = frozenset({DeltaKind.MEANING, DeltaKind.MISREAD})


def statement_reaction(
    job: FlowJob, topic: NodeRef, deltas: Sequence[NodeDelta], rowtimes: Sequence[str | None] = ()
) -> Reaction:
    """What happens to a statement and to its sinks.

    Args:
        topic: What it reads.
        deltas: What differs there, from one change.
        rowtimes: The columns whose watermark the topic's table has.
    """
    for delta in deltas:
        if delta.kind in (DeltaKind.UNREADABLE, DeltaKind.UNRESOLVED):
            return broken(job, delta, delta.reason)
        if delta.kind is DeltaKind.REMOVED and delta.column in rowtimes:
            reason = "the column of its watermark reads as null, and a rowtime may not be null"
            return broken(job, delta, reason)
    reaction = Reaction()
    outputs = [output for output in job.outputs if topic in output.inputs]
    for delta in deltas:
        if delta.kind is DeltaKind.ROWS_LOST:
            found = silent(outputs, delta, "keeps running without new input")
            reaction.add(found.own[0], found.outputs)
        elif (delta.kind in _LOST and not delta.readable) or delta.kind in _OTHER:
            passed = [(output.node, each) for output in outputs for each in _passed(output, topic, delta)]
            if passed:
                lost = delta.kind in _LOST
                kind = DeltaKind.NULLED if lost else DeltaKind.MEANING
                reason = f"{delta.column} reads as its default" if lost else "passes on the changed values"
                # In its own naming, a field of a row is the column that it is read into.
                nested = delta.column is not None and "." in delta.column
                name = passed[0][1].column if nested else delta.column
                reaction.add(NodeDelta(kind, name, reason, path=delta.path), passed)
    return reaction


def _passed(output: Output, topic: NodeRef, delta: NodeDelta) -> Iterator[NodeDelta]:
    """What arrives in an output of a column that is lost or means something else."""
    lost = delta.kind in _LOST
    all_rows = NodeDelta(
        DeltaKind.ROWS_LOST if lost else DeltaKind.MEANING,
        reason="its rows depend on what is lost" if lost else "its rows differ",
        path=delta.path,
    )
    if delta.column is None:
        yield all_rows
        return
    kind = DeltaKind.NULLED if lost else DeltaKind.MEANING
    for column in output.columns:
        names = list(column.names_of(topic, delta.column))
        roles = column.roles_of(topic, delta.column)
        if roles - {"join", "match"} or (lost and "match" in roles):
            yield all_rows
        elif "join" in roles and not names:
            names = [column.name]
        for name in names:
            reason = f"{name} is NULL in new rows" if lost else f"{name} is computed from changed values"
            yield NodeDelta(kind, name, reason, path=delta.path)
