"""An outside job over a topic, table or dataset that changes.

Only OpenLineage events tell which datasets it reads and writes, and perhaps which columns. How it reads them
is unknown, so an effect that cannot be determined is reported as a gap, never as no effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lineage_bridge_dagster.impact.deltas import OF_OLD_READERS, DeltaKind, NodeDelta, overlap
from lineage_bridge_dagster.impact.flows import FlowJob, Output
from lineage_bridge_dagster.impact.rules.reaction import Reaction, broken, silent
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef
from lineage_bridge_dagster.lineage.columns import How

_LOST = frozenset({DeltaKind.REMOVED, DeltaKind.NULLED})
_OF_NULLS = frozenset({DeltaKind.REQUIRED, DeltaKind.NULLABLE})
_NO_OUTPUT = "its events name nothing that it writes"


def outside_job_reaction(job: FlowJob, node: NodeRef, deltas: Sequence[NodeDelta]) -> Reaction:
    """What happens to an outside job and to what it writes."""
    outputs = [output for output in job.outputs if node in output.inputs]
    reaction = Reaction()
    gaps: list[str] = []
    for delta in deltas:
        column = delta.column
        match delta.kind:
            case DeltaKind.UNREADABLE:
                return broken(job, delta, delta.reason)
            case DeltaKind.REMOVED if column is None:
                return broken(job, delta, f"it reads {node.name}, which is gone")
            case DeltaKind.BROKEN | DeltaKind.ROWS_LOST:
                found = silent(outputs, delta, "reads no new rows")
                reaction.add(found.own[0], found.outputs)
            case DeltaKind.ADDED:
                why = "what it reads has one more column; whether it passes it on is not known"
                reaction.own.append(delta.at(column, reason=why))
            case DeltaKind.TOMBSTONES | DeltaKind.DELETES_LOST:
                gaps.append(f"{delta.reason or delta.kind}: what it makes of that is not known")
            case _ if column is None:
                whole = NodeDelta(delta.kind, reason="its rows differ", path=delta.path)
                reaction.add(delta.at(None, reason="reads other rows"), [(o.node, whole) for o in outputs])
            case _:
                passed = [(output.node, each) for output in outputs for each in _passed(output, node, delta)]
                if passed and delta.kind is DeltaKind.REMOVED and node.kind is not NodeKind.TOPIC:
                    return broken(job, delta, f"it reads {column}, which is gone")
                if passed and delta.kind in OF_OLD_READERS:
                    gaps.append(f"it reads {column}, and with which schema is not known")
                elif passed:
                    # A value that may be missing changes none of the existing values.
                    reaction.add(_own(delta), () if delta.kind in _OF_NULLS else passed)
                    if delta.kind is DeltaKind.REMOVED:
                        gaps.append(f"it reads {column}, and whether it fails without it is not known")
                if unknown := _unknown(outputs):
                    gaps.append(f"whether it uses {column} is not known: {unknown}")
    reaction.gap = "; ".join(dict.fromkeys(gaps))
    return reaction


def write_reaction(job: FlowJob, node: NodeRef, cause: NodeDelta) -> Reaction:
    """What happens to an outside job whose output no longer has a column."""
    output = job.output(node)
    if output is None:
        return Reaction()
    if output.column(cause.column or "") is not None:
        return broken(job, cause, f"it writes {cause.column}, which is gone")
    if unknown := _unknown([output]):
        return Reaction(gap=f"whether it writes {cause.column} is not known: {unknown}")
    return Reaction()


class _Arrival(NamedTuple):
    """How a column arrives in an output: under this name, or, without one, by deciding on the rows."""

    name: str | None
    copied: bool = False


def _arrivals(output: Output, node: NodeRef, name: str) -> Iterator[_Arrival]:
    # A job may unwrap the envelope of Debezium's records, or name the row's columns as if it did.
    names = {name, name.removeprefix("after."), f"after.{name}"} if node.kind is NodeKind.TOPIC else {name}
    for column in output.columns:
        for each in sorted(names):
            how = {s.how for s in column.sources if s.node == node and overlap(s.column, each)}
            yield from (_Arrival(found, how == {How.IDENTITY}) for found in column.names_of(node, each))
            if column.roles_of(node, each):
                yield _Arrival(None)


def _passed(output: Output, node: NodeRef, delta: NodeDelta) -> Iterator[NodeDelta]:
    """What arrives in an output of a column that is lost or has other values or another type."""
    lost = delta.kind in _LOST
    for name, copied in dict.fromkeys(_arrivals(output, node, delta.column or "")):
        if name is None:
            kind = DeltaKind.ROWS_LOST if lost else DeltaKind.MEANING
            yield NodeDelta(kind, reason=f"its rows depend on {delta.column}", path=delta.path)
        elif delta.kind is DeltaKind.TYPE and copied:
            yield delta.at(name, reason=f"is copied from {delta.column}")
        else:
            kind = DeltaKind.NULLED if lost else DeltaKind.MEANING
            yield NodeDelta(kind, name, f"is made of {delta.column}", path=delta.path)


def _own(delta: NodeDelta) -> NodeDelta:
    if delta.kind in _LOST:
        return NodeDelta(DeltaKind.NULLED, delta.column, f"reads no {delta.column}", path=delta.path)
    if delta.kind in _OF_NULLS | {DeltaKind.TYPE}:
        return delta.at(delta.column, reason=f"reads {delta.column}, which has another type")
    return NodeDelta(DeltaKind.MEANING, delta.column, "passes on the changed values", path=delta.path)


def _unknown(outputs: Sequence[Output]) -> str:
    """Why the columns that a job uses are not all known; empty if they are."""
    if not outputs:
        return _NO_OUTPUT
    opened = (column.open for output in outputs for column in output.columns)
    return next((reason for reason in (*(output.open for output in outputs), *opened) if reason), "")
