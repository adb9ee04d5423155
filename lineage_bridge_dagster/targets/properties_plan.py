"""The plan of a push to one Iceberg table: a pure function of its properties and the lineage that they should
have.

The plan sets and removes properties under our prefix only. It names each of them, not just those that differ:
whatever another writer of lineage did in between, the table then has one whole document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lineage_bridge_dagster.lineage.documents import (
    KEY_DIGEST,
    KEY_LAST_SYNCED,
    KEY_OWNER,
    PREFIX,
    LineageDocument,
    digest,
)
from lineage_bridge_dagster.lineage.lost_detail import held_reason
from lineage_bridge_dagster.lineage.ownership import PushOptions, foreign_owner, other_owner


@dataclass(frozen=True, slots=True)
class TableState:
    """A table as it was read.

    Attributes:
        uuid: The identity of the table: one that was dropped and created again has another.
        version: The location of its metadata, which each commit changes.
    """

    uuid: str
    version: str
    properties: Mapping[str, str] = field(repr=False)

    @property
    def lineage(self) -> dict[str, str]:
        """The properties under our prefix."""
        return {key: value for key, value in self.properties.items() if key.startswith(PREFIX)}


@dataclass(frozen=True, slots=True)
class InSync:
    """The table already has the lineage, or its options exclude it."""


@dataclass(frozen=True, slots=True)
class Held:
    """The discovery was too incomplete to replace the table's current lineage."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The lineage belongs to another instance."""

    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class Commit:
    """Set and remove these properties, provided that the table still has the UUID of `state`."""

    state: TableState
    lineage: Mapping[str, str] = field(repr=False)
    removed: tuple[str, ...] = ()

    @property
    def removal(self) -> bool:
        """Whether it removes our lineage without writing a new one."""
        return not self.lineage

    @property
    def properties(self) -> dict[str, str]:
        """All properties after the commit, if nobody else changes any."""
        kept = {key: value for key, value in self.state.properties.items() if key not in self.removed}
        return {**kept, **self.lineage}


def plan_properties(
    state: TableState,
    document: LineageDocument | None,
    options: PushOptions,
    *,
    complete: bool,
    now: str,
) -> InSync | Held | Refused | Commit:
    """Plan the push to one table.

    Args:
        state: The table as it is.
        document: The lineage to write; None removes ours. Iceberg tables have no description of ours.
        options: What to write. Without `set_parameters` nothing is written, removed or compared.
        complete: Whether every scope that the chain passes through was fully read.
        now: ISO 8601 UTC; it is written only if something else changes.
    """
    current = state.lineage
    if not options.set_parameters or (document is None and not current):
        return InSync()
    other = other_owner(current, options)
    if other and not options.take_over:
        return Refused(*foreign_owner(other, current))
    wanted = dict(document.parameters) if document else {}
    wanted_digest = digest(wanted, None)
    if document is not None and digest(current, None) == wanted_digest and not other:
        return InSync()
    if not complete and (reason := held_reason(current, None, document, options)) is not None:
        return Held(reason)
    lineage = {**wanted, KEY_DIGEST: wanted_digest, KEY_LAST_SYNCED: now} if document else {}
    if lineage and options.owner:
        lineage[KEY_OWNER] = options.owner
    return Commit(state, lineage, tuple(sorted(current.keys() - lineage.keys())))
