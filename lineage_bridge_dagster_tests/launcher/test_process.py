"""A run's process, as its tag names it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

from lineage_bridge_dagster.launcher.process import PROCESS_TAG, RunProcess


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])


def test_tag_names_the_same_process() -> None:
    found = RunProcess.of(os.getpid(), "run")
    assert found is not None
    assert RunProcess.of_run("run", {PROCESS_TAG: found.to_tag()}) == found
    assert RunProcess.of_run("run", {}) is None
    assert found.is_here
    assert found.is_alive


def test_process_that_has_ended_is_gone_even_before_its_exit_code_is_collected() -> None:
    child = sleeper()
    found = RunProcess.of(child.pid, "run")
    assert found is not None
    assert found.terminate()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not found.is_alive
    assert not found.terminate()
    assert RunProcess.of(child.pid, "run") is None
    child.wait()
    assert RunProcess.of(child.pid, "run") is None


def test_later_process_with_the_same_pid_is_another_one() -> None:
    """And is not terminated."""
    found = RunProcess.of(os.getpid(), "run")
    assert found is not None
    earlier = replace(found, started=found.started - 1)
    assert not earlier.is_alive
    assert not earlier.terminate()


def test_process_of_another_machine_is_not_here() -> None:
    assert not RunProcess("run", "another", os.getpid(), 0).is_here


def test_tags_that_a_repeated_run_has_from_another_one_name_no_process_of_its_own() -> None:
    first = RunProcess.of(os.getpid(), "first")
    assert first is not None
    assert RunProcess.of_run("second", {PROCESS_TAG: first.to_tag()}) is None
