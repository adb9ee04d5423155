"""`lineage-bridge migrate`: what an upgrade makes of what is stored, and the way back."""

from __future__ import annotations

import click

from lineage_bridge_dagster.cli.dagster_home import dagster_home
from lineage_bridge_dagster.cli.output import EXIT_FAILED, color


@click.command()
@click.option("--dry-run", is_flag=True, help="Only tell what would become of each; change nothing.")
@click.option(
    "--to-this-version",
    is_flag=True,
    help="Go back to the newest discovery that this version reads, after a newer version stored a later one.",
)
@click.option(
    "--namespace", default="lineage_bridge", show_default=True, help="The database of the lineage tables."
)
def migrate(dry_run: bool, to_this_version: bool, namespace: str) -> None:
    """Tell what this version makes of what the Dagster instance of DAGSTER_HOME and the catalog have stored.

    What an older version stored is read as it is, and stored in the current format with the next change. What
    a newer one stored is refused: install that version, or go back with --to-this-version.

    Exits 1 if something stored cannot be used.

    \b
    Examples:
      lineage-bridge migrate --dry-run                     before an upgrade, with the new version
      lineage-bridge migrate --to-this-version --dry-run   before going back
      lineage-bridge migrate --to-this-version
    """
    from dagster import DagsterInstance

    from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog
    from lineage_bridge_dagster.operations.stored_formats import (
        stored_cursors,
        stored_states,
        stored_tables,
        stored_totals,
    )
    from lineage_bridge_dagster.spark.chains.lineage_tables import COLUMNS
    from lineage_bridge_dagster.spark.session import SparkResource

    with DagsterInstance.from_config(str(dagster_home())) as instance:
        found = [
            *stored_states(instance, go_back=to_this_version, dry_run=dry_run or not to_this_version),
            *stored_cursors(instance),
            *stored_totals(instance),
        ]
    catalogs = SparkResource(lineage_catalog="", instance="").all_catalogs
    columns = {table: [name for name, _, _ in listed] for table, listed in COLUMNS.items()}
    found += stored_tables(open_catalog(catalogs, catalogs.lineage.name), namespace, columns)
    for each in found:
        line = f"{each.where}: {each.text}"
        click.echo(line if each.is_usable else click.style(line, fg="red"), color=color())
    if not all(each.is_usable for each in found):
        raise SystemExit(EXIT_FAILED)
