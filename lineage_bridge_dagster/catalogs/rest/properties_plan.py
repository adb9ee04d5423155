"""The plan of a push to one Iceberg table: a pure function of its properties and the lineage that they should
have.

The plan sets and removes properties under our prefix only. It names each of them, not just those that differ:
whatever another writer of lineage did in between, the table then has one whole document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lineage_bridge_dagster.catalogs.plans import Hold, NoChange, NoWrite, Refuse, TableRevision
from lineage_bridge_dagster.lineage.documents import (
    KEY_DIGEST,
    KEY_LAST_SYNCED,
    KEY_OWNER,
    LineageDocument,
    digest,
)
from lineage_bridge_dagster.lineage.lost_detail import held_reason
from lineage_bridge_dagster.lineage.ownership import PushOptions, foreign_owner, other_owner


@dataclass(frozen=True, slots=True)
class PropertiesCommit:
    """Set and remove these properties, provided that the table still has the UUID of `before`."""

    before: TableRevision
    lineage: Mapping[str, str] = field(repr=False)
    removed: tuple[str, ...] = ()

    @property
    def removal(self) -> bool:
        return not self.lineage

    @property
    def after(self) -> TableRevision:
        """With all properties after the commit. Which version it makes, only the catalog knows."""
        kept = {key: value for key, value in self.before.parameters.items() if key not in self.removed}
        return replace(self.before, version=None, parameters={**kept, **self.lineage})


def plan_properties(
    state: TableRevision,
    document: LineageDocument | None,
    options: PushOptions,
    *,
    complete: bool,
    now: str,
) -> NoWrite | PropertiesCommit:
    """Plan the push to one table.

    Args:
        document: The lineage to write; None removes ours. Iceberg tables have no description of ours.
        options: What to write. Without `set_parameters` nothing is written, removed or compared.
        complete: Whether every scope that the chain passes through was fully read.
        now: ISO 8601 UTC; it is written only if something else changes.
    """
    current = state.lineage
    if not options.set_parameters or (document is None and not current):
        return NoChange()
    other = other_owner(current, options)
    if other and not options.take_over:
        return Refuse(*foreign_owner(other, current), other)
    wanted = dict(document.parameters) if document else {}
    wanted_digest = digest(wanted, None)
    if document is not None and digest(current, None) == wanted_digest and not other:
        return NoChange()
    if not complete and (reason := held_reason(current, None, document, options)) is not None:
        return Hold(reason)
    lineage = {**wanted, KEY_DIGEST: wanted_digest, KEY_LAST_SYNCED: now} if document else {}
    if lineage and options.owner:
        lineage[KEY_OWNER] = options.owner
    return PropertiesCommit(state, lineage, tuple(sorted(current.keys() - lineage.keys())))
