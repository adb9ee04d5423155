"""A week in fast motion: the sensor, refreshes and pushes while tables come, change and go, and APIs fail.

    python benchmarks/week.py
    python benchmarks/week.py --tables 40 --hours 30 --sqlite --picture ""

In each hour, about three percent of the tables change, one API fails for half of it, the sensor has some
ticks, and refreshes, pushes and the nightly run of everything happen as by their schedules, if less often.
All of them are the component's own, on a Dagster instance with PostgreSQL, against the emulator of Confluent
and a light Glue behind HTTP, in a process of their own. What is not real: runs have no processes of their
own; the clock of ticks, runs and stored states goes faster; and topics and chains are materialized without
brokers and Spark, which have nothing to do with what grows here.

At the end, all APIs work, and after some ticks Glue must have exactly the lineage that the world has, table
by table, which a dry run of a push from a new discovery must confirm, and Dagster an asset for each table
and no other. What is stored, the memory and the time of a tick must be at the end as they were once
the first runs had been deleted. Else the exit code is 1. The curves are drawn in `docs/images/week.svg`.
"""

from __future__ import annotations

import argparse
import functools
import logging
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from changing_world import WorldProcess
from curves import write_curves
from fast_motion import HOUR, RUN_DAYS, Clock, Platform, Sample, platform

from lineage_bridge_dagster.automation.state import KEEP_VERSIONS
from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.catalogs.push import push_tables
from lineage_bridge_dagster.discovery import discover as discovery
from lineage_bridge_dagster.settings import SettingsReader
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser

#: Hours from one refresh to the next.
_REFRESH_HOURS = 2
#: Passes of the sensor and its schedules, once all works, until all lineage must be right.
_SETTLING = 6
#: Hours of which two are compared, in a play of four days or more.
_DAY = 24
#: The hour from which on runs have been deleted.
_FULL = (RUN_DAYS + 1) * _DAY


def main() -> None:
    """Play a week and judge how it ends."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--tables", type=int, default=1_000, help="tables at any time")
    options.add_argument("--hours", type=int, default=7 * _DAY, help="hours to play")
    options.add_argument("--step", type=int, default=1, help="play only each so-manieth hour")
    options.add_argument("--minutes", type=float, default=1e9, help="play no further hour after these")
    options.add_argument("--ticks", type=int, default=4, help="ticks of the sensor in an hour")
    options.add_argument("--seed", type=int, default=1, help="which tables change, and which APIs fail")
    options.add_argument("--sqlite", action="store_true", help="on SQLite, where there is no PostgreSQL")
    options.add_argument("--picture", default="docs/images/week.svg", help="SVG file; empty for none")
    chosen = options.parse_args()
    logging.disable(logging.CRITICAL)
    os.environ |= {"AWS_ACCESS_KEY_ID": "benchmark", "AWS_SECRET_ACCESS_KEY": "benchmark"}
    clock = Clock()
    with ExitStack() as stack:
        world = stack.enter_context(WorldProcess()).ChangingWorld(chosen.tables, chosen.seed)
        clock.install()
        parser = stack.enter_context(FlinkSqlParser())
        discovery.discover = functools.partial(discovery.discover, parser=parser)
        played = stack.enter_context(platform(world.env(), clock, sqlite=chosen.sqlite))
        samples: list[Sample] = []
        until = time.monotonic() + chosen.minutes * 60
        for hour in range(0, chosen.hours, chosen.step):
            if time.monotonic() > until:
                print(f"stopped before hour {hour} of {chosen.hours}, after {chosen.minutes:g} minutes")
                break
            samples.append(_hour(hour, world, played, clock, chosen))
        print(_largest(played.database.sizes()))
        passes = _settle(world, played, clock)
        if chosen.picture:
            _draw(Path(chosen.picture), chosen.tables, samples)
        print(f"{dict(played.outcomes)}; {world.changes()}")
        print(f"{passes} more passes; CPU time: {time.process_time():.0f} s")
        problems = [*_wrong(world, played), *_grown(samples, chosen.ticks)]
        if problems:
            print("\n".join(problems), file=sys.stderr)
            raise SystemExit(1)
        print("all lineage is right")


def _hour(hour: int, world: Any, played: Platform, clock: Clock, chosen: argparse.Namespace) -> Sample:
    """Play an hour: it begins with all APIs at work, and one fails for half of it."""
    working: list[float] = []
    failing: list[float] = []
    ticks, step = chosen.ticks, chosen.step
    world.step()
    for number in range(ticks):
        if hour and number == ticks // 2:
            world.break_something()
        # What a tick takes while an API fails depends on which one, and on how it fails.
        (working if number < ticks // 2 else failing).append(played.tick())
        if number == max(0, ticks - 2) and (hour // step) % _REFRESH_HOURS == 0:
            played.run("refresh")
        if number == ticks - 1 and played.has_state:
            played.run("push")
        clock.forward(HOUR * step / ticks)
    world.mend()
    if (hour - 2) % _DAY < step:
        played.run("materialize_lineage")
        played.run("lineage_upkeep")
        played.database.vacuum()
    sample = played.sample(hour, working or failing)
    print(
        f"hour {hour:>3}: {sample.runs:,} runs, {sample.states} states, "
        f"database {sample.database / 2**20:.1f} MiB, memory {sample.memory:,} MiB, "
        f"tick {sample.tick:.2f} s, {statistics.median(failing):.2f} s while an API fails; "
        f"{time.process_time():,.0f} s of CPU so far",
        flush=True,
    )
    return sample


def _settle(world: Any, played: Platform, clock: Clock) -> int:
    """Let the sensor and its schedules put all right; returns the passes that it took."""
    for number in range(_SETTLING):
        clock.forward(HOUR)
        played.run("refresh")
        played.tick()
        played.run("push")
        if not world.wrong():
            return number + 1
    return _SETTLING


def _wrong(world: Any, played: Platform) -> list[str]:
    """What differs between the world, Glue, a new discovery and the assets."""
    found = [f"{name}: {each}" for name, each in sorted(world.wrong().items())]
    names = set(world.names())
    found += [
        f"{each} is {'not an asset' if each in names else 'still an asset'}"
        for each in sorted(played.assets("glue") ^ names)
    ]
    reader = SettingsReader()
    settings = reader()
    report = push_tables(
        discovery.discover(settings),
        glue_client(settings.aws),
        lambda: settings.catalogs,
        reader.push(),
        dry_run=True,
    )
    statuses = Counter(str(result.status) for result in report.results)
    if statuses != {"unchanged": len(names)}:
        found.append(f"a new discovery would push {dict(statuses)}, with {len(names)} tables")
    return found


def _grown(samples: Sequence[Sample], ticks: int) -> list[str]:
    """What is larger at the end than in the beginning, by more than what is random in it."""
    most = max(sample.states for sample in samples)
    found = []
    if most > max(KEEP_VERSIONS, _DAY * (ticks + 1)) + 1:
        found.append(f"{most} states are stored")
    end = samples[-1].hour
    if end < _FULL + 2 * _DAY:
        print(f"too short to compare its days: it ends in hour {end}, before hour {_FULL + 2 * _DAY}")
        return found
    # The first days fill caches, and with what is deleted later.
    first = [sample for sample in samples if _FULL <= sample.hour < _FULL + _DAY]
    last = [sample for sample in samples if sample.hour > end - _DAY]

    def compare(name: str, value: Callable[[Sample], float], limit: float) -> None:
        before, after = (statistics.median(map(value, part)) for part in (first, last))
        print(f"{name}: {before:,.2f} once runs were deleted, {after:,.2f} on the last day")
        if after > limit * before:
            found.append(f"{name} has grown from {before:,.2f} to {after:,.2f}")

    compare("memory in MiB", lambda sample: sample.memory, 1.1)
    compare("a tick in times of a fixed work", lambda sample: sample.tick / sample.pace, 1.25)
    compare("the database in MiB", lambda sample: sample.database / 2**20, 1.1)
    compare("stored runs", lambda sample: sample.runs, 1.1)
    return found


def _largest(sizes: dict[str, int]) -> str:
    """The largest parts of the database."""
    parts = sorted(sizes.items(), key=lambda part: -part[1])[:6]
    return "database: " + ", ".join(f"{name} {size / 2**20:.1f} MiB" for name, size in parts)


def _draw(path: Path, tables: int, samples: Sequence[Sample]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_curves(
        path,
        f"{samples[-1].hour / _DAY:.0f} days in fast motion, {tables:,} tables",
        "hours",
        [sample.hour for sample in samples],
        {
            "database, MiB": [sample.database / 2**20 for sample in samples],
            "memory of the process, MiB": [sample.memory for sample in samples],
            "a tick, in times of a fixed work": [sample.tick / sample.pace for sample in samples],
            "stored states": [sample.states for sample in samples],
            "runs": [sample.runs for sample in samples],
        },
    )


if __name__ == "__main__":
    main()
