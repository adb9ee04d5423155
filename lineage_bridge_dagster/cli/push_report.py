"""How commands that write to Glue print what they did, table by table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lineage_bridge_dagster.cli.output import color

if TYPE_CHECKING:
    from lineage_bridge_dagster.lineage.push_results import PushReport


def print_report(report: PushReport, dry_run: bool) -> None:
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
