"""`lineage-bridge local production`: the deployment of `deploy/` on the embedded stack."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
from rich.table import Table

from lineage_bridge_dagster.embedded.demo_progress import DemoProgress
from lineage_bridge_dagster.embedded.headless import (
    SENSOR_SETTINGS,
    out,
    port_option,
    print_line,
    timeout_option,
    wait_until_pushed,
    wipe_and_wait,
)
from lineage_bridge_dagster.embedded.paths import StackPaths
from lineage_bridge_dagster.embedded.production.deployment import NAMES, Production
from lineage_bridge_dagster.embedded.stack import Stack
from lineage_bridge_dagster.errors import LineageBridgeError

if TYPE_CHECKING:
    from dagster import DagsterInstance, RunRecord

#: The main job, which the sensor runs.
_JOB = "materialize_lineage"


@click.command()
@click.option(
    "--headless", is_flag=True, help="Run to completion, print what was pushed and by which runs, and exit."
)
@port_option
@timeout_option
def production(headless: bool, port: int, timeout: float) -> None:
    """Run the deployment of deploy/ on this machine: PostgreSQL, state in S3, processes of their own.

    \b
    Examples:
      lineage-bridge local production               the Dagster UI on http://127.0.0.1:3000
      lineage-bridge local production --headless    exits 0 only when the main job has pushed all lineage
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    stack = Stack(StackPaths.find().home)
    began, since = time.monotonic(), datetime.now(UTC)
    deployment = Production(stack, SENSOR_SETTINGS, port=None if headless or not port else port)
    try:
        stack.up(print_line, beside=deployment.prepare)
        progress = DemoProgress(deployment.log, print_line, began=began)
        progress.line("The stack and PostgreSQL are up. Starting the processes of Dagster")
        with deployment:
            os.environ.update(deployment.env)
            _show_processes(deployment)
            if headless:
                wait_until_pushed(stack, deployment, progress, timeout)
                # With data of an earlier start, the lineage is there before this deployment's first run.
                _wait_for_runs(deployment, since, timeout)
                wipe_and_wait(stack, deployment)
                _wait_for_runs(deployment, since, timeout)
                _show_runs(deployment, since)
            else:
                _watch(deployment, progress)
    except KeyboardInterrupt:
        out.print("Interrupted.")
    finally:
        deployment.stop()
        out.print("Stopping the stack. Its data is kept; lineage-bridge local reset removes it.")
        stack.down()


def _watch(deployment: Production, progress: DemoProgress) -> None:
    deployment.wait_until_ready()
    progress.line(f"The UI is ready: {deployment.url}. Logs: {deployment.log.parent}. Stop with Ctrl-C.")
    while True:
        deployment.check()
        progress.look()
        time.sleep(1)


def _show_processes(deployment: Production) -> None:
    shown = Table("process", "pid", "listens on", box=None, pad_edge=False)
    for name in NAMES:
        shown.add_row(name, str(deployment.pid(name)), deployment.addresses.get(name, "nothing"))
    out.print(shown)


def _wait_for_runs(deployment: Production, since: datetime, timeout: float) -> None:
    """Wait until the runs since then have ended, and the main job is one of them.

    Raises:
        LineageBridgeError: one has failed, or they have not ended in time.
    """
    until = time.monotonic() + timeout
    with deployment.instance() as instance:
        while True:
            runs = [record.dagster_run for record in _runs(instance, since)]
            if failed := [f"{run.job_name} ({run.run_id})" for run in runs if run.is_failure]:
                raise LineageBridgeError(f"Failed: {', '.join(failed)}.", hint=f"See {deployment.log}")
            if any(run.job_name == _JOB for run in runs) and all(run.is_finished for run in runs):
                return
            deployment.check()
            if time.monotonic() > until:
                raise LineageBridgeError(
                    f"{_JOB} has not ended after {timeout:.0f} s.", hint=f"See {deployment.log}"
                )
            time.sleep(1)


def _show_runs(deployment: Production, since: datetime) -> None:
    shown = Table("job", "status", "pid", "seconds", "logs in S3", box=None, pad_edge=False)
    with deployment.instance() as instance:
        for record in _runs(instance, since):
            run = record.dagster_run
            process = deployment.run_process(instance, run.run_id)
            began, ended = record.start_time, record.end_time
            shown.add_row(
                run.job_name,
                run.status.value,
                str(process.pid) if process else "",
                f"{ended - began:.0f}" if began and ended else "",
                str(len(deployment.log_objects(run.run_id))),
            )
    out.print(shown)
    print_line(f"Discoveries are in {deployment.state_path}. Logs of the processes: {deployment.log.parent}")


def _runs(instance: DagsterInstance, since: datetime) -> Sequence[RunRecord]:
    from dagster import RunsFilter

    return instance.get_run_records(RunsFilter(created_after=since), ascending=True)
