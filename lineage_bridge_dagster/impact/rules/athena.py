"""An Athena view over a table or a view that changes.

An Athena view stores the columns that its query had when it was created, with their types, and is stale when
the query now gives others ("View is stale; it must be re-created"). A view over a stale one fails with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lineage_bridge_dagster.impact.deltas import DeltaKind, NodeDelta
from lineage_bridge_dagster.impact.flows import FlowJob, OutputColumn
from lineage_bridge_dagster.impact.rules.reaction import Reaction
from lineage_bridge_dagster.impact.view_flows import NAMED, SHOWN, STAR
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef
from lineage_bridge_dagster.lineage.columns import How


def view_reaction(view: FlowJob, node: NodeRef, deltas: Sequence[NodeDelta]) -> Reaction:
    """What happens to a view."""
    found = [each for delta in deltas for each in _reactions(view, node, delta)]
    stale = [each for each in found if each.kind is DeltaKind.BROKEN]
    return Reaction(stale[:1] or found)


def _reactions(view: FlowJob, node: NodeRef, delta: NodeDelta) -> Iterator[NodeDelta]:
    columns = view.outputs[0].columns if view.outputs else ()
    match delta.kind:
        case DeltaKind.BROKEN if node.kind is NodeKind.VIEW:
            yield NodeDelta(DeltaKind.BROKEN, None, "it reads a view that fails", path=delta.path)
        case DeltaKind.BROKEN | DeltaKind.ROWS_LOST:
            yield NodeDelta(DeltaKind.ROWS_LOST, None, "no new rows", path=delta.path)
        case DeltaKind.ADDED | DeltaKind.TYPE:
            stale = next((column for column in columns if _shows(column, node, delta)), None)
            if stale is not None:
                why = "one more column" if delta.kind is DeltaKind.ADDED else "a column of a different type"
                name = delta.column if stale.name == STAR else stale.name
                reason = f"the view is stale: its query gives {why} than it stores"
                yield NodeDelta(DeltaKind.BROKEN, name, reason, path=delta.path)
        case DeltaKind.REMOVED:
            gone = delta.column
            if gone is None:
                yield NodeDelta(DeltaKind.BROKEN, None, "it reads a table that is gone", path=delta.path)
            elif any((*each.names_of(node, gone), *each.roles_of(node, gone)) for each in columns):
                yield NodeDelta(DeltaKind.BROKEN, gone, f"it names {gone}, which is gone", path=delta.path)
        case DeltaKind.NULLED | DeltaKind.MEANING:
            yield from _passed(columns, node, delta)


def _shows(column: OutputColumn, node: NodeRef, delta: NodeDelta) -> bool:
    """Whether the type of a view's column follows from one that is added or has another type."""
    return any(
        source.node == node
        and source.how in (How.IDENTITY, SHOWN)
        and (
            source.column == STAR
            or (delta.column or "").startswith(f"{source.column}.")
            or (delta.kind is DeltaKind.TYPE and source.column == delta.column)
        )
        for source in column.sources
    )


def _passed(columns: Sequence[OutputColumn], node: NodeRef, delta: NodeDelta) -> Iterator[NodeDelta]:
    lost = delta.kind is DeltaKind.NULLED
    if delta.column is None:
        yield delta.at(None, reason="its rows differ")
        return
    if any(column.roles_of(node, delta.column) - {NAMED} for column in columns):
        kind = DeltaKind.ROWS_LOST if lost else DeltaKind.MEANING
        yield NodeDelta(kind, None, f"its rows depend on {delta.column}", path=delta.path)
    for column in columns:
        for name in column.names_of(node, delta.column):
            yield delta.at(name, reason=f"shows {delta.column}")
