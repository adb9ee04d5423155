"""Commands that print an error that a user can act on as one message."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from lineage_bridge_dagster.cli.environment import set_log_level, warn_of_unread_variables
from lineage_bridge_dagster.cli.output import EXIT_FAILED, err
from lineage_bridge_dagster.config.env_file import load_env_file
from lineage_bridge_dagster.errors import LineageBridgeError

HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}


class ReadableCommand(click.Command):
    """Prints a domain error as one clear message, and exits with its code. Reads `.env` before it runs."""

    def invoke(self, ctx: click.Context) -> Any:
        # boto3 reads AWS's own variables from the environment only.
        load_env_file()
        if ctx.parent is None:
            set_log_level(os.environ)
            warn_of_unread_variables(os.environ)
        try:
            return super().invoke(ctx)
        except LineageBridgeError as error:
            err.print(f"Error: {error}", style="red", markup=False)
            ctx.exit(error.exit_code)
        except BrokenPipeError:
            # The reader closed the pipe (`| head`), so an error message has no reader either.
            sys.stderr.close()
            ctx.exit(EXIT_FAILED)


class ReadableGroup(ReadableCommand, click.Group):
    """The same for a group and all of its commands."""
