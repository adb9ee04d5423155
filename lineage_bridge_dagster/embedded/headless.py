"""What a run without the UI waits for, with any Dagster on the embedded stack: all lineage, and a repair."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Protocol

import click
from rich.console import Console
from rich.table import Table

from lineage_bridge_dagster.embedded.arrived import Arrived, ArrivedTable
from lineage_bridge_dagster.embedded.dagster_process import is_listening
from lineage_bridge_dagster.embedded.demo_progress import DemoProgress
from lineage_bridge_dagster.embedded.stack import Stack
from lineage_bridge_dagster.errors import LineageBridgeError

#: Wiped lineage comes back while one watches.
SWEEP_MINUTES = "0.25"
#: Seconds until a repair must be done, with `--headless`.
_REPAIR_SECONDS = 180

#: Variables of Dagster, beside those that point at the stack.
SENSOR_SETTINGS = {
    "LINEAGE_BRIDGE_SENSORS": "on",
    "LINEAGE_BRIDGE_SENSOR_INTERVAL_SECONDS": "1",
    "LINEAGE_BRIDGE_SENSOR_SWEEP_MINUTES": SWEEP_MINUTES,
}

out = Console(highlight=False, soft_wrap=True)

port_option = click.option(
    "--port", type=int, default=3000, show_default=True, help="Port of the UI; 0 for any free one."
)
timeout_option = click.option(
    "--timeout",
    type=float,
    default=480,
    show_default=True,
    help="Seconds to wait for all lineage, with --headless.",
)


def print_line(text: str) -> None:
    """Print a text as it is."""
    out.print(text, markup=False)


class RunningDagster(Protocol):
    """Dagster on the stack, with its UI."""

    @property
    def port(self) -> int:
        """The port of the UI."""

    @property
    def url(self) -> str:
        """The UI."""

    @property
    def home(self) -> Path:
        """The folder of the instance."""

    @property
    def log(self) -> Path:
        """The output of sensors and runs."""

    def check(self) -> None:
        """Raise an error if a process has exited."""


def wait_until_pushed(stack: Stack, dagster: RunningDagster, progress: DemoProgress, timeout: float) -> None:
    """Wait until every table's lineage is in its catalog, and another push would change nothing."""
    began = time.monotonic()
    arrived = Arrived(stack)
    ready = False
    reason = "the UI has not started"
    while True:
        progress.look()
        if not ready and (ready := is_listening(dagster.port)):
            progress.line(f"The UI is ready: {dagster.url}")
        if ready and progress.is_look_due:
            wanted, pushed = arrived.wanted(), arrived.pushed()
            progress.arrived(pushed, len(wanted))
            reason = f"{len(pushed)} of {len(wanted)} tables have lineage"
            if wanted and len(pushed) == len(wanted):
                counts = arrived.would_push().counts
                # Those that take no lineage are skipped: tables in Confluent's own storage.
                if counts["unchanged"] == len(wanted) == sum(counts.values()) - counts["skipped"]:
                    break
                reason = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
        dagster.check()
        if time.monotonic() - began > timeout:
            raise LineageBridgeError(
                f"The lineage of some tables is not in their catalogs after {timeout:.0f} s: {reason}.",
                hint=f"See {dagster.log} and lineage-bridge local logs.",
            )
        time.sleep(1)
    _show(arrived.tables(), arrived.managed_rows())


def wipe_and_wait(stack: Stack, dagster: RunningDagster) -> None:
    """Wipe a table's lineage, wait until the sensor has repaired it, and print when it did."""
    from lineage_bridge_dagster.embedded import wiping

    tables = stack.tableflow_tables()
    wiped = wiping.wipe(os.environ, tables, ".".join(tables[0]))
    repaired = wiping.wait_for_repair(os.environ, dagster.home, wiped, _REPAIR_SECONDS, dagster.check)
    how = f"found by the sensor at {repaired.found:%H:%M:%S}" if repaired.found else "pushed by another run"
    out.print(
        f"{wiped.table}: lineage wiped at {wiped.at:%H:%M:%S} UTC, {how}, there again at "
        f"{repaired.at:%H:%M:%S}, after "
        f"{(repaired.at - wiped.at).total_seconds():.0f} s.",
        markup=False,
    )


def _show(tables: dict[str, ArrivedTable], managed: dict[str, int]) -> None:
    shown = Table("table", "source topics", "connectors", "version", "pushed", title="Pushed lineage")
    for name, table in sorted(tables.items()):
        parameter = table.parameters.get
        shown.add_row(
            name,
            parameter("lineage_bridge.source_topics", ""),
            parameter("lineage_bridge.source_connectors", ""),
            table.version,
            parameter("lineage_bridge.last_synced", ""),
        )
    Console(width=170).print(shown)
    in_bucket = sum(name.startswith("s3tables.") for name in tables)
    out.print(
        f"All {len(tables)} tables have their lineage: {len(tables) - in_bucket} in Glue, {in_bucket} in the "
        "S3 Tables bucket. Another push would change nothing."
    )
    rows = ", ".join(f"{name} ({count} rows)" for name, count in sorted(managed.items()))
    out.print(f"Tableflow's own catalog has {rows}: it takes no lineage, which is in Dagster.", markup=False)
    with contextlib.suppress(BrokenPipeError):
        out.file.flush()
