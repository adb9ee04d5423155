"""A source connector over an outside dataset that changes: it passes on what a sink has written there."""

from __future__ import annotations

from collections.abc import Sequence

from lineage_bridge_dagster.impact.deltas import DeltaKind, NodeDelta
from lineage_bridge_dagster.impact.flows import FlowJob
from lineage_bridge_dagster.impact.rules.reaction import Reaction, silent
from lineage_bridge_dagster.impact.world import NodeRef

_COLUMNS = frozenset({DeltaKind.NULLED, DeltaKind.MEANING})


def source_reaction(job: FlowJob, dataset: NodeRef, deltas: Sequence[NodeDelta]) -> Reaction:
    """What happens to a source connector and to its topics.

    Args:
        job: The connector.
        dataset: What it reads.
        deltas: What differs there, from one change.
    """
    outputs = [output for output in job.outputs if dataset in output.inputs]
    reaction = Reaction()
    for delta in deltas:
        if delta.kind is DeltaKind.ROWS_LOST:
            found = silent(outputs, delta, "captures no new rows")
            reaction.add(found.own[0], found.outputs)
        elif delta.kind in _COLUMNS:
            passed = [(output.node, delta) for output in outputs]
            reaction.add(delta.at(delta.column, reason="passes on the changed values"), passed)
        elif delta.kind in (DeltaKind.ADDED, DeltaKind.TYPE):
            reaction.outputs += [(output.node, delta) for output in outputs]
    return reaction
