"""How commands that write to Glue print what they did, table by table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from lineage_bridge_dagster.cli.output import EXIT_FAILED, color

if TYPE_CHECKING:
    from lineage_bridge_dagster.lineage.push_results import PushReport


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
