"""What a look at a whole table tells about the lineage that was pushed to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from lineage_bridge_dagster.lineage.documents import LineageDocument
from lineage_bridge_dagster.lineage.ownership import PushOptions

if TYPE_CHECKING:
    from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
    from lineage_bridge_dagster.catalogs.iceberg.table_reading import IcebergTable
    from lineage_bridge_dagster.catalogs.plans import Hold, NoChange, PlannedChange, Refuse


class Sight(Enum):
    """What a table was seen with."""

    IN_SYNC = "the lineage that a push would write"
    LOST = "other lineage, or none"
    FOREIGN = "the lineage of another instance"
    #: A push would be refused or held back.
    UNDECIDED = "lineage that a push would leave alone"


@dataclass(frozen=True)
class Look:
    """A look at one table.

    Attributes:
        owner: the other instance that the lineage belongs to.
        how: what was lost, in a few words.
        facts: what tells writers apart, to keep until the next look.
        likely_writer: who took the lineage away, given the facts as of the last look with the lineage, and
            whether it outlived an Iceberg commit before.
    """

    sight: Sight
    owner: str = ""
    how: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    likely_writer: Callable[[Mapping[str, str], bool], str] | None = None


def look_at_glue(
    table: GlueTable, document: LineageDocument | None, options: PushOptions, *, complete: bool
) -> Look:
    """What a table as Glue returned it tells, given the lineage that it should have."""
    from lineage_bridge_dagster.catalogs.glue.drift import facts_of, likely_writer, loss_of
    from lineage_bridge_dagster.catalogs.glue.update_plan import TableUpdate, plan_update

    plan = plan_update(table, document, options, complete=complete, now="")
    how = loss_of(plan) if isinstance(plan, TableUpdate) else ""
    return _look(
        plan, how, facts_of(table), lambda before, survived: likely_writer(table, before, survived=survived)
    )


def look_at_iceberg(
    table: IcebergTable, document: LineageDocument | None, options: PushOptions, *, complete: bool
) -> Look:
    """What a table of a REST catalog tells, given the lineage that it should have."""
    from lineage_bridge_dagster.catalogs.plans import TableRevision
    from lineage_bridge_dagster.catalogs.rest.drift import facts_of, likely_writer, loss_of
    from lineage_bridge_dagster.catalogs.rest.properties_plan import PropertiesCommit, plan_properties

    state = TableRevision(None, table.properties, uuid=table.uuid)
    plan = plan_properties(state, document, options, complete=complete, now="")
    how = loss_of(plan) if isinstance(plan, PropertiesCommit) else ""
    return _look(
        plan, how, facts_of(table), lambda before, survived: likely_writer(table, before, survived=survived)
    )


def _look(
    plan: NoChange | Hold | Refuse | PlannedChange,
    how: str,
    facts: Mapping[str, str],
    likely_writer: Callable[[Mapping[str, str], bool], str],
) -> Look:
    """What the plan of a push tells about the table that it was made for."""
    from lineage_bridge_dagster.catalogs.plans import Hold, NoChange, Refuse

    if isinstance(plan, NoChange):
        return Look(Sight.IN_SYNC, facts=facts)
    if isinstance(plan, Refuse) and plan.owner:
        return Look(Sight.FOREIGN, owner=plan.owner)
    if isinstance(plan, (Hold, Refuse)):
        return Look(Sight.UNDECIDED)
    return Look(Sight.LOST, how=how, facts=facts, likely_writer=likely_writer)
