"""`lineage-bridge metrics`: an exporter for Prometheus."""

from __future__ import annotations

import logging
import sys

import click

from lineage_bridge_dagster.cli.dagster_home import dagster_home
from lineage_bridge_dagster.cli.output import err
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.extras import needs


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=9464, show_default=True, type=click.IntRange(0, 65535))
@click.option("--once", is_flag=True, help="Print the page on stdout and end, as for a textfile collector.")
@click.option(
    "--max-topics",
    default=500,
    show_default=True,
    type=click.IntRange(min=0),
    help="Loaded topics of a component that have a series of their own: those with the greatest lag.",
)
def metrics(host: str, port: int, once: bool, max_topics: int) -> None:
    """Export metrics of the Dagster instance in DAGSTER_HOME to Prometheus, at /metrics.

    One process serves the whole installation: it computes every page from what code servers, daemon and runs
    store in Dagster's database, where the totals are kept, too. It needs the database and no key. If the
    database cannot be read, a scrape is answered with 503.

    \b
    Examples:
      lineage-bridge metrics
      lineage-bridge metrics --host 0.0.0.0 --port 9464      in a container
      lineage-bridge metrics --once > /var/lib/node_exporter/lineage_bridge.prom
    """
    with needs("metrics", "The exporter of metrics"):
        from lineage_bridge_dagster.operations.metrics.exporter import (
            InstanceCollector,
            registry_of,
            server_of,
        )
    from dagster import DagsterInstance
    from prometheus_client import generate_latest

    with DagsterInstance.from_config(str(dagster_home())) as instance:
        collector = InstanceCollector(instance, max_topics)
        if once:
            try:
                page = generate_latest(registry_of(collector))
            except Exception as error:
                raise LineageBridgeError(
                    f"The storage of the Dagster instance could not be read: {type(error).__name__}.",
                    hint="Check that the database of dagster.yaml answers, and its password.",
                ) from error
            sys.stdout.buffer.write(page)
            return
        logging.basicConfig(level=logging.WARNING)
        try:
            server = server_of(collector, host, port)
        except OSError as error:
            raise LineageBridgeError(
                f"The exporter cannot listen on {host}:{port}: {error}.", hint="Choose another --port."
            ) from error
        with server:
            err.print(f"Metrics at http://{host}:{server.server_port}/metrics", markup=False)
            server.serve_forever()
