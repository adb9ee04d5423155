"""Progress in the log of a run over many tables or topics."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from botocore.client import BaseClient
from dagster import DagsterInstance, ExecuteInProcessResult

from lineage_bridge_dagster.assets import bundles
from lineage_bridge_dagster.assets.progress import Progress
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster_tests.assets.location import Location, create_tables
from lineage_bridge_dagster_tests.assets.world import EAST, many

Build = Callable[..., Location]


def lines(result: ExecuteInProcessResult, instance: DagsterInstance) -> list[str]:
    """Return the messages of a run's log that are not Dagster events."""
    logs = instance.all_logs(result.run_id)
    return [entry.user_message for entry in logs if entry.dagster_event is None]


@pytest.mark.parametrize(("total", "most"), [(3, 0), (60, 2), (1000, 20), (100_000, 20)])
def test_a_fast_operation_logs_at_most_twenty_lines(total: int, most: int) -> None:
    logged: list[str] = []
    progress = Progress("Tables", total, clock=lambda: 0.0)
    for _ in range(total):
        progress.advance(logged.append, "read")
    assert len(logged) <= most
    assert progress.complete


def test_a_slow_operation_logs_every_ten_seconds() -> None:
    logged: list[str] = []
    now = 0.0
    progress = Progress("Tables", 1000, clock=lambda: now)
    for _ in range(20):
        now += 4.0
        progress.advance(logged.append, "updated")
    assert logged[0] == "Tables: 3 of 1,000 done, 3 updated"
    assert len(logged) == 6
    assert progress.summary() == "Tables: 20 of 1,000 done in 80 s, 20 updated"


def test_the_push_job_logs_progress_and_a_summary(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = many(300)
    create_tables(glue, w, skip=["topic.00050"])
    job = location(w).definitions.resolve_job_def("push")
    result = job.execute_in_process(instance=instance, raise_on_error=False)
    logged = [line for line in lines(result, instance) if line.startswith("Pushing tables: ")]
    # One more for each ten seconds of a slow machine.
    assert 10 <= len(logged) <= 60
    assert " of 300 done, " in logged[0]
    assert logged[-1].startswith("Pushing tables: 300 of 300 done in ")
    assert logged[-1].endswith("1 failed, 299 updated")
    assert len(lines(result, instance)) < 80


def test_the_steps_of_a_run_share_one_progress_of_topics(
    location: Build, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "SIZE", 20)
    built = location(many(300))
    built.confluent.facts["topic.00007"] = LineageBridgeError("not authorized", hint="Grant READ.")
    keys = [f"kafka/{EAST}/topic.{number:05d}" for number in range(300)]
    result = built.materialize(instance, *keys)
    logged = lines(result, instance)
    progress = [line for line in logged if line.startswith("Reading topics: ")]
    assert 10 <= len(progress) <= 40
    assert progress[-1].startswith("Reading topics: 300 of 300 done in ")
    assert progress[-1].endswith("1 failed, 299 read")
    assert sum(line.startswith("This step read ") for line in logged) == 16
    assert len(logged) < 80
