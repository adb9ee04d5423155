"""Commands that print an error that a user can act on as one message."""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Mapping
from typing import Any

import click
from rich.logging import RichHandler

from lineage_bridge_dagster.cli.output import EXIT_FAILED, err
from lineage_bridge_dagster.config.env_file import load_env_file
from lineage_bridge_dagster.config.prefix import LOG_LEVEL, PREFIX
from lineage_bridge_dagster.errors import LineageBridgeError

#: Errors of a disk without room, of a quota, and of a file that may not grow.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def set_log_level(variables: Mapping[str, str]) -> None:
    """Log to stderr from the level of `LINEAGE_BRIDGE_LOG_LEVEL` on; an unknown level is warned of.

    Only this package's log: those of HTTP and AWS clients may contain keys.
    """
    level = variables.get(LOG_LEVEL, "").strip().upper()
    if not level:
        return
    if level not in _LEVELS:
        err.print(
            f"{LOG_LEVEL} is not a level: use one of {', '.join(_LEVELS)}.", style="yellow", markup=False
        )
        return
    package = logging.getLogger("lineage_bridge_dagster")
    package.setLevel(level)
    if not any(isinstance(handler, RichHandler) for handler in package.handlers):
        package.addHandler(RichHandler(console=err, show_path=False, markup=False))


def warn_of_unread_variables(variables: Mapping[str, str]) -> None:
    """Print a warning for each variable with our prefix that nothing reads."""
    if not any(name.startswith(PREFIX) for name in variables):
        return
    from lineage_bridge_dagster.config.unread_variables import unread_variables

    for warning in unread_variables(variables):
        err.print(f"Warning: {warning}", style="yellow", markup=False)


HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}


class ReadableCommand(click.Command):
    """Prints a domain error as one clear message, and exits with its code. Reads `.env` before it runs."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            # boto3 reads AWS's own variables from the environment only.
            load_env_file()
            if ctx.parent is None:
                set_log_level(os.environ)
                warn_of_unread_variables(os.environ)
            return super().invoke(ctx)
        except LineageBridgeError as error:
            err.print(f"Error: {error}", style="red", markup=False)
            ctx.exit(error.exit_code)
        except BrokenPipeError:
            # The reader closed the pipe (`| head`), so an error message has no reader either.
            sys.stderr.close()
            ctx.exit(EXIT_FAILED)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            text = (
                f"Error: The output cannot be written: {error.strerror}.\n  -> Make room, or write elsewhere."
            )
            err.print(text, style="red", markup=False)
            ctx.exit(EXIT_FAILED)


class ReadableGroup(ReadableCommand, click.Group):
    """The same for a group and all of its commands."""
