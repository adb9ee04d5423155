"""The fields about freshness: what empty means, and windows that fit the schedule."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from dagster import FreshnessPolicy

from lineage_bridge_dagster.config.freshness import FreshnessConfig, Limits, longest_gap


@pytest.mark.parametrize(
    ("fields", "limits"),
    [
        ({}, Limits(30, 60)),
        ({"warn_minutes": "", "fail_minutes": "90"}, Limits(None, 90)),
        ({"warn_minutes": "5.5", "fail_minutes": ""}, Limits(5.5, None)),
        ({"warn_minutes": "", "fail_minutes": None}, Limits(None, None)),
    ],
)
def test_an_empty_limit_is_none_at_all(fields: dict[str, Any], limits: Limits) -> None:
    assert FreshnessConfig(**fields).limits == limits


@pytest.mark.parametrize("field", ["warn_minutes", "fail_minutes", "discovery_minutes"])
@pytest.mark.parametrize("value", [0, -1, "soon"])
def test_a_limit_that_is_no_time_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=field):
        FreshnessConfig(**{field: value})


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
def test_the_longest_gap_of_a_schedule_is_over_its_night_or_its_weekend(cron: str, minutes: int) -> None:
    assert longest_gap(cron) == timedelta(minutes=minutes)


def test_discoveries_have_stopped_when_three_of_them_were_due() -> None:
    assert FreshnessConfig().discovery_policy("*/15 * * * *") == FreshnessPolicy.time_window(
        fail_window=timedelta(minutes=45), warn_window=timedelta(minutes=30)
    )
    assert FreshnessConfig().discovery_policy("* * * * *") is not None


def test_a_window_of_ones_own_goes_before_the_schedule() -> None:
    wanted = FreshnessPolicy.time_window(fail_window=timedelta(minutes=90), warn_window=timedelta(minutes=60))
    assert FreshnessConfig(discovery_minutes=90).discovery_policy("*/15 * * * *") == wanted
    assert FreshnessConfig(discovery_minutes=90).discovery_policy("") == wanted


def test_where_nothing_says_how_often_there_is_no_policy() -> None:
    assert FreshnessConfig(discovery_minutes=None).discovery_policy("") is None
