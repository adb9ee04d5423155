"""`lineage-bridge chains`: the upstream chains of all Glue tables."""

from __future__ import annotations

from pathlib import Path

import click

from lineage_bridge_dagster.cli.graph import graph_option, load_or_discover, output_option
from lineage_bridge_dagster.cli.output import err, exit_by_coverage


@click.command()
@graph_option
@output_option
def chains(graph: Path | None, output: Path | None) -> None:
    """Write the upstream chain of every Glue table, one JSON line per table.

    \b
    Examples:
      lineage-bridge chains --graph lineage_graph.json --output chains.jsonl
      lineage-bridge chains | jq -c 'select(.hops | length > 10) | .table'
    """
    from lineage_bridge_dagster.lineage.chains import chain_lines
    from lineage_bridge_dagster.lineage.garbage import no_garbage_collection
    from lineage_bridge_dagster.settings import Settings

    sql = Settings.from_env(groups=["push"]).push.sql
    discovery = load_or_discover(graph)
    lines = chain_lines(discovery.graph, sql)
    with no_garbage_collection():
        if output is None:
            for line in lines:
                click.echo(line)
        else:
            from lineage_bridge_dagster.lineage.files import write_atomically

            count = write_atomically(output, (line + "\n" for line in lines))
            err.print(f"Wrote {count} chains to {output}")
    if graph is None or len(discovery.coverage):
        exit_by_coverage(discovery.coverage)
