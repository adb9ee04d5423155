"""`lineage-bridge export`: the graph in the formats of others."""

from __future__ import annotations

from pathlib import Path

import click

from lineage_bridge_dagster.cli.graph import graph_option, load_or_discover, output_option
from lineage_bridge_dagster.cli.output import err, exit_by_coverage
from lineage_bridge_dagster.cli.readable import ReadableGroup


@click.group(cls=ReadableGroup)
def export() -> None:
    """Write the graph in the formats of others."""


@export.command()
@graph_option
@output_option
@click.option(
    "--account",
    default="",
    metavar="ID",
    help="The AWS account of Glue tables that tell none; by default that of the others.",
)
def openlineage(graph: Path | None, output: Path | None, account: str) -> None:
    """Write a run event of OpenLineage for each process and output, one JSON line per event.

    Processes are connectors, Flink statements, ksqlDB queries, Tableflow's tables and mirrors of topics. The
    id of a run depends on its content alone: as long as nothing changes, the same events are written again.

    \b
    Examples:
      lineage-bridge export openlineage --graph lineage_graph.json -o events.jsonl
      lineage-bridge export openlineage --graph graph | while read -r event; do
        curl -s -H 'Content-Type: application/json' -d "$event" http://localhost:5000/api/v1/lineage; done
    """
    import json

    from lineage_bridge_dagster.lineage.sql_policy import limited
    from lineage_bridge_dagster.openlineage.events import events
    from lineage_bridge_dagster.settings import Settings

    # A file may have been written with another setting.
    discovery = limited(load_or_discover(graph), Settings.from_env(groups=["push"]).push.sql)
    lines = (json.dumps(event, ensure_ascii=False) for event in events(discovery, account=account))
    if output is None:
        for line in lines:
            click.echo(line)
    else:
        from lineage_bridge_dagster.lineage.files import write_atomically

        count = write_atomically(output, (f"{line}\n" for line in lines))
        err.print(f"Wrote {count} events to {output}")
    if graph is None or len(discovery.coverage):
        exit_by_coverage(discovery.coverage)
