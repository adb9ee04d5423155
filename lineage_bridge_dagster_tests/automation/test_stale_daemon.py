"""Runs that a daemon submits with definitions from before a reload, against a real code server."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dagster import AssetKey, DagsterInstance, DagsterRun, RunRequest
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._daemon.sensor import SubmitRunRequestResult, _submit_run_request

from lineage_bridge_dagster.automation.reload import reload_code_location
from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.specs.names import AssetNames
from lineage_bridge_dagster_tests.assets.world import EAST, World, many
from lineage_bridge_dagster_tests.code_server import LOCATION, served

KEY = "LineageBridgeComponent"


class Daemon:
    """A daemon that keeps the definitions it loaded first, although the server has reloaded since."""

    def __init__(self, instance: DagsterInstance, workspace: WorkspaceProcessContext, origin: Any) -> None:
        self.instance = instance
        self.workspace = workspace
        self.origin = origin
        location = workspace.create_request_context().get_code_location(LOCATION)
        self.repository = next(iter(location.get_repositories().values()))

    def store(self, w: World) -> str:
        """Store a newer state and reload the server without notifying the daemon; return the version."""
        version = StateStore.of(self.instance, KEY).store(w.discovery())
        assert reload_code_location(self.origin, self.instance).how == "reload_code_with_state"
        return version

    def submit(self, *keys: AssetKey, job: str = "materialize_lineage") -> SubmitRunRequestResult:
        request = RunRequest(run_key="a", job_name=job, asset_selection=list(keys) or None)
        return _submit_run_request(
            "00000000-0000-0000-0000-000000000001",
            request,
            self.workspace,
            self.repository.get_sensor("lineage_sensor"),
            {},
            logging.getLogger("daemon"),
            None,
        )


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    monkeypatch.setattr(DagsterInstance, "submit_run", lambda *_args: None)
    # The watcher would update the daemon at once; the tests are about the time before it does.
    monkeypatch.setattr(WorkspaceProcessContext, "_start_watch_thread", lambda *_args: None)
    code = LoadableTargetOrigin(
        module_name="lineage_bridge_dagster.definitions",
        attribute="defs",
        working_directory=str(Path(__file__).parents[2]),
    )
    with (
        DagsterInstance.local_temp(str(tmp_path)) as instance,
        served(instance, code) as (workspace, origin),
    ):
        yield Daemon(instance, workspace, origin)


# Dagster warns that its copy of the job differs from the server's, which is what is tested.
@pytest.mark.filterwarnings("ignore:Stored parent snapshot ID")
def test_run_of_tables_unknown_to_the_daemon_is_created_and_pinned_to_their_state(
    daemon: Daemon,
) -> None:
    """The daemon loaded no state at all, so it knows neither the assets nor a job that contains them."""
    assert daemon.repository.asset_graph.get_all_asset_keys() == {AssetNames().discovery_key}
    version = daemon.store(many(2))
    key, chain = AssetKey(["glue", EAST, "topic.00001"]), AssetKey(["upstream_chain", EAST, "topic.00001"])
    run = daemon.submit(key, chain).run
    assert isinstance(run, DagsterRun)
    assert run.asset_selection == {key, chain}
    plan = daemon.instance.get_execution_plan_snapshot(str(run.execution_plan_snapshot_id))
    assert plan.repository_load_data
    assert plan.repository_load_data.defs_state_info
    assert plan.repository_load_data.defs_state_info.get_version(KEY) == version
    assert daemon.instance.get_historical_job(str(run.job_snapshot_id))
