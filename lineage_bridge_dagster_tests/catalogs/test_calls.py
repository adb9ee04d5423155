"""How the pace of calls follows what a service refuses."""

from __future__ import annotations

import math

import pytest

from lineage_bridge_dagster.catalogs.calls import Pace


class Clock:
    """A clock that waits move on."""

    def __init__(self) -> None:
        self.now = 50.0

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> Pace:
    return Pace(clock.time, clock.sleep)


def _serve(pace: Pace, clock: Clock, calls: int, seconds: float) -> None:
    for _ in range(calls):
        pace.start()
        clock.now += seconds / calls
        pace.served()


def test_nothing_waits_before_the_first_refusal(pace: Pace, clock: Clock) -> None:
    for _ in range(1_000):
        pace.start()
        pace.served()
    assert clock.now == 50.0
    assert pace.limit == math.inf


def test_pace_starts_a_little_below_what_was_served(pace: Pace, clock: Clock) -> None:
    _serve(pace, clock, 40, seconds=2)
    pace.refused(pace.start())
    assert pace.limit == pytest.approx(0.9 * 20, rel=0.1)
    starts = [pace.start() for _ in range(3)]
    assert starts[2] - starts[1] == pytest.approx(1 / pace.limit, rel=0.1)


def test_calls_that_were_on_their_way_count_as_one_refusal(pace: Pace, clock: Clock) -> None:
    _serve(pace, clock, 20, seconds=1)
    started = [pace.start() for _ in range(8)]
    clock.now += 0.03
    for start in started:
        pace.refused(start)
    assert pace.limit == pytest.approx(0.9 * 20, rel=0.1)


def test_second_refusal_within_a_second_cuts_deeper(pace: Pace, clock: Clock) -> None:
    _serve(pace, clock, 20, seconds=1)
    pace.refused(pace.start())
    before = pace.limit
    clock.now += 0.2
    pace.refused(pace.start())
    assert pace.limit == pytest.approx(0.7 * before, rel=0.1)


def test_pace_grows_until_there_is_no_limit(pace: Pace, clock: Clock) -> None:
    _serve(pace, clock, 20, seconds=1)
    pace.refused(pace.start())
    limits = []
    for _ in range(30):
        limits.append(pace.limit)
        clock.now += 1
    assert limits == sorted(limits)
    assert limits[3] > 20
    assert limits[-1] == math.inf
    clock.now += 1e9
    assert pace.limit == math.inf


def test_refusal_of_the_first_call_still_leaves_one_a_second(pace: Pace) -> None:
    pace.refused(pace.start())
    assert pace.limit == 1
