"""The demo on the embedded stack: `lineage-bridge local demo`.

Starts the stack, and Dagster with its sensors on, and does nothing else: all lineage that arrives in Glue and
in the S3 Tables bucket was pushed by the sensors.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time

import click

from lineage_bridge_dagster.embedded.arrived import Arrived
from lineage_bridge_dagster.embedded.dagster_process import DagsterProcess, free_port, is_listening
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
from lineage_bridge_dagster.embedded.stack import Stack
from lineage_bridge_dagster.errors import LineageBridgeError


@click.command()
@click.option(
    "--headless", is_flag=True, help="Without the UI: run to completion, print what was pushed, and exit."
)
@port_option
@timeout_option
@click.option("--keep", is_flag=True, help="Leave the stack running afterwards.")
def demo(headless: bool, port: int, timeout: float, keep: bool) -> None:
    """Run a complete platform on this machine, in which the sensors push all lineage to its catalogs.

    \b
    Examples:
      lineage-bridge local demo               the Dagster UI on http://127.0.0.1:3000
      lineage-bridge local demo --headless    exits 0 only when every table's lineage is pushed
    """
    # When the terminal closes or a supervisor stops the demo, the stack is stopped too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    stack = Stack(StackPaths.find().home)
    ui_port = free_port() if headless or not port else port
    began = time.monotonic()
    try:
        with contextlib.ExitStack() as running:
            dagster = DagsterProcess(stack.paths, {}, ui_port)

            def start_dagster() -> None:
                dagster.env = {**stack.env(), **SENSOR_SETTINGS}
                running.enter_context(dagster)

            # Dagster loads while the stack starts; only its sensors have to wait for the APIs.
            stack.up(print_line, beside=start_dagster)
            os.environ.update(stack.env())
            progress = DemoProgress(dagster.log, print_line, began=began)
            progress.line("The stack is up. Starting Dagster's sensors")
            dagster.start_sensors()
            if headless:
                wait_until_pushed(stack, dagster, progress, timeout)
                wipe_and_wait(stack, dagster)
            else:
                _show_ui(stack, dagster, progress)
    except KeyboardInterrupt:
        out.print("Interrupted.")
    finally:
        if not keep:
            out.print("Stopping the stack. Its data is kept; lineage-bridge local reset removes it.")
            stack.down()


def _show_ui(stack: Stack, dagster: DagsterProcess, progress: DemoProgress) -> None:
    """Show the progress, what to try once the UI has loaded, and then only what happens to lineage."""
    arrived = Arrived(stack)
    shown = complete = False
    while True:
        dagster.check()
        progress.look()
        if not shown and is_listening(dagster.port):
            progress.line(f"The UI is ready: {dagster.url}")
            print_line(_what_to_try(stack, dagster))
            shown = True
        if shown and not complete and progress.is_look_due:
            # One may break an API meanwhile, to see what happens.
            with contextlib.suppress(LineageBridgeError):
                pushed, wanted = arrived.pushed(), arrived.wanted()
                progress.arrived(pushed, len(wanted))
                if complete := bool(wanted) and pushed >= wanted:
                    progress.line("All tables have their lineage")
        time.sleep(1)


def _what_to_try(stack: Stack, dagster: DagsterProcess) -> str:
    others = stack.topics_without_tableflow()
    topic = others[0] if others else "TOPIC"
    command = "lineage-bridge" if shutil.which("lineage-bridge") == sys.argv[0] else sys.argv[0]
    return f"""
The Dagster UI: {dagster.url}

What to try
  1. {dagster.url}/asset-groups : open a group, and follow a table upstream to its sources: one in Glue, one
     of the S3 Tables bucket (sales), or one that only Tableflow's own catalog has (inventory-products).
  2. {dagster.url}/automation : each tick of the lineage sensor reports what it saw and did.
  3. In a second terminal, give another topic a table, and watch its asset appear and its lineage be pushed:
       {command} local enable-tableflow {topic}
  4. Take a table's lineage away, and watch it come back:
       {command} local wipe analytics_eu.orders.v1
  5. Compare what is in Glue with what would be pushed:
       set -a; . {stack.home / "stack.env"}; set +a; {command} push --dry-run

Logs: {dagster.log.parent}   Data: {stack.home}   Stop with Ctrl-C.
"""
