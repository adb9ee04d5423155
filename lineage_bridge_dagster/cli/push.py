"""`lineage-bridge push`: writes each table's upstream lineage into Glue."""

from __future__ import annotations

from pathlib import Path

import click

from lineage_bridge_dagster.cli.graph import graph_option, load_or_discover
from lineage_bridge_dagster.cli.output import err, exit_by_coverage
from lineage_bridge_dagster.cli.push_report import end_by_report


@click.command()
@graph_option
@click.option(
    "--table", "tables", multiple=True, metavar="DB.TABLE", help="Push only this table; can be repeated."
)
@click.option("--dry-run", is_flag=True, help="Show the diff of each table and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
@click.option("--parameters/--no-parameters", default=None, help="Write the lineage_bridge.* parameters.")
@click.option(
    "--description/--no-description", default=None, help="Write the lineage block of the description."
)
@click.option(
    "--take-over", is_flag=True, help="Also push to tables whose lineage another instance owns, and own them."
)
def push(
    graph: Path | None,
    tables: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    parameters: bool | None,
    description: bool | None,
    take_over: bool,
) -> None:
    """Write each table's upstream lineage into its Glue parameters and description.

    A table of another catalog gets it as Iceberg properties; name it as CATALOG.NAMESPACE.TABLE.

    A table that is in sync is not written. Other parameters and text are never changed.

    Exits 0 if no table failed; 1 if one failed, was refused or is unknown; 3 if none did, but the discovery
    was incomplete; 2 for wrong options or settings. A dry run exits likewise.

    \b
    Examples:
      lineage-bridge push --dry-run
      lineage-bridge push --graph lineage_graph.json --table lkc-abc123.orders.v1
      lineage-bridge push --table s3tables.sales.orders --dry-run
      lineage-bridge push --json | jq .counts
    """
    from lineage_bridge_dagster.catalogs.glue.client import glue_client
    from lineage_bridge_dagster.catalogs.push import push_tables
    from lineage_bridge_dagster.settings import Settings, with_owner

    settings = Settings.from_env(
        given={
            "push": {
                "set_parameters": parameters,
                "set_description": description,
                "take_over": take_over or None,
            }
        },
        groups=["aws", "push"],
    )
    push_settings = with_owner(settings.push)
    discovery = load_or_discover(graph)
    with err.status("Pushing") as status:
        report = push_tables(
            discovery,
            glue_client(settings.aws),
            lambda: Settings.from_env(groups=["catalogs"]).all_catalogs(),
            push_settings,
            tables=tables or None,
            dry_run=dry_run,
            progress=lambda done, total, _result: status.update(f"Pushing {done}/{total}"),
        )
    end_by_report(report, dry_run, as_json=as_json, sql=settings.push.sql)
    if graph is None or len(discovery.coverage):
        exit_by_coverage(discovery.coverage)
