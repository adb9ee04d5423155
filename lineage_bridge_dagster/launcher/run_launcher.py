"""Dagster's run launcher for one machine, which forks runs instead of starting a Python for each.

A run of Dagster's default launcher is a new Python process: before its first step it imports Dagster, PySpark
and PyIceberg, which takes seconds. Here it is a fork of a process that has imported them. In `dagster.yaml`:

    run_launcher:
      module: lineage_bridge_dagster.launcher.run_launcher
      class: ForkServerRunLauncher

Runs of code that lives elsewhere, in another Python, in an image or on another host, are left to Dagster's
default launcher. Forked runs are processes below the daemon: what stops all of its processes stops them, too.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Self

from dagster import DagsterRun, DagsterRunStatus, DefaultRunLauncher, Field, StringSource

from lineage_bridge_dagster.dagster_internals.instance import ConfigurableClassData
from lineage_bridge_dagster.dagster_internals.runs import (
    CheckRunHealthResult,
    LaunchRunContext,
    WorkerStatus,
    execution_arguments,
    get_run_crash_explanation,
    is_of_this_python,
)
from lineage_bridge_dagster.launcher.client import ForkServer, ForkServerError
from lineage_bridge_dagster.launcher.messages import Exited, Start
from lineage_bridge_dagster.launcher.modules import MODULES
from lineage_bridge_dagster.launcher.process import RunProcess

#: Seconds in which a process that was forked has tagged its run.
_CLAIM_SECONDS = 2.0


class ForkServerRunLauncher(DefaultRunLauncher):
    """Forks the runs of code on this machine from one process, which is started with the first of them.

    Args:
        inst_data: where the launcher is configured.
        modules: further modules to import once instead of in each run.
        grpc_locations: code locations on this machine whose code server Dagster does not start itself.
        grpc_hosts: hosts of such code servers, if they are containers of the daemon's image.
    """

    def __init__(
        self,
        inst_data: ConfigurableClassData | None = None,
        modules: Sequence[str] = (),
        grpc_locations: Sequence[str] = (),
        grpc_hosts: Sequence[str] = (),
    ) -> None:
        super().__init__(inst_data)
        self._modules = (*MODULES, *modules)
        self._grpc_locations = frozenset(grpc_locations)
        self._grpc_hosts = frozenset(grpc_hosts)
        self._lock = threading.Lock()
        self._server: ForkServer | None = None

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        modules = (
            "Further modules to import once instead of in each run. Their import must start no thread and "
            "open no connection. When one of their files changes, the next run imports all of them again."
        )
        locations = (
            "Names of code locations with a `grpc_server` in workspace.yaml whose server runs on this "
            "machine, with the daemon's user, working directory and environment variables. Code locations "
            "whose server Dagster starts itself need not be named."
        )
        hosts = (
            "Hosts by which the code servers of `grpc_locations` are reached, if these run in containers of "
            "their own, with the image and the variables of the daemon's."
        )
        return {
            "modules": Field([str], default_value=[], description=modules),
            "grpc_locations": Field([str], default_value=[], description=locations),
            "grpc_hosts": Field([StringSource], default_value=[], description=hosts),
        }

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]) -> Self:
        return cls(
            inst_data, config_value["modules"], config_value["grpc_locations"], config_value["grpc_hosts"]
        )

    def launch_run(self, context: LaunchRunContext) -> None:
        """Start a process that executes the run."""
        run = context.dagster_run
        # Elsewhere a fork of a process that has loaded the system's libraries is not safe.
        if sys.platform != "linux" or not is_of_this_python(run, self._grpc_locations, self._grpc_hosts):
            super().launch_run(context)
            return
        try:
            self._fork(Start(run.run_id, execution_arguments(run, self._instance)))
        except ForkServerError as error:
            # The server may have forked before it ended.
            time.sleep(_CLAIM_SECONDS)
            if (process := self._process_of(run.run_id)) is not None and process.is_alive:
                return
            message = f"{error} Dagster's default launcher starts the run."
            self._instance.report_engine_event(message, run, cls=type(self))
            super().launch_run(context)

    def terminate(self, run_id: str) -> bool:
        """Ask a run's process to end. Returns whether it does, or has already."""
        run = self._instance.get_run_by_id(run_id) if self.has_instance else None
        process = RunProcess.of_run(run_id, run.tags) if run is not None else None
        if run is None or process is None:
            return bool(super().terminate(run_id))  # type: ignore[no-untyped-call]
        if run.is_finished:
            return False
        if not process.is_here:
            message = (
                f"The run cannot be terminated from here: its process {process.pid} is on {process.host}."
            )
            self._instance.report_engine_event(message, run, cls=type(self))
            return False
        self._instance.report_run_canceling(run)
        if not process.terminate():
            self._instance.report_run_canceled(run, f"Process {process.pid} of the run was gone already.")
        return True

    @property
    def supports_check_run_worker_health(self) -> bool:
        return True

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        """Whether a run's process is there. One that cannot be seen from here counts as running."""
        process = RunProcess.of_run(run.run_id, run.tags)
        if process is None or not process.is_here or process.is_alive:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        return CheckRunHealthResult(WorkerStatus.FAILED, f"Process {process.pid} of the run is gone.")

    def dispose(self) -> None:
        """Let the fork server exit. The processes of its runs do not."""
        with self._lock:
            if self._server is not None:
                self._server.close()
                self._server = None

    def _fork(self, start: Start) -> None:
        with self._lock:
            for _ in range(2):
                if self._server is None:
                    self._server = ForkServer(self._modules, self._note_exit)
                try:
                    pid = self._server.start(start)
                except ForkServerError:
                    self._server = None
                    raise
                if pid is not None:
                    return
                self._server.close()
                self._server = None
        raise ForkServerError("The files that the run fork server imports keep changing.")

    def _process_of(self, run_id: str) -> RunProcess | None:
        run = self._instance.get_run_by_id(run_id)
        return None if run is None else RunProcess.of_run(run_id, run.tags)

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
