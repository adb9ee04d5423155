"""The command line's entry point: the group of all commands."""

from __future__ import annotations

import sys
from typing import Any

import click
from dotenv import find_dotenv, load_dotenv

from lineage_bridge_dagster.cli.chains import chains
from lineage_bridge_dagster.cli.extract import extract
from lineage_bridge_dagster.cli.local import local_command
from lineage_bridge_dagster.cli.output import EXIT_FAILED, err
from lineage_bridge_dagster.cli.push import push
from lineage_bridge_dagster.cli.sql import sql
from lineage_bridge_dagster.errors import LineageBridgeError


class _Group(click.Group):
    """Prints a domain error as one clear message, and exits with its code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except LineageBridgeError as error:
            err.print(f"Error: {error}", style="red", markup=False)
            ctx.exit(error.exit_code)
        except BrokenPipeError:
            # The reader closed the pipe (`| head`), so an error message has no reader either.
            sys.stderr.close()
            ctx.exit(EXIT_FAILED)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lineage-bridge-dagster")
def main() -> None:
    """Upstream lineage of Confluent Tableflow tables, in AWS Glue.

    Reads LINEAGE_BRIDGE_* variables, AWS's own, and a .env file in this folder or above it.

    \b
    Examples:
      lineage-bridge local demo             a complete platform on this machine
      lineage-bridge extract -o lineage_graph.json
      lineage-bridge push --dry-run         show what would be written, table by table
    """
    # boto3 reads AWS's own variables from the environment only.
    load_dotenv(find_dotenv(usecwd=True))


for _command in (extract, chains, push, sql, local_command()):
    main.add_command(_command)
