"""`lineage-bridge push`: writes each table's upstream lineage into Glue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage_bridge_dagster.cli.graph import graph_option, load_or_discover
from lineage_bridge_dagster.cli.output import EXIT_FAILED, color, err, exit_by_coverage

if TYPE_CHECKING:
    from lineage_bridge_dagster.lineage.push_results import PushReport


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


def end_by_report(report: PushReport, dry_run: bool, *, as_json: bool, sql: str) -> None:
    """Print what was done, table by table or as one JSON object, and exit if a table failed."""
    if as_json:
        click.echo(json.dumps(report.to_json(sql), ensure_ascii=False))
    else:
        _print_report(report, dry_run)
        if report.business_context is not None:
            click.echo("\nIn Glue's business context (preview):")
            _print_report(report.business_context, dry_run)
    if report.failed:
        raise SystemExit(EXIT_FAILED)


def _print_report(report: PushReport, dry_run: bool) -> None:
    """Print each table's outcome, its diff in a dry run, and the number of tables by outcome."""
    from lineage_bridge_dagster.lineage.push_results import PushStatus

    for result in report.results:
        click.echo(f"{result.status:<10} {result.name}" + (f"  {result.reason}" if result.reason else ""))
        if result.hint and (not result.ok or result.status is PushStatus.SKIPPED):
            click.echo(f"{'':<10} -> {result.hint}")
        if dry_run and result.diff:
            for line in result.diff:
                click.secho(f"    {line}", fg={"+": "green", "-": "red"}.get(line[:1]), color=color())
    would = "would be " if dry_run else ""
    click.echo(
        ", ".join(
            f"{count} {would * (status == 'updated')}{status}" for status, count in report.counts.items()
        )
    )
