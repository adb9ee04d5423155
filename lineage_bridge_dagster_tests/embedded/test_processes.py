"""The processes that a stack started are found and stopped, and no others."""

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
#: Ignores SIGTERM, and has a child with its own process group, like PySpark's daemon.
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, subprocess, sys, time, os\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], process_group=0)\n"
    "print('ready', flush=True); time.sleep(600)",
]

#: Has a child with a session of its own, like the server of the REST catalogs with its JVM.
WITH_SESSION = [
    sys.executable,
    "-c",
    "import subprocess, sys, time\n"
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
    "print('ready', flush=True); time.sleep(600)",
]

#: Has a child that exits some time after its parent, like Spark's JVM.
WITH_SLOW_CHILD = [
    sys.executable,
    "-c",
    "import subprocess, sys, time\n"
    'code = \'import sys, time; sys.stdin.read(); time.sleep(0.5); open("written", "w")\'\n'
    "child = subprocess.Popen([sys.executable, '-c', code], stdin=subprocess.PIPE)\n"
    "print('ready', flush=True); time.sleep(600)",
]


@pytest.fixture
def paths(tmp_path: Path) -> Iterator[StackPaths]:
    paths = StackPaths(tmp_path / "home")
    paths.prepare()
    yield paths
    processes.stop(paths, patience=0)


def _until(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail("The condition was not met in 30 s.")


def test_a_process_is_found_without_its_pid_file_and_stopped(paths: StackPaths) -> None:
    started = processes.start(paths, "one", SLEEP, {})
    for file in paths.run.iterdir():
        file.unlink()
    assert processes.find(paths)["one"].pid == started.pid
    # A loaded machine may take its time to end even a process that does nothing.
    assert processes.stop(paths, patience=120) == []
    assert not processes.is_alive(started.process)
    assert processes.find(paths) == {}


def test_a_process_is_found_by_an_argument_of_its_own(paths: StackPaths) -> None:
    processes.start(paths, "one", [*SLEEP, "-XX:Some=file"], {})
    assert processes.arguments_with(paths, "-XX:Some=")
    assert not processes.arguments_with(paths, "-XX:Other=")


def test_a_child_that_takes_its_time_to_exit_is_not_killed(paths: StackPaths) -> None:
    """As a JVM that writes its classes after its driver has exited."""
    processes.start(paths, "driver", WITH_SLOW_CHILD, {})
    _until(lambda: "ready" in processes.end_of_log(paths, "driver"))
    processes.terminate(paths, patience=120)
    assert processes.stop(paths, children_patience=120) == []
    assert (paths.run / "written").exists()


def test_a_stubborn_process_and_its_children_are_killed(paths: StackPaths) -> None:
    started = processes.start(paths, "stubborn", STUBBORN, {})
    _until(lambda: "ready" in processes.end_of_log(paths, "stubborn"))
    children = started.process.children(recursive=True)
    assert children
    assert list(processes.find(paths)) == ["stubborn"]
    assert processes.stop(paths, patience=0.1, children_patience=0.1) == ["stubborn"]
    assert not any(processes.is_alive(process) for process in (started.process, *children))


def test_children_of_a_killed_process_are_stopped(paths: StackPaths) -> None:
    started = processes.start(paths, "stubborn", STUBBORN, {})
    _until(lambda: "ready" in processes.end_of_log(paths, "stubborn"))
    children = started.process.children(recursive=True)
    started.process.kill()
    _until(lambda: not processes.is_alive(started.process))
    assert processes.find(paths) == {}
    processes.stop(paths, children_patience=0.1)
    assert not any(processes.is_alive(process) for process in children)


def test_a_child_with_a_session_of_its_own_is_no_leader(paths: StackPaths) -> None:
    started = processes.start(paths, "server", WITH_SESSION, {})
    _until(lambda: "ready" in processes.end_of_log(paths, "server"))
    (child,) = started.process.children()
    assert {running.pid for running in processes.find(paths).values()} == {started.pid}
    processes.stop(paths, ["server"], children_patience=0.1)
    assert not any(processes.is_alive(process) for process in (started.process, child))


def test_stop_ends_only_the_given_components(paths: StackPaths) -> None:
    processes.start(paths, "one", SLEEP, {})
    processes.start(paths, "two", SLEEP, {})
    processes.stop(paths, ["one"])
    assert list(processes.find(paths)) == ["two"]


def test_processes_of_another_home_and_a_reused_pid_are_not_stopped(
    paths: StackPaths, tmp_path: Path
) -> None:
    other = StackPaths(tmp_path / "other")
    other.prepare()
    processes.start(other, "one", SLEEP, {})
    unrelated = subprocess.Popen(SLEEP, start_new_session=True)
    try:
        # A stale pid file, whose pid has been reused by an unrelated process.
        (paths.run / "one.pid").write_text(f'{{"pid": {unrelated.pid}, "create_time": 1}}')
        assert processes.find(paths) == {}
        processes.stop(paths)
        assert unrelated.poll() is None
        assert list(processes.find(other)) == ["one"]
    finally:
        processes.stop(other)
        unrelated.kill()
        unrelated.wait()


def test_end_of_log_covers_only_the_last_start(paths: StackPaths) -> None:
    for text in ("first", "second"):
        started = processes.start(paths, "one", [sys.executable, "-c", f"print('{text}')"], {})
        _until(lambda s=started: not processes.is_alive(s.process))  # type: ignore[misc]
    assert processes.end_of_log(paths, "one") == "second"
    assert processes.end_of_log(paths, "none") == ""


def test_a_process_has_its_home_in_its_environment_and_the_parents_is_unchanged(paths: StackPaths) -> None:
    started = processes.start(paths, "one", SLEEP, {"EXTRA": "1"})
    env = psutil.Process(started.pid).environ()
    assert env[processes.HOME_MARK] == str(paths.home)
    assert env["EXTRA"] == "1"
    assert processes.HOME_MARK not in os.environ
    os.kill(started.pid, signal.SIGKILL)
