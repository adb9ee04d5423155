"""The job `impact`: a change in the launchpad, and the report as metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dagster import AssetKey, DagsterInstance, ExecuteInProcessResult

from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster_tests.assets.location import Location, failure_of
from lineage_bridge_dagster_tests.assets.world import EAST, World

Build = Callable[..., Location]
DROP = {"kind": "drop", "what": "topic", "name": "orders"}


@pytest.fixture
def instance() -> DagsterInstance:
    return DagsterInstance.ephemeral()


def orders() -> World:
    """Orders are cleaned by a statement into a topic with a table in Glue."""
    w = World()
    topic, clean = w.topic(EAST, "orders"), w.topic(EAST, "clean")
    w.statement("cleaning", "INSERT INTO clean SELECT * FROM orders", [topic], [clean])
    w.glue(EAST, "clean")
    return w


def run(built: Location, instance: DagsterInstance, *changes: Any, **config: Any) -> ExecuteInProcessResult:
    run_config = {"ops": {"impact": {"config": {"changes": list(changes), **config}}}}
    return built.definitions.resolve_job_def("impact").execute_in_process(
        instance=instance, run_config=run_config, raise_on_error=False
    )


def test_report_is_metadata_of_the_run_and_of_the_changed_asset(
    location: Build, instance: DagsterInstance
) -> None:
    result = run(location(orders()), instance, DROP)
    assert result.success
    assert result.output_for_node("impact") == {"breaks": 1, "loses_data": 2}
    (output,) = (event for event in result.all_events if event.is_successful_output)
    shown = output.step_output_data.metadata
    assert "statement `cleaning`" in shown["report"].value
    assert f"Glue table `{EAST}.clean`" in shown["report"].value
    assert shown["complete"].value is True
    (observed,) = result.get_asset_observation_events()
    assert observed.asset_key == AssetKey(["kafka", EAST, "orders"])
    metadata = observed.event_specific_data.asset_observation.metadata  # type: ignore[union-attr]
    assert metadata["lineage_bridge/impact"].value == shown["report"].value


def test_run_fails_from_the_chosen_verdict_on(location: Build, instance: DagsterInstance) -> None:
    built = location(orders())
    result = run(built, instance, DROP, fail_on="loses_data")
    assert "1 breaks, 2 lose data: statement cleaning" in failure_of(result)
    assert run(built, instance, DROP).success


def test_run_that_may_fail_fails_over_an_api_that_was_not_read(
    location: Build, instance: DagsterInstance
) -> None:
    w = orders()
    w.topic(EAST, "unread")
    w.report("connect", EAST, Status.DENIED, "403")
    built = location(w)
    change = {**DROP, "name": "unread"}
    assert "connect:env-abc123:lkc-east1 was not read completely" in failure_of(
        run(built, instance, change, fail_on="breaks")
    )
    assert run(built, instance, change).success


@pytest.mark.parametrize(
    ("changes", "fail_on", "message"),
    [
        ([], "never", "No change is given."),
        ([{"kind": "drip"}], "never", "the change: kind is a string 'drip'; expected one of schema, drop"),
        ([DROP], "break", "Did you mean breaks?"),
    ],
)
def test_wrong_input_says_what_to_write(
    location: Build, instance: DagsterInstance, changes: list[Any], fail_on: str, message: str
) -> None:
    assert message in failure_of(run(location(orders()), instance, *changes, fail_on=fail_on))
