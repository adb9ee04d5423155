"""The command line's entry point: the group of all commands."""

from __future__ import annotations

import click

from lineage_bridge_dagster.cli.chains import chains
from lineage_bridge_dagster.cli.clean import clean
from lineage_bridge_dagster.cli.collect import collect
from lineage_bridge_dagster.cli.connectors import connectors
from lineage_bridge_dagster.cli.delete_runs import delete_runs
from lineage_bridge_dagster.cli.doctor import doctor
from lineage_bridge_dagster.cli.export import export
from lineage_bridge_dagster.cli.extract import extract
from lineage_bridge_dagster.cli.iam_policy import iam_policy
from lineage_bridge_dagster.cli.impact import impact
from lineage_bridge_dagster.cli.init import init
from lineage_bridge_dagster.cli.local import local_command
from lineage_bridge_dagster.cli.metrics import metrics
from lineage_bridge_dagster.cli.migrate import migrate
from lineage_bridge_dagster.cli.openlineage import openlineage
from lineage_bridge_dagster.cli.push import push
from lineage_bridge_dagster.cli.readable import HELP_OPTIONS, ReadableGroup
from lineage_bridge_dagster.cli.setup import setup
from lineage_bridge_dagster.cli.sql import sql
from lineage_bridge_dagster.cli.store import store
from lineage_bridge_dagster.cli.topics import topics


class _Commands(ReadableGroup):
    """Imports the embedded stack, which takes longer than all else, only for its commands and for help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), "local"])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return local_command() if cmd_name == "local" else super().get_command(ctx, cmd_name)


@click.group(cls=_Commands, context_settings=HELP_OPTIONS)
@click.version_option(package_name="lineage-bridge-dagster")
def main() -> None:
    """Upstream lineage of Confluent Tableflow tables, in AWS Glue.

    Reads LINEAGE_BRIDGE_* variables, AWS's own, and the .env file of this folder or of its project.

    \b
    Examples:
      lineage-bridge local demo             a complete platform on this machine
      lineage-bridge extract -o lineage_graph.json
      lineage-bridge doctor                 what is wrong, and what to do
      lineage-bridge push --dry-run         show what would be written, table by table
    """


for _command in (
    extract,
    export,
    chains,
    store,
    push,
    clean,
    collect,
    openlineage,
    sql,
    connectors,
    impact,
    topics,
    iam_policy,
    init,
    setup,
    doctor,
    metrics,
    migrate,
    delete_runs,
):
    main.add_command(_command)
