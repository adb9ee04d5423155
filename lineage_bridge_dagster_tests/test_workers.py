"""The order in which workers get the tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lineage_bridge_dagster_tests.workers import LONGEST, LongestFirst

pytest_plugins = ["pytester"]

TESTS = [
    *(f"a/test_many.py::test_{number}" for number in range(9)),
    *(f"b/test_parser.py::test_{number}@flink" for number in range(20)),
    "b/test_parser.py::test_without_one",
    *(f"c/test_ui.py::test_{number}@stack" for number in range(3)),
    *(f"d/test_table.py::TestTable::test_{number}@spark" for number in range(6)),
]


class Worker:
    """Runs what it gets at once."""

    gateway = SimpleNamespace(id="gw")
    shutting_down = False

    def __init__(self) -> None:
        self.got: list[int] = []

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        self.got += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def run(workers: int, tests: Sequence[str]) -> list[list[str]]:
    """Run the tests and return the modules that each worker ran, in its order."""
    config: Any = SimpleNamespace(
        getvalue=lambda _: ["popen"] * workers, option=SimpleNamespace(loadscopereorder=True)
    )
    scheduler = LongestFirst(config)
    nodes: Any = [Worker() for _ in range(workers)]
    for node in nodes:
        scheduler.add_node(node)
        scheduler.add_node_collection(node, tests)
    scheduler.schedule()
    done = [0] * workers
    while not scheduler.tests_finished:
        for number, node in enumerate(nodes):
            if done[number] < len(node.got):
                scheduler.mark_test_complete(node, node.got[done[number]])
                done[number] += 1
    ran = [[tests[index].partition("::")[0] for index in node.got] for node in nodes]
    assert sorted(index for node in nodes for index in node.got) == list(range(len(tests)))
    return [list(dict.fromkeys(modules)) for modules in ran]


def test_longest_groups_come_first_and_modules_stay_whole() -> None:
    spark, flink = run(2, TESTS)
    assert spark[:3] == ["d/test_table.py", "c/test_ui.py", "a/test_many.py"]
    assert flink[0] == "b/test_parser.py"


def test_groups_that_come_first_exist() -> None:
    texts = [path.read_text() for path in Path(__file__).parent.rglob("*.py")]
    unknown = [group for group in LONGEST if not any(f'xdist_group("{group}")' in text for text in texts)]
    assert unknown == []


def test_what_a_busy_group_shares_ends_with_its_last_test(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("""
import pytest

pytest_plugins = ["lineage_bridge_dagster_tests.workers"]
running = []

@pytest.fixture(scope="session")
def process():
    running.append("process")
    yield
    running.clear()
""")
    pytester.makepyfile("""
import pytest
from conftest import running

@pytest.mark.xdist_group("stack")
@pytest.mark.parametrize("number", range(2))
def test_of_the_group(process, number):
    assert running

def test_of_another():
    assert not running
""")
    result = pytester.runpytest_subprocess("-n", "1", "--dist", "loadgroup", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=3)
