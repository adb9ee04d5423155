"""The result of a rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from lineage_bridge_dagster.impact.deltas import Delta, DeltaKind
from lineage_bridge_dagster.impact.flows import Job, Output
from lineage_bridge_dagster.impact.world import NodeRef


@dataclass
class Reaction:
    """What happens to a reader, and what it passes on.

    Attributes:
        own: To the reader itself.
        outputs: To what it writes, each with its node.
    """

    own: list[Delta] = field(default_factory=list)
    outputs: list[tuple[NodeRef, Delta]] = field(default_factory=list)

    def add(self, delta: Delta, outputs: Iterable[tuple[NodeRef, Delta]]) -> None:
        """Note one thing that happens to the reader, and to its outputs."""
        self.own.append(delta)
        self.outputs += outputs


def broken(job: Job, cause: Delta, reason: str, column: str | None = None) -> Reaction:
    """A job that fails: nothing it writes gets new rows, from whichever input."""
    own = Delta(DeltaKind.BROKEN, column if column is not None else cause.column, reason, path=cause.path)
    lost = Delta(DeltaKind.ROWS_LOST, reason="no new rows", path=cause.path)
    return Reaction([own], [(output.node, lost) for output in job.outputs])


def silent(outputs: Iterable[Output], cause: Delta, reason: str, column: str | None = None) -> Reaction:
    """A job that goes on without new rows in some of its outputs."""
    own = Delta(DeltaKind.ROWS_LOST, column, reason, path=cause.path)
    lost = Delta(DeltaKind.ROWS_LOST, reason="no new rows", path=cause.path)
    return Reaction([own], [(output.node, lost) for output in outputs])
