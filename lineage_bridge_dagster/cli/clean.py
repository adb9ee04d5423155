"""`lineage-bridge clean`: takes all that is ours out of Glue and of REST catalogs again."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import click

from lineage_bridge_dagster.cli.output import EXIT_FAILED, err
from lineage_bridge_dagster.cli.push import end_by_report
from lineage_bridge_dagster.text import first_few, plural


@click.command()
@click.option(
    "--table", "tables", multiple=True, metavar="DB.TABLE", help="Clean only this table; can be repeated."
)
@click.option("--dry-run", is_flag=True, help="Show the diff of each table and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
@click.option("--take-over", is_flag=True, help="Also clean tables whose lineage another instance owns.")
@click.option(
    "--component",
    default="",
    metavar="NAME",
    help="The component whose events of lineage are ended, if it has a name.",
)
@click.option(
    "--yes", is_flag=True, help="Do not ask for confirmation; without a terminal, none is asked for."
)
def clean(
    tables: tuple[str, ...], dry_run: bool, as_json: bool, take_over: bool, component: str, yes: bool
) -> None:
    """Take our lineage out again: the lineage_bridge.* parameters, and the block of the description.

    Everything else stays as it is, byte for byte. Without --table, every table of Glue and of the REST
    catalogs that carries our lineage is cleaned. Name a table of a REST catalog as
    CATALOG.NAMESPACE.TABLE. With push.business_context on, our forms in Glue's business context go as well.
    Switch the sensor and the schedules off first, or they write the lineage again.

    Receivers of OpenLineage and DataZone delete nothing. Without --table, and with DAGSTER_HOME set to the
    instance that keeps which runs are open there, these runs are ended.

    Exits 0 if nothing failed; 1 if a table or a receiver failed, a table belongs to another instance, or you
    answered no; 2 for wrong options or settings.

    \b
    Examples:
      lineage-bridge clean --dry-run
      lineage-bridge clean --table lkc-abc123.orders.v1
      lineage-bridge clean --table s3tables.sales.orders --dry-run
      lineage-bridge clean --yes --json | jq .counts
    """
    from lineage_bridge_dagster.catalogs.clean import Cleaning, clean_forms
    from lineage_bridge_dagster.catalogs.glue.client import glue_client
    from lineage_bridge_dagster.settings import Settings, with_owner

    settings = Settings.from_env(
        given={"push": {"take_over": take_over or None}}, groups=["aws", "push", "catalogs"]
    )
    client, push = glue_client(settings.aws), with_owner(settings.push)
    cleaning = Cleaning.of(client, settings.all_catalogs(), push)
    with err.status("Looking for lineage"):
        found = cleaning.find(tables or None)
    names = [name for here in found for name in here.names]
    forms = settings.push.business_context
    if (names or forms) and not dry_run and not yes and sys.stdin.isatty():
        count = plural(len(names), "table")
        also = ", and all of our forms in Glue's business context" if forms and not tables else ""
        question = f"Remove the lineage of {count} in {client.meta.region_name} ({first_few(names)}){also}?"
        click.confirm(question, abort=True, err=True)
    with err.status("Cleaning") as status:
        report = cleaning.remove(
            found,
            dry_run=dry_run,
            progress=lambda done, total, _result: status.update(f"Cleaning {done}/{total}"),
        )
        if forms:
            cleaned = clean_forms(client, push, tables or None, dry_run=dry_run)
            report = replace(report, business_context=cleaned)
    ended = bool(tables) or _end_runs(component, dry_run)
    end_by_report(report, dry_run, as_json=as_json, sql=settings.push.sql)
    if not ended or (report.business_context is not None and report.business_context.failed):
        raise SystemExit(EXIT_FAILED)


def _end_runs(component: str, dry_run: bool) -> bool:
    """End the runs that are open at receivers; False if one of them failed."""
    if not os.environ.get("DAGSTER_HOME"):
        return True
    from lineage_bridge_dagster.operations.receivers import end_runs

    report = end_runs(component, dry_run=dry_run)
    for receiver in report.receivers if report else ():
        err.print(f"Ends of runs for {receiver}", markup=False)
    return report is None or report.ok
