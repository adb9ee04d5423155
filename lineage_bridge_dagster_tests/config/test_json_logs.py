"""With `LINEAGE_BRIDGE_LOG_FORMAT=json` each line of a process is an object of JSON, those of a run too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

_RUN = """
import logging, warnings
import lineage_bridge_dagster
from dagster import DagsterInstance, asset, materialize

@asset
def orders(context):
    context.log.info("pushing with password=hunter2")
    logging.getLogger("library").warning("two\\nlines, %s", 1)
    warnings.warn("old")
    raise ValueError("refused token=abcdefghij1234567890")

@asset
def items():
    pass

with DagsterInstance.ephemeral() as instance:
    materialize([orders, items], instance=instance, raise_on_error=False)
logging.getLogger("library").error("after the run")
raise RuntimeError("the end")
"""


@pytest.fixture(scope="module")
def lines() -> Sequence[dict[str, Any]]:
    """What a process that executes a failing run, and then ends with an error, writes."""
    environment = {**os.environ, "LINEAGE_BRIDGE_LOG_FORMAT": "json", "DAGSTER_DISABLE_TELEMETRY": "1"}
    environment["PYTHONWARNINGS"] = "default"
    ended = subprocess.run([sys.executable, "-c", _RUN], env=environment, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "hunter2" not in ended.stderr + ended.stdout
    assert "abcdefghij1234567890" not in ended.stderr + ended.stdout
    return [json.loads(line) for line in (ended.stdout + ended.stderr).splitlines()]


def _of(lines: Sequence[dict[str, Any]], event: str) -> dict[str, Any]:
    (found,) = [line for line in lines if line["event"].startswith(event)]
    return found


def test_every_line_tells_its_time_level_and_logger(lines: Sequence[dict[str, Any]]) -> None:
    assert len(lines) > 10
    for line in lines:
        assert {"timestamp", "level", "logger", "event"} <= set(line)


def test_lines_of_a_run_name_the_run_the_job_and_the_step(lines: Sequence[dict[str, Any]]) -> None:
    pushing, library = _of(lines, "pushing"), _of(lines, "two")
    assert pushing["event"] == "pushing with password=****"
    assert (pushing["step"], pushing["level"]) == ("orders", "info")
    # A library knows nothing of runs.
    assert library["event"] == "two\nlines, 1"
    assert library["run_id"] == pushing["run_id"]
    assert library["job"] == pushing["job"]
    assert "run_id" not in _of(lines, "after the run")


def test_lines_of_events_name_the_asset(lines: Sequence[dict[str, Any]]) -> None:
    materialized = [line for line in lines if line.get("dagster_event") == "ASSET_MATERIALIZATION"]
    assert [line["asset"] for line in materialized] == ["items"]


def test_errors_are_one_line_with_their_traceback(lines: Sequence[dict[str, Any]]) -> None:
    failed, end = _of(lines, "Execution of step"), _of(lines, "Uncaught")
    assert "ValueError: refused token=****" in failed["exception"]
    assert end["exception"].endswith("RuntimeError: the end")
    assert end["level"] == "critical"
    assert any(line["logger"] == "py.warnings" for line in lines)
