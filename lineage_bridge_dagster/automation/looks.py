"""What a look at a whole table tells about the lineage that was pushed to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lineage_bridge_dagster.glue.plan import Plan
    from lineage_bridge_dagster.glue.tables import GlueTable


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


def look_at_glue(table: GlueTable, plan: Plan) -> Look:
    """What the plan of a push to a Glue table tells."""
    from lineage_bridge_dagster.glue.drift import facts_of, likely_writer, loss_of
    from lineage_bridge_dagster.glue.plan import Update
    from lineage_bridge_dagster.writer.plans import NoChange, Refuse

    if isinstance(plan, NoChange):
        return Look(Sight.IN_SYNC, facts=facts_of(table))
    if isinstance(plan, Update):
        return Look(
            Sight.LOST,
            how=loss_of(plan),
            facts=facts_of(table),
            likely_writer=lambda before, survived: likely_writer(table, before, survived=survived),
        )
    if isinstance(plan, Refuse) and plan.owner:
        return Look(Sight.FOREIGN, owner=plan.owner)
    return Look(Sight.UNDECIDED)
