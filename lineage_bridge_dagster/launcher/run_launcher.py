"""Dagster's run launcher for one machine, which forks runs instead of starting a Python for each.

A run of Dagster's default launcher is a new Python process: before its first step it imports Dagster, PySpark
and PyIceberg, which takes seconds. Here it is a fork of a process that has imported them. In `dagster.yaml`:

    run_launcher:
      module: lineage_bridge_dagster.launcher.run_launcher
      class: ForkServerRunLauncher

Runs of code that lives elsewhere, in another Python, in an image or on another host, are left to Dagster's
default launcher.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from typing import Any, Self

from dagster import DagsterRun, DagsterRunStatus, DefaultRunLauncher, Field

from lineage_bridge_dagster.dagster_internals import (
    CheckRunHealthResult,
    ConfigurableClassData,
    LaunchRunContext,
    WorkerStatus,
    execution_arguments,
    get_run_crash_explanation,
    is_of_this_python,
    working_directory,
)
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.launcher.client import ForkServer
from lineage_bridge_dagster.launcher.messages import Exited, Start
from lineage_bridge_dagster.launcher.modules import EVERY_RUN, LINEAGE_RUNS
from lineage_bridge_dagster.launcher.process import RunProcess

#: Tag of a run with its process. Dagster hides the tags of this prefix.
PROCESS_TAG = ".dagster/lineage_bridge_run_process"


class ForkServerRunLauncher(DefaultRunLauncher):
    """Forks the runs of code on this machine from one process, which is started with the first of them.

    Args:
        inst_data: where the launcher is configured.
        modules: further modules to import once instead of in each run. Their import must start no thread, and
            open no connection.
    """

    def __init__(self, inst_data: ConfigurableClassData | None = None, modules: tuple[str, ...] = ()) -> None:
        super().__init__(inst_data)
        self._groups = [group for group in (EVERY_RUN, LINEAGE_RUNS, modules) if group]
        self._lock = threading.Lock()
        self._server: ForkServer | None = None

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        about = "Further modules to import once instead of in each run, such as those of your own assets."
        return {"modules": Field([str], default_value=[], description=about)}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]) -> Self:
        return cls(inst_data, tuple(config_value["modules"]))

    def launch_run(self, context: LaunchRunContext) -> None:
        """Start a process that executes the run."""
        run = context.dagster_run
        # Elsewhere a fork of a process that has loaded the system's libraries is not safe.
        if sys.platform != "linux" or not is_of_this_python(run):
            super().launch_run(context)
            return
        arguments = execution_arguments(run, self._instance)
        try:
            pid = self._fork(Start(run.run_id, arguments, working_directory(run)))
        except LineageBridgeError as error:
            message = f"{error} The run is started by Dagster's default launcher."
            self._instance.report_engine_event(message, run, cls=type(self))
            super().launch_run(context)
            return
        process = RunProcess.of(pid)
        if process is not None:
            self._instance.add_run_tags(run.run_id, {PROCESS_TAG: process.to_tag()})

    def terminate(self, run_id: str) -> bool:
        """Ask a run's process to end; False if it has ended."""
        run = self._instance.get_run_by_id(run_id) if self.has_instance else None
        process = _process_of(run)
        if run is None or process is None:
            return bool(super().terminate(run_id))  # type: ignore[no-untyped-call]
        if run.is_finished:
            return False
        self._instance.report_run_canceling(run)
        if not process.is_here:
            message = f"Process {process.pid} is on {process.host}, where this run can be terminated."
            self._instance.report_engine_event(message, run, cls=type(self))
            return False
        return process.terminate()

    @property
    def supports_check_run_worker_health(self) -> bool:
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """Whether a run's process is there. One that cannot be seen from here counts as running."""
        process = _process_of(run)
        if process is None or not process.is_here or process.is_alive:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.FAILED, f"Process {process.pid} of the run is gone.")

    def dispose(self) -> None:
        """Let the fork server exit. Its runs go on."""
        with self._lock:
            if self._server is not None:
                self._server.close()
                self._server = None

    def _fork(self, start: Start) -> int:
        with self._lock:
            for _ in range(2):
                if self._server is None:
                    self._server = ForkServer(self._groups, self._note_exit)
                try:
                    pid = self._server.start(start)
                except LineageBridgeError:
                    self._server = None
                    raise
                if pid is not None:
                    return pid
                self._server.close()
                self._server = None
        raise LineageBridgeError("The imported files keep changing.")

    def _note_exit(self, exited: Exited) -> None:
        """Fail a run whose process has ended without saying so."""
        run = self._instance.get_run_by_id(exited.run_id) if self.has_instance else None
        if run is None or run.is_finished:
            return
        message = get_run_crash_explanation(f"The process of run {exited.run_id}", exited.code)
        self._instance.report_engine_event(message, run, cls=type(self))
        if run.status == DagsterRunStatus.CANCELING:
            self._instance.report_run_canceled(run)
        else:
            self._instance.report_run_failed(run)


def _process_of(run: DagsterRun | None) -> RunProcess | None:
    tag = run.tags.get(PROCESS_TAG) if run is not None else None
    return RunProcess.from_tag(tag) if tag else None
