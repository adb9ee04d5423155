"""What flows from a change along the graph: one record for each thing that differs on a node. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from lineage_bridge_dagster.impact.report import PathStep, Verdict
from lineage_bridge_dagster.impact.world import NodeRef


class DeltaKind(StrEnum):
    """What differs. Those after `DELETES_LOST` concern the schema of a topic, the others its records."""

    ROWS_LOST = "rows lost"
    NULLED = "nulled"
    MEANING = "meaning"
    BROKEN = "broken"
    TOMBSTONES = "tombstones"
    DELETES_LOST = "deletes lost"
    REMOVED = "removed"
    ADDED = "added"
    TYPE = "type"
    REQUIRED = "required"
    NULLABLE = "nullable"
    RENUMBERED = "renumbered"
    UNSEEN = "unseen"
    MISREAD = "misread"
    UNRESOLVED = "unresolved"
    UNREADABLE = "unreadable"


VERDICTS: Mapping[DeltaKind, Verdict] = {
    DeltaKind.BROKEN: Verdict.BREAKS,
    DeltaKind.ROWS_LOST: Verdict.LOSES_DATA,
    DeltaKind.NULLED: Verdict.LOSES_DATA,
    DeltaKind.REMOVED: Verdict.LOSES_DATA,
    DeltaKind.RENUMBERED: Verdict.LOSES_DATA,
    DeltaKind.MEANING: Verdict.CHANGES_MEANING,
    DeltaKind.TYPE: Verdict.CHANGES_TYPE,
    DeltaKind.REQUIRED: Verdict.CHANGES_TYPE,
    DeltaKind.NULLABLE: Verdict.CHANGES_TYPE,
    DeltaKind.ADDED: Verdict.GAINS_COLUMN,
}
"""The verdict on the node itself; the other kinds have none, and only readers tell what they do."""

OF_OLD_READERS = frozenset({DeltaKind.RENUMBERED, DeltaKind.UNSEEN, DeltaKind.MISREAD, DeltaKind.UNRESOLVED})
"""What only readers notice whose schema is older than the record's."""


_OF_SCHEMA = frozenset(DeltaKind) - {
    DeltaKind.ROWS_LOST,
    DeltaKind.NULLED,
    DeltaKind.MEANING,
    DeltaKind.BROKEN,
    DeltaKind.TOMBSTONES,
    DeltaKind.DELETES_LOST,
}


@dataclass(frozen=True, slots=True)
class NodeDelta:
    """One thing that differs on a node.

    Attributes:
        kind: What.
        column: The column, nested as `address.zip`; None: rows, or all columns.
        reason: Why, in one clause.
        before: The column's type, if it has another one.
        after: Its type to come.
        nullable: Whether a column that is added may be null.
        default: Whether it, or one that may no longer be null, has a default.
        is_key: Whether the column is part of the records' key.
        readable: Whether a reader with the older schema still gets a field that has another name now.
        path: From the changed object to the node.
    """

    kind: DeltaKind
    column: str | None = None
    reason: str = ""
    before: str = ""
    after: str = ""
    nullable: bool = True
    default: bool = False
    is_key: bool = False
    readable: bool = False
    path: tuple[PathStep, ...] = ()

    @property
    def key(self) -> tuple[DeltaKind, str | None]:
        """What the walk visits once on each node."""
        return (self.kind, self.column)

    @property
    def top(self) -> str:
        """The outer column."""
        return (self.column or "").partition(".")[0]

    @property
    def is_of_schema(self) -> bool:
        """Whether only readers with an older schema notice it."""
        return self.kind in _OF_SCHEMA

    def at(self, column: str | None, *, reason: str = "") -> NodeDelta:
        """The delta of another column."""
        return replace(self, column=column, reason=reason or self.reason)

    def onto(self, node: NodeRef, evidence: str) -> NodeDelta:
        """The delta with this node as the next step of its path."""
        return replace(self, path=(*self.path, PathStep(node, self.column, evidence)))


def overlap(left: str, right: str) -> bool:
    """Whether one of two columns is the other, or a field of it.

    >>> overlap("address", "address.zip"), overlap("address.zip", "address.city")
    (True, False)
    """
    return left == right or left.startswith(f"{right}.") or right.startswith(f"{left}.")
