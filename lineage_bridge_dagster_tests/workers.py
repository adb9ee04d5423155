"""Which tests a worker of `pytest -n 3 --dist loadgroup` takes next, so that all end at the same time.

Of its own, pytest-xdist starts with the groups of the most tests and hands out all others one by one. Our
longest groups have few tests, and a module's fixtures would be made in each worker.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest
from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController

#: Groups that take minutes. The tests of the last mostly wait, beside the modules that the other workers then
#: run.
LONGEST = (
    *("topics", "spark", "connect", "cluster", "local_stack", "rest", "benchmark", "wheel", "flink", "push"),
    "production",
    "stack",
)
#: Groups whose processes evaluate sensors and commit to tables for as long as they run.
BUSY = ("production", "stack")


class LongestFirst(LoadGroupScheduling):
    """Hands out the longest groups first, then the other groups and modules by number of tests."""

    def _split_scope(self, nodeid: str) -> str:
        group: str = super()._split_scope(nodeid)
        return group if group != nodeid else nodeid.partition("::")[0]

    def _assign_work_unit(self, node: WorkerController) -> None:
        for group in reversed(LONGEST):
            if group in self.workqueue:
                self.workqueue.move_to_end(group, last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LongestFirst | None:
    return LongestFirst(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    """End the processes of a busy group with its last test, not with the worker minutes later."""
    yield
    group = item.nodeid.rpartition("@")[2]
    if group in BUSY and nextitem is not None and not nextitem.nodeid.endswith(f"@{group}"):
        item.session._setupstate.teardown_exact(None)
