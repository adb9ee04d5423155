"""The sections of the YAML about what becomes an asset, and how old its data may be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Any

from dagster import FreshnessPolicy
from pydantic import Field, field_validator

from lineage_bridge_dagster.config.yaml_fields import CRON
from lineage_bridge_dagster.config.yaml_schema import Accepts
from lineage_bridge_dagster.config.yaml_section import YamlSection
from lineage_bridge_dagster.dagster_internals.definitions import cron_string_iterator

#: Missed discoveries after which they count as late, and as stopped.
_LATE, _STOPPED = 2, 3
#: Minimum days and ticks of a cron expression to examine, so that they span a weekend and a year of months.
_DAYS, _TICKS = 8, 14

#: How long a topic's records may wait by default: this many times the table's usual time between commits, but
#: at least this many minutes.
WARN_CADENCES, FAIL_CADENCES = 2.0, 4.0
WARN_MINUTES, FAIL_MINUTES = 30.0, 60.0
#: Fields that are numbers above zero, or empty.
_OPTIONAL = (
    "warn_minutes",
    "fail_minutes",
    "warn_cadences",
    "fail_cadences",
    "discovery_minutes",
    "carried_days",
)
_POSITIVE = Accepts(Annotated[float, Field(gt=0)])


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a record may wait before a warning and before an error.

    What a user sets wins: if only the minutes are set, they apply as they are, whatever the table's cadence.

    Attributes:
        warn_minutes: minutes; None for no warning. So is `fail_minutes`.
        warn_cadences: this many times the table's own cadence, if that is longer; None for the minutes alone.
            So is `fail_cadences`.
    """

    warn_minutes: float | None
    fail_minutes: float | None
    warn_cadences: float | None = WARN_CADENCES
    fail_cadences: float | None = FAIL_CADENCES

    def __bool__(self) -> bool:
        return self.warn_minutes is not None or self.fail_minutes is not None

    def for_cadence(self, cadence_minutes: float | None) -> Limits:
        """The limits of a table whose commits are usually this far apart, in minutes; None if unknown."""

        if cadence_minutes is None:
            return self
        warn, fail = self.warn_minutes, self.fail_minutes
        if warn == WARN_MINUTES or self.warn_cadences != WARN_CADENCES:
            warn = _extended(warn, self.warn_cadences, cadence_minutes)
        if fail == FAIL_MINUTES or self.fail_cadences != FAIL_CADENCES:
            fail = _extended(fail, self.fail_cadences, cadence_minutes)
        return replace(self, warn_minutes=warn, fail_minutes=fail)


def _extended(minutes: float | None, cadences: float | None, cadence_minutes: float) -> float | None:
    return minutes if minutes is None or cadences is None else max(minutes, cadences * cadence_minutes)


class IncludeConfig(YamlSection):
    """Which nodes become assets. Chains and pushes always contain all lineage."""

    topics: bool = Field(default=True, description="Kafka topics.", examples=[True])
    processes: bool = Field(
        default=True, description="Connectors, Flink statements and ksqlDB queries.", examples=[True]
    )
    external_datasets: bool = Field(default=True, description="Datasets outside Confluent.", examples=[True])


class FreshnessConfig(YamlSection):
    """How long a record may wait for its Glue table, and the maximum age of a discovery."""

    warn_minutes: Annotated[float | None, _POSITIVE] = Field(
        default=WARN_MINUTES,
        description="Minutes that a topic's records may wait to appear in its table before the check "
        "table_fresh warns. 30 is extended by warn_cadences; any other value applies as it is. Empty: no "
        "warning.",
        examples=[30],
    )
    fail_minutes: Annotated[float | None, _POSITIVE] = Field(
        default=FAIL_MINUTES,
        description="Minutes after which the check fails; 60 is extended by fail_cadences. If warn_minutes "
        "is empty too, there is no check.",
        examples=[60],
    )
    warn_cadences: Annotated[float | None, _POSITIVE] = Field(
        default=WARN_CADENCES,
        description="Where a table's own commits are far apart, warn only after this many times the usual "
        "time between them. Other than 2, it extends any warn_minutes. Empty: never longer.",
        examples=[2],
    )
    fail_cadences: Annotated[float | None, _POSITIVE] = Field(
        default=FAIL_CADENCES,
        description="As many times after which the check fails. Other than 4, it extends any fail_minutes.",
        examples=[4],
    )
    discovery_minutes: Annotated[float | None, _POSITIVE] = Field(
        default=None,
        description="Minutes without a discovery after which discoveries count as stopped. Empty: three "
        "times the longest gap in the sensor's refresh_cron.",
        examples=[45],
    )
    carried_days: Annotated[float | None, _POSITIVE] = Field(
        default=7.0,
        description="Days that lineage may be carried over from earlier discoveries because an API could not "
        "be read, before the check discovery_complete fails. Empty: any time.",
        examples=[7],
    )
    check_cron: Annotated[str, CRON] = Field(
        default="37 * * * *",
        description="Schedule of the check table_fresh on all tables, as a cron expression; empty: none.",
        examples=["37 * * * *"],
    )

    @field_validator(*_OPTIONAL, mode="before")
    @classmethod
    def _empty_is_none(cls, value: Any) -> Any:
        return None if value == "" else value

    @field_validator(*_OPTIONAL)
    @classmethod
    def _above_zero(cls, value: float | None) -> float | None:
        # No bounds on the field itself: the YAML's schema would apply them to a template's text.
        if value is not None and value <= 0:
            raise ValueError("must be above zero")
        return value

    @property
    def limits(self) -> Limits:
        return Limits(self.warn_minutes, self.fail_minutes, self.warn_cadences, self.fail_cadences)

    @property
    def carried_limit(self) -> timedelta | None:
        return None if self.carried_days is None else timedelta(days=self.carried_days)

    def discovery_policy(self, refresh_cron: str) -> FreshnessPolicy | None:
        """Return the maximum age of the last discovery; None without a limit and a schedule.

        Each discovery is a materialization, so Dagster's own policy measures the right time.
        """
        if self.discovery_minutes is not None:
            stopped = timedelta(minutes=self.discovery_minutes)
        elif refresh_cron:
            stopped = _STOPPED * longest_gap(refresh_cron)
        else:
            return None
        # Dagster accepts no window under a minute.
        stopped = max(stopped, timedelta(minutes=2))
        return FreshnessPolicy.time_window(fail_window=stopped, warn_window=stopped * _LATE / _STOPPED)


@lru_cache
def longest_gap(cron: str) -> timedelta:
    """Return the longest time between two ticks of a cron expression, such as over a night or a weekend.

    >>> longest_gap("*/15 * * * *"), longest_gap("0 8-18 * * 1-5")
    (datetime.timedelta(seconds=900), datetime.timedelta(days=2, seconds=50400))
    """
    first = last = datetime(2026, 1, 1, tzinfo=UTC)
    gap = timedelta()
    for count, tick in enumerate(cron_string_iterator(first.timestamp(), cron, "UTC")):
        if count:
            gap = max(gap, tick - last)
        last = tick
        if count >= _TICKS and tick - first > timedelta(days=_DAYS):
            break
    return gap
