"""How old the lineage is that a discovery carries over, as part of its check. Pure.

While a scope fails, what was known of it is kept. If that goes on, somebody must learn that pushes and pages
show old lineage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from lineage_bridge_dagster.assets.check_outcomes import CheckOutcome
from lineage_bridge_dagster.lineage.carried import Carried
from lineage_bridge_dagster.lineage.coverage import CONNECTOR_OFFSETS
from lineage_bridge_dagster.text import duration, first_few, plural

_HEADER = ("scope", "status", "reason and what to do", "found")


def with_carried(
    outcome: CheckOutcome, carried: Sequence[Carried], at: str, limit: timedelta | None, refresh_job: str
) -> CheckOutcome:
    """Add what is carried over to the outcome of `discovery_complete`; an error if it is older than allowed.

    Args:
        outcome: of the coverage alone.
        carried: what is carried over, oldest first.
        at: time of the discovery, ISO 8601.
        limit: age from which it is an error; None for no limit.
        refresh_job: name of the job to run next.
    """
    if not carried:
        return outcome
    rows = [(str(each.scope), "carried", _kept(each), "") for each in carried]
    outcome = replace(outcome, header=outcome.header or _HEADER, rows=[*outcome.rows, *rows])
    ages = [(each, age) for each in carried if (age := each.age(at)) is not None]
    old = [(each, age) for each, age in ages if limit is not None and age > limit]
    if limit is None or not old:
        return outcome
    named = [f"{each.scope} since {each.since} ({_days(age)})" for each, age in old]
    summary = (
        f"Lineage that could not be read again for longer than {_days(limit)} is carried over: "
        f"{first_few(named)}."
    )
    return replace(
        outcome,
        passed=False,
        error=True,
        summary=f"{summary} {outcome.summary}",
        next_step=_next_step(old[0][0], refresh_job),
    )


def _next_step(carried: Carried, refresh_job: str) -> str:
    """What makes the scope readable, or takes it out of discovery."""
    reason = carried.reason.rstrip(".") or f"Make {carried.scope} readable"
    if carried.scope.api == CONNECTOR_OFFSETS:
        otherwise = "To do without it, set LINEAGE_BRIDGE_CONFLUENT_CONNECTOR_OFFSETS=off"
    elif carried.scope.environment:
        otherwise = (
            "To do without it, leave its environment or cluster out of LINEAGE_BRIDGE_ENVIRONMENTS or "
            "LINEAGE_BRIDGE_CLUSTERS"
        )
    else:
        otherwise = "To accept it for longer, raise LINEAGE_BRIDGE_FRESHNESS_CARRIED_DAYS"
    return (
        f"{reason}; then run the `{refresh_job}` job. Until then, pages and pushes show that lineage as it "
        f"was last read. {otherwise}."
    )


def _kept(carried: Carried) -> str:
    return f"{plural(carried.nodes, 'node')} and {plural(carried.edges, 'edge')} last seen {carried.since}"


def _days(age: timedelta) -> str:
    return duration(int(age.total_seconds() * 1000))
