"""Runs that are forked, on a real instance and from a real code location."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dagster import DagsterEventType, DagsterInstance, DagsterRun, DagsterRunStatus, DefaultRunLauncher
from dagster._core.launcher.base import LaunchRunContext, WorkerStatus
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._daemon.monitoring.run_monitoring import execute_run_monitoring_iteration
from dagster_shared.record import copy

from lineage_bridge_dagster.dagster_internals.runs import is_of_this_python
from lineage_bridge_dagster.launcher import run_launcher
from lineage_bridge_dagster.launcher.client import ForkServer, ForkServerError
from lineage_bridge_dagster.launcher.process import PROCESS_TAG, RunProcess
from lineage_bridge_dagster.launcher.run_launcher import ForkServerRunLauncher
from lineage_bridge_dagster_tests.code_server import LOCATION, served

JOBS = Path(__file__).with_name("run_jobs.py")

#: Seconds until a run has ended: far more than it takes.
PATIENCE = 240

DAGSTER_YAML = """
telemetry: {enabled: false}
run_monitoring: {enabled: true}
run_launcher:
  module: lineage_bridge_dagster.launcher.run_launcher
  class: ForkServerRunLauncher
  config: {grpc_locations: [lineage_bridge_dagster]}
"""


class Platform:
    """An instance whose runs are forked, and a code location with jobs."""

    def __init__(self, instance: DagsterInstance, workspace: WorkspaceProcessContext) -> None:
        self.instance = instance
        self.workspace = workspace

    @property
    def launcher(self) -> ForkServerRunLauncher:
        launcher = self.instance.run_launcher
        assert isinstance(launcher, ForkServerRunLauncher)
        return launcher

    def launch(self, job: str) -> DagsterRun:
        """Launch a run of a job, as the daemon does."""
        run = self.create(job)
        self.instance.launch_run(run.run_id, self.workspace.create_request_context())
        return self.run(run)

    def create(self, job: str, host: str = "localhost") -> DagsterRun:
        """Create a run of a job whose code server is on a host."""
        location = self.workspace.create_request_context().get_code_location(LOCATION)
        repository = next(iter(location.get_repositories().values()))
        remote = repository.get_full_job(job)
        origin = remote.get_remote_origin()
        server = copy(origin.repository_origin.code_location_origin, host=host)
        repository_origin = copy(origin.repository_origin, code_location_origin=server)
        return self.instance.create_run(
            job_name=job,
            run_id=None,
            run_config={},
            resolved_op_selection=None,
            step_keys_to_execute=None,
            status=DagsterRunStatus.NOT_STARTED,
            tags={},
            root_run_id=None,
            parent_run_id=None,
            job_snapshot=remote.job_snapshot,
            execution_plan_snapshot=None,
            parent_job_snapshot=None,
            asset_selection=None,
            asset_check_selection=None,
            op_selection=None,
            remote_job_origin=copy(origin, repository_origin=repository_origin),
            job_code_origin=remote.get_python_origin(),
            asset_graph=None,
        )

    def run(self, run: DagsterRun) -> DagsterRun:
        found = self.instance.get_run_by_id(run.run_id)
        assert found is not None
        return found

    def health(self, run: DagsterRun) -> WorkerStatus:
        return self.launcher.check_run_worker_health(self.run(run)).status

    def monitor(self) -> None:
        """What the daemon does once a minute."""
        for error in execute_run_monitoring_iteration(self.workspace, logging.getLogger("monitoring")):
            assert error is None

    def process(self, run: DagsterRun) -> RunProcess:
        found = RunProcess.of_run(run.run_id, self.run(run).tags)
        assert found is not None
        return found

    def own_process(self) -> RunProcess:
        found = RunProcess.of(os.getpid(), "")
        assert found is not None
        return found

    def wait(self, run: DagsterRun, until: Callable[[DagsterRun], bool]) -> DagsterRun:
        end = time.monotonic() + PATIENCE
        while not until(found := self.run(run)):
            assert time.monotonic() < end, found.status
            time.sleep(0.1)
        return found

    def finished(self, run: DagsterRun) -> DagsterRunStatus:
        return self.wait(run, lambda found: found.is_finished).status

    def messages(self, run: DagsterRun) -> str:
        return "\n".join(entry.user_message or entry.message for entry in self.instance.all_logs(run.run_id))

    def facts(self, run: DagsterRun) -> dict[str, Any]:
        outputs = [
            entry.dagster_event.step_output_data.metadata
            for entry in self.instance.all_logs(run.run_id)
            if entry.dagster_event is not None
            and entry.dagster_event.event_type == DagsterEventType.STEP_OUTPUT
        ]
        return {name: value.value for name, value in outputs[0].items()}


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    home = tmp_path_factory.mktemp("dagster")
    (home / "dagster.yaml").write_text(DAGSTER_YAML)
    code = LoadableTargetOrigin(
        executable_path=sys.executable, python_file=str(JOBS), attribute="defs", working_directory=str(home)
    )
    with DagsterInstance.from_config(str(home)) as instance, served(instance, code) as (workspace, _):
        yield Platform(instance, workspace)


def test_runs_are_forks_of_one_process_that_has_imported_their_modules(platform: Platform) -> None:
    first, second = platform.launch("telling"), platform.launch("telling")
    assert platform.finished(first) == platform.finished(second) == DagsterRunStatus.SUCCESS
    facts, others = platform.facts(first), platform.facts(second)
    assert facts["pid"] == platform.process(first).pid != others["pid"]
    assert facts["parent"] == others["parent"] != os.getpid()
    assert facts["imported_before"]
    assert facts["interrupt"]


def test_runs_draw_samples_of_their_own(platform: Platform) -> None:
    """NumPy is imported, and seeded, before a run is forked."""
    platform.finished(platform.launch("telling"))
    first, second = platform.launch("telling"), platform.launch("telling")
    assert platform.finished(first) == platform.finished(second) == DagsterRunStatus.SUCCESS
    facts, others = platform.facts(first), platform.facts(second)
    assert facts["sample"] != others["sample"]
    assert facts["numpy_sample"] != others["numpy_sample"]


def test_run_whose_process_was_killed_fails_with_the_reason(platform: Platform) -> None:
    run = platform.launch("vanishing")
    assert platform.finished(run) == DagsterRunStatus.FAILURE
    assert "terminated by signal 9 (SIGKILL)" in platform.messages(run)


def test_run_can_be_terminated(platform: Platform) -> None:
    run = platform.launch("waiting")
    platform.wait(run, lambda found: "Executing steps" in platform.messages(found))
    assert platform.health(run) == WorkerStatus.RUNNING
    assert platform.launcher.terminate(run.run_id)
    assert platform.finished(run) == DagsterRunStatus.CANCELED
    assert not platform.launcher.terminate(run.run_id)


def test_monitoring_sees_that_a_process_is_gone(platform: Platform) -> None:
    run = platform.launch("telling")
    platform.finished(run)
    process = platform.process(run)
    platform.wait(run, lambda _: not process.is_alive)
    assert platform.health(run) == WorkerStatus.FAILED


def test_processes_that_cannot_be_seen_from_here_count_as_running(platform: Platform) -> None:
    run = platform.launch("telling")
    platform.finished(run)
    elsewhere = replace(platform.process(run), host="another").to_tag()
    platform.instance.add_run_tags(run.run_id, {PROCESS_TAG: elsewhere})
    assert platform.health(run) == WorkerStatus.RUNNING
    without = platform.create("telling")
    assert platform.health(without) == WorkerStatus.RUNNING


class Defaults:
    """Notes what is left to Dagster's default launcher."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.launched: list[str] = []
        monkeypatch.setattr(DefaultRunLauncher, "launch_run", self._launch)

    def _launch(self, context: LaunchRunContext) -> None:
        self.launched.append(context.dagster_run.run_id)


@pytest.fixture
def defaults(monkeypatch: pytest.MonkeyPatch) -> Defaults:
    return Defaults(monkeypatch)


def test_run_of_code_on_another_host_is_left_to_the_default_launcher(
    platform: Platform, defaults: Defaults
) -> None:
    run = platform.create("telling", host="code.internal")
    platform.launcher.launch_run(LaunchRunContext(run, None))
    assert defaults.launched == [run.run_id]


def test_run_of_another_python_is_left_to_the_default_launcher(
    platform: Platform, defaults: Defaults, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = platform.create("telling")
    monkeypatch.setattr(sys, "executable", "/opt/another/bin/python")
    platform.launcher.launch_run(LaunchRunContext(run, None))
    assert defaults.launched == [run.run_id]


def test_run_is_started_although_the_fork_server_cannot_be(
    platform: Platform, defaults: Defaults, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise ForkServerError("The run fork server has exited with code 1.")

    monkeypatch.setattr(ForkServer, "start", fail)
    monkeypatch.setattr(run_launcher, "_CLAIM_SECONDS", 0)
    run = platform.create("telling")
    platform.launcher.launch_run(LaunchRunContext(run, None))
    assert defaults.launched == [run.run_id]
    assert "has exited with code 1. Dagster's default launcher starts" in platform.messages(run)


def test_run_that_was_forked_all_the_same_is_not_started_twice(
    platform: Platform, defaults: Defaults, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ended between the fork and its answer."""
    run = platform.create("telling")
    tag = replace(platform.own_process(), run_id=run.run_id).to_tag()

    def fork_and_fail(*_: object) -> int:
        platform.instance.add_run_tags(run.run_id, {PROCESS_TAG: tag})
        raise ForkServerError("The run fork server has exited with code -9.")

    monkeypatch.setattr(ForkServer, "start", fork_and_fail)
    monkeypatch.setattr(run_launcher, "_CLAIM_SECONDS", 0)
    platform.launcher.launch_run(LaunchRunContext(run, None))
    assert defaults.launched == []


def test_code_server_that_is_not_named_is_left_to_the_default_launcher(
    platform: Platform, defaults: Defaults, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user, or a tunnel to another machine, may be behind a port of this one."""
    run = platform.create("telling")
    monkeypatch.setattr(platform.launcher, "_grpc_locations", frozenset())
    platform.launcher.launch_run(LaunchRunContext(run, None))
    assert defaults.launched == [run.run_id]


@pytest.mark.parametrize(("hosts", "is_ours"), [((), False), (("code",), True)])
def test_code_server_of_another_host_is_ours_only_where_it_is_named(
    platform: Platform, hosts: tuple[str, ...], is_ours: bool
) -> None:
    """In a container of the daemon's image, as in deploy/compose.yaml."""
    run = platform.create("telling")
    assert run.remote_job_origin is not None
    repository = run.remote_job_origin.repository_origin
    location = copy(repository.code_location_origin, host="code")
    origin = copy(run.remote_job_origin, repository_origin=copy(repository, code_location_origin=location))
    assert is_of_this_python(run._replace(remote_job_origin=origin), {LOCATION}, hosts) == is_ours


def test_run_of_another_machine_stays_as_it_is(platform: Platform) -> None:
    """Where it would be canceled while its process goes on."""
    run = platform.create("telling")
    elsewhere = replace(platform.own_process(), run_id=run.run_id, host="another")
    platform.instance.add_run_tags(run.run_id, {PROCESS_TAG: elsewhere.to_tag()})
    assert not platform.launcher.terminate(run.run_id)
    assert platform.run(run).status == DagsterRunStatus.NOT_STARTED
    assert "cannot be terminated from here" in platform.messages(run)


def test_run_whose_process_is_gone_is_canceled_at_once(platform: Platform) -> None:
    run = platform.create("telling")
    gone = replace(platform.own_process(), run_id=run.run_id, started=1)
    platform.instance.add_run_tags(run.run_id, {PROCESS_TAG: gone.to_tag()})
    assert platform.launcher.terminate(run.run_id)
    assert platform.run(run).status == DagsterRunStatus.CANCELED


def test_runs_go_on_when_their_launcher_ends_and_fail_when_their_process_does(platform: Platform) -> None:
    run = platform.launch("waiting")
    platform.wait(run, lambda found: "Executing steps" in platform.messages(found))
    platform.launcher.dispose()
    assert platform.finished(platform.launch("telling")) == DagsterRunStatus.SUCCESS
    platform.monitor()
    assert platform.run(run).status == DagsterRunStatus.STARTED
    process = platform.process(run)
    assert process.terminate(signal.SIGKILL)
    platform.wait(run, lambda _: not process.is_alive)
    platform.monitor()
    assert platform.run(run).status == DagsterRunStatus.FAILURE
    assert f"Process {process.pid} of the run is gone" in platform.messages(run)
