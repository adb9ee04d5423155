"""What a stack started is found and ended, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from lineage_bridge_dagster.embedded import processes
from lineage_bridge_dagster.embedded.paths import StackPaths

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
#: Ignores SIGTERM, and has a child that leads a group of its own, as PySpark's daemon does.
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, subprocess, sys, time, os\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], process_group=0)\n"
    "print('ready', flush=True); time.sleep(600)",
]


@pytest.fixture
def paths(tmp_path: Path) -> Iterator[StackPaths]:
    made = StackPaths(tmp_path / "home")
    made.prepare()
    yield made
    processes.stop(made, patience=0)


def _until(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("it never came to be")


def test_what_was_started_is_found_without_its_pid_file_and_is_ended(paths: StackPaths) -> None:
    started = processes.start(paths, "one", SLEEP, {})
    for file in paths.run.iterdir():
        file.unlink()
    assert processes.find(paths)["one"].pid == started.pid
    assert processes.stop(paths) == []
    assert not processes.is_alive(started.process)
    assert processes.find(paths) == {}


def test_a_stubborn_process_and_its_children_are_killed(paths: StackPaths) -> None:
    started = processes.start(paths, "stubborn", STUBBORN, {})
    _until(lambda: "ready" in processes.end_of_log(paths, "stubborn"))
    children = started.process.children(recursive=True)
    assert children
    assert list(processes.find(paths)) == ["stubborn"]
    assert processes.stop(paths, patience=0.1) == ["stubborn"]
    assert not any(processes.is_alive(process) for process in (started.process, *children))


def test_children_whose_leader_was_killed_are_ended_too(paths: StackPaths) -> None:
    started = processes.start(paths, "stubborn", STUBBORN, {})
    _until(lambda: "ready" in processes.end_of_log(paths, "stubborn"))
    children = started.process.children(recursive=True)
    started.process.kill()
    _until(lambda: not processes.is_alive(started.process))
    assert processes.find(paths) == {}
    processes.stop(paths)
    assert not any(processes.is_alive(process) for process in children)


def test_only_the_named_components_are_ended(paths: StackPaths) -> None:
    processes.start(paths, "one", SLEEP, {})
    processes.start(paths, "two", SLEEP, {})
    processes.stop(paths, ["one"])
    assert list(processes.find(paths)) == ["two"]


def test_another_homes_processes_and_a_recycled_pid_are_left_alone(paths: StackPaths, tmp_path: Path) -> None:
    other = StackPaths(tmp_path / "other")
    other.prepare()
    processes.start(other, "one", SLEEP, {})
    stranger = subprocess.Popen(SLEEP, start_new_session=True)
    try:
        # As a stale pid file would have it: the pid is somebody else's by now.
        (paths.run / "one.pid").write_text(f'{{"pid": {stranger.pid}, "create_time": 1}}')
        assert processes.find(paths) == {}
        processes.stop(paths)
        assert stranger.poll() is None
        assert list(processes.find(other)) == ["one"]
    finally:
        processes.stop(other)
        stranger.kill()
        stranger.wait()


def test_the_end_of_a_log_is_that_of_the_last_start(paths: StackPaths) -> None:
    for text in ("first", "second"):
        started = processes.start(paths, "one", [sys.executable, "-c", f"print('{text}')"], {})
        _until(lambda s=started: not processes.is_alive(s.process))  # type: ignore[misc]
    assert processes.end_of_log(paths, "one") == "second"
    assert processes.end_of_log(paths, "none") == ""


def test_the_environment_says_whose_a_process_is_and_nothing_leaks_back(paths: StackPaths) -> None:
    started = processes.start(paths, "one", SLEEP, {"EXTRA": "1"})
    env = psutil.Process(started.pid).environ()
    assert env[processes.HOME_MARK] == str(paths.home)
    assert env["EXTRA"] == "1"
    assert processes.HOME_MARK not in os.environ
    os.kill(started.pid, signal.SIGKILL)
