"""`lineage-bridge extract`: writes a discovery as lineage_graph.json, or as a folder of Parquet files."""

from __future__ import annotations

from pathlib import Path

import click

from lineage_bridge_dagster.cli.graph import discover, output_option
from lineage_bridge_dagster.cli.output import err, exit_by_coverage, print_glue_tables


@click.command()
@output_option
@click.option(
    "--last",
    type=click.Path(path_type=Path, exists=True),
    help="An earlier lineage_graph.json or folder; what cannot be read now is carried over from it.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "parquet"]),
    default="json",
    show_default=True,
    help="Parquet is smaller and loads faster; --output then names a folder.",
)
def extract(output: Path | None, last: Path | None, form: str) -> None:
    """Discover everything and write lineage_graph.json.

    Prints the tables that Glue lacks and the coverage on stderr; exits 3 if a scope could not be read.

    \b
    Examples:
      lineage-bridge extract --output lineage_graph.json
      lineage-bridge extract | jq '.nodes[] | select(.node_type == "catalog_table")'
      lineage-bridge extract --format parquet --output graph
    """
    from lineage_bridge_dagster.lineage import graph_json

    if form == "parquet" and output is None:
        raise click.UsageError("--format parquet needs --output with the name of a folder.")
    discovery = discover(graph_json.load(last) if last else None)
    if output is None:
        click.echo(graph_json.dumps(discovery))
    else:
        if form == "parquet":
            # Imported here: JSON needs no PyArrow.
            from lineage_bridge_dagster.lineage.parquet_folder import dump_folder

            dump_folder(discovery, output)
        else:
            graph_json.dump(discovery, output)
        err.print(
            f"Wrote {len(discovery.graph.nodes)} nodes and {len(discovery.graph.edges)} edges to {output}"
        )
    print_glue_tables(discovery.graph)
    exit_by_coverage(discovery.coverage)
