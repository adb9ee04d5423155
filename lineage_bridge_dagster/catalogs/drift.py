"""What became of lineage that was pushed to a table, and who likely took it away. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from lineage_bridge_dagster.catalogs.lineage_catalog import LineageCatalog, TableRecord
from lineage_bridge_dagster.catalogs.plans import Hold, NoChange, PlannedChange, Refuse, Wanted
from lineage_bridge_dagster.lineage.description import split_description
from lineage_bridge_dagster.lineage.documents import KEY_DIGEST, LineageDocument, digest
from lineage_bridge_dagster.lineage.ownership import PushOptions


class LineageState(Enum):
    """The lineage that a table carries, compared with the one that it should have."""

    IN_SYNC = "the lineage that a push would write"
    LOST = "other lineage, or none"
    FOREIGN = "the lineage of another instance"
    #: A push would be refused or held back.
    UNDECIDED = "lineage that a push would leave alone"


@dataclass(frozen=True)
class Comparison:
    """A table as it was read, compared with the lineage that it should have.

    Attributes:
        owner: The other instance that the lineage belongs to.
        how: What was lost, in a few words.
        facts: What tells writers apart, to keep until the next comparison.
        likely_writer: Who took the lineage away, given the facts as of the last comparison that found it, and
            whether it outlived an Iceberg commit before.
    """

    state: LineageState
    owner: str = ""
    how: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    likely_writer: Callable[[Mapping[str, str], bool], str] | None = None


def compare(
    catalog: type[LineageCatalog[Any, Any, Any]],
    table: TableRecord,
    document: LineageDocument | None,
    options: PushOptions,
    *,
    complete: bool,
) -> Comparison:
    """Compare a table, as its kind of catalog returned it, with the lineage that it should have."""
    plan = catalog.plan(table, Wanted(document, complete, ""), options)
    if isinstance(plan, NoChange):
        return Comparison(LineageState.IN_SYNC, facts=catalog.facts_of(table))
    if isinstance(plan, Refuse) and plan.owner:
        return Comparison(LineageState.FOREIGN, owner=plan.owner)
    if isinstance(plan, Hold | Refuse):
        return Comparison(LineageState.UNDECIDED)
    return Comparison(
        LineageState.LOST,
        how=loss_of(plan),
        facts=catalog.facts_of(table),
        likely_writer=lambda before, survived: catalog.likely_writer(table, before, survived=survived),
    )


def loss_of(change: PlannedChange) -> str:
    """What the lineage of a table has lost that this change would write, in a few words.

    `stale` is lineage as an earlier push wrote it, such as that of an older version of the table.
    """
    ours, block = change.before.lineage, split_description(change.before.description)[1]
    if change.removal:
        return "stale"
    if change.after.lineage and not ours:
        return "wiped" if block is None else "parameters wiped"
    if block is None and split_description(change.after.description)[1] is not None:
        return "description wiped" if ours else "wiped"
    if ours.get(KEY_DIGEST) in (digest(ours, block), digest(ours, None), digest({}, block)):
        return "stale"
    return "changed"
