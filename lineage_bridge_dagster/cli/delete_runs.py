"""`lineage-bridge delete-runs`: deletes old runs of a Dagster instance that nothing shows any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from lineage_bridge_dagster.cli.dagster_home import dagster_home
from lineage_bridge_dagster.cli.output import err

if TYPE_CHECKING:
    from lineage_bridge_dagster.automation.run_retention import RetentionReport


@click.command("delete-runs")
@click.option(
    "--older-than",
    "days",
    type=click.FloatRange(min=0, min_open=True),
    required=True,
    metavar="DAYS",
    help="Age of a run in days, since it ended, from which it is deleted.",
)
@click.option("--dry-run", is_flag=True, help="Only tell how many runs would be deleted; delete none.")
@click.option(
    "--job",
    "jobs",
    multiple=True,
    help="A job whose runs are deleted. May be given several times. Default: the component's own jobs.",
)
@click.option("--all-jobs", is_flag=True, help="Delete the runs of every job of the Dagster instance.")
def delete_runs(days: float, dry_run: bool, jobs: Sequence[str], all_jobs: bool) -> None:
    """Delete old runs of the Dagster instance of DAGSTER_HOME, with their events, check results and logs.

    A run stays if it has not finished, if it is the newest of its job, schedule, sensor or partition, or if
    an asset shows an event or a check result of it. Daemon, webservers and runs may go on. Where it is
    interrupted, the next call continues.

    The job lineage_upkeep does the same with sensor.run_days. It also knows which assets are gone, whose last
    runs this command keeps.

    \b
    Examples:
      lineage-bridge delete-runs --older-than 30 --dry-run
      lineage-bridge delete-runs --older-than 30
      lineage-bridge delete-runs --older-than 90 --job eu_refresh --job eu_push
    """
    from dagster import DagsterInstance

    from lineage_bridge_dagster.automation.old_runs import delete_old_runs
    from lineage_bridge_dagster.automation.run_retention import RunRetention, retention_sentence
    from lineage_bridge_dagster.specs.names import AssetNames

    if jobs and all_jobs:
        raise click.UsageError("Give either --job or --all-jobs.")

    def progress(report: RetentionReport) -> None:
        err.print(retention_sentence(report, dry_run=dry_run), markup=False)

    retention = RunRetention(days, None if all_jobs else frozenset(jobs or AssetNames().jobs))
    with DagsterInstance.from_config(str(dagster_home())) as instance:
        report = delete_old_runs(instance, retention, dry_run=dry_run, progress=progress)
    click.echo(retention_sentence(report, dry_run=dry_run))
    for job, count in sorted(report.deleted.items()):
        click.echo(f"  {job}: {count:,}")
    if report.logs_problem:
        click.echo(f"What the runs had printed was not deleted: {report.logs_problem}", err=True)
