"""The freshness section: empty limits, and windows that fit the schedule."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from dagster import FreshnessPolicy

from lineage_bridge_dagster.assets.settings import FreshnessConfig, Limits, longest_gap


@pytest.mark.parametrize(
    ("fields", "limits"),
    [
        ({}, Limits(30, 60)),
        ({"warn_minutes": "", "fail_minutes": "90"}, Limits(None, 90)),
        ({"warn_minutes": "5.5", "fail_minutes": ""}, Limits(5.5, None)),
        ({"warn_minutes": "", "fail_minutes": None}, Limits(None, None)),
    ],
)
def test_empty_limit_is_no_limit(fields: dict[str, Any], limits: Limits) -> None:
    assert FreshnessConfig(**fields).limits == limits


@pytest.mark.parametrize(
    "field", ["warn_minutes", "fail_minutes", "fail_cadences", "discovery_minutes", "carried_days"]
)
@pytest.mark.parametrize("value", [0, -1, "soon"])
def test_malformed_limit_is_rejected_by_name(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=field):
        FreshnessConfig(**{field: value})


def test_limits_follow_a_tables_cadence_above_the_minutes() -> None:
    limits = FreshnessConfig().limits
    assert limits.for_cadence(None) == limits
    assert limits.for_cadence(15) == limits
    hours = limits.for_cadence(6 * 60)
    assert (hours.warn_minutes, hours.fail_minutes) == (12 * 60, 24 * 60)


def test_minutes_of_a_users_own_apply_whatever_the_cadence() -> None:
    strict = FreshnessConfig(fail_minutes=45).limits.for_cadence(6 * 60)
    assert (strict.warn_minutes, strict.fail_minutes) == (12 * 60, 45)
    both = FreshnessConfig(warn_minutes=45, warn_cadences=3).limits
    assert both.for_cadence(60).warn_minutes == 180
    assert both.for_cadence(10).warn_minutes == 45


def test_limits_without_multiples_are_the_minutes() -> None:
    limits = FreshnessConfig(warn_cadences="", fail_cadences="").limits
    assert limits.for_cadence(6 * 60) == limits
    only_late = FreshnessConfig(warn_minutes="", fail_cadences=3).limits.for_cadence(60)
    assert (only_late.warn_minutes, only_late.fail_minutes) == (None, 180)


def test_carried_lineage_is_an_error_after_a_week_unless_set_otherwise() -> None:
    assert FreshnessConfig().carried_limit == timedelta(days=7)
    assert FreshnessConfig(carried_days="0.5").carried_limit == timedelta(hours=12)
    assert FreshnessConfig(carried_days="").carried_limit is None


@pytest.mark.parametrize(
    ("cron", "minutes"),
    [
        ("*/15 * * * *", 15),
        ("* * * * *", 1),
        ("0 2 * * *", 24 * 60),
        # From Friday evening to Monday morning.
        ("*/15 8-18 * * 1-5", 61 * 60 + 15),
        ("0 0 1 * *", 31 * 24 * 60),
    ],
)
def test_longest_gap_spans_the_night_or_the_weekend(cron: str, minutes: int) -> None:
    assert longest_gap(cron) == timedelta(minutes=minutes)


def test_discoveries_count_as_stopped_after_three_missed_ones() -> None:
    assert FreshnessConfig().discovery_policy("*/15 * * * *") == FreshnessPolicy.time_window(
        fail_window=timedelta(minutes=45), warn_window=timedelta(minutes=30)
    )
    assert FreshnessConfig().discovery_policy("* * * * *") is not None


def test_configured_window_precedes_the_schedule() -> None:
    expected = FreshnessPolicy.time_window(
        fail_window=timedelta(minutes=90), warn_window=timedelta(minutes=60)
    )
    assert FreshnessConfig(discovery_minutes=90).discovery_policy("*/15 * * * *") == expected
    assert FreshnessConfig(discovery_minutes=90).discovery_policy("") == expected


def test_no_policy_without_a_limit_and_a_schedule() -> None:
    assert FreshnessConfig(discovery_minutes=None).discovery_policy("") is None
