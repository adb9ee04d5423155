"""The result of a rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from lineage_bridge_dagster.impact.deltas import DeltaKind, NodeDelta
from lineage_bridge_dagster.impact.flows import FlowJob, Output
from lineage_bridge_dagster.impact.world import NodeRef


@dataclass
class Reaction:
    """What happens to a reader, and what it passes on.

    Attributes:
        own: To the reader itself.
        outputs: To what it writes, each with its node.
        gap: Why it may pass on more; empty if it does not.
    """

    own: list[NodeDelta] = field(default_factory=list)
    outputs: list[tuple[NodeRef, NodeDelta]] = field(default_factory=list)
    gap: str = ""

    def add(self, delta: NodeDelta, outputs: Iterable[tuple[NodeRef, NodeDelta]]) -> None:
        """Note one thing that happens to the reader, and to its outputs."""
        self.own.append(delta)
        self.outputs += outputs


def broken(job: FlowJob, cause: NodeDelta, reason: str) -> Reaction:
    """A job that fails: nothing it writes gets new rows, from whichever input."""
    own = NodeDelta(DeltaKind.BROKEN, cause.column, reason, path=cause.path)
    lost = NodeDelta(DeltaKind.ROWS_LOST, reason="no new rows", path=cause.path)
    return Reaction([own], [(output.node, lost) for output in job.outputs])


def silent(outputs: Iterable[Output], cause: NodeDelta, reason: str, column: str | None = None) -> Reaction:
    """A job that goes on without new rows in some of its outputs."""
    own = NodeDelta(DeltaKind.ROWS_LOST, column, reason, path=cause.path)
    lost = NodeDelta(DeltaKind.ROWS_LOST, reason="no new rows", path=cause.path)
    return Reaction([own], [(output.node, lost) for output in outputs])
