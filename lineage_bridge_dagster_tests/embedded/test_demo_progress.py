"""The demo names the steps of its first runs, as they appear in Dagster's log."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lineage_bridge_dagster.embedded.demo_progress import MILESTONES, DemoProgress

PACKAGE = Path(__file__).parents[2] / "lineage_bridge_dagster"


class Demo:
    """A log that grows, what is shown of it, and a clock that stands still until it is set."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "dagster.log"
        self.log.write_text("an earlier start: Requesting the lineage of 9 tables in 1 run\n")
        self.now = 100.0
        self.shown: list[str] = []
        self.progress = DemoProgress(self.log, self.shown.append, clock=lambda: self.now, began=80.0)

    def at(self, second: float, *lines: str) -> list[str]:
        """What is shown when these lines are added at a second since the demo began."""
        self.now, before = 80.0 + second, len(self.shown)
        with self.log.open("a") as log:
            log.writelines(f"2026-11-22 22:30:24 +0000 - dagster - INFO - {line}\n" for line in lines)
        self.progress.look()
        return self.shown[before:]


@pytest.fixture
def demo(tmp_path: Path) -> Demo:
    return Demo(tmp_path)


def test_each_step_is_shown_once_with_its_time(demo: Demo) -> None:
    assert demo.at(21) == []
    request = "__repository__ - lineage_sensor - Requesting the lineage of 5 tables in 1 run: a, b"
    assert demo.at(30, "refresh - 1c - refresh - Environments: 1", "another line") == [
        "    30 s  Discovery: reading Confluent's APIs (about 3 s)"
    ]
    assert demo.at(40, request, request) == [
        "    40 s  The sensor asks for the lineage of 5 tables (about 8 s)"
    ]
    assert demo.at(41, "upstream_chains - Computing the chains of 5 tables") == [
        "    41 s  The upstream chains of 5 tables: connecting to Spark (about 2 s)"
    ]


def test_one_table_is_not_a_plural(demo: Demo) -> None:
    assert demo.at(40, "Requesting the lineage of 1 table in 1 run: a") == [
        "    40 s  The sensor asks for the lineage of 1 table (about 8 s)"
    ]


def test_step_that_takes_long_is_named_again(demo: Demo) -> None:
    demo.at(25, "upstream_chains - Computing the chains of 5 tables")
    assert demo.at(39) == []
    again = ["    40 s  The upstream chains of the tables: for 15 s now, usually 2 s"]
    assert demo.at(40) == again
    assert demo.at(41) == []


def test_pushed_tables_are_counted(demo: Demo) -> None:
    demo.now = 150.0
    demo.progress.arrived({"lake.b", "lake.a"}, 3)
    demo.progress.arrived({"lake.b", "lake.a", "lake.c"}, 3)
    assert demo.shown == [
        "    70 s  Lineage pushed (1 of 3 tables): lake.a",
        "    70 s  Lineage pushed (2 of 3 tables): lake.b",
        "    70 s  Lineage pushed (3 of 3 tables): lake.c",
    ]
    assert demo.at(300) == []


def test_signs_are_texts_of_the_code() -> None:
    code = "".join(path.read_text() for path in PACKAGE.rglob("*.py") if path.name != "demo_progress.py")
    for milestone in MILESTONES:
        text = milestone.sign.removeprefix("refresh - ")
        text = re.split(r": | \(", text)[0]
        assert text in code, milestone.sign
