"""Whether the programs of a deployment accept a command, without running it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click
from dagster._cli import create_dagster_cli
from dagster._daemon.cli import create_dagster_daemon_cli

from lineage_bridge_dagster.cli.main import main


def _webserver() -> click.Command:
    # Its import takes most of a second, which every worker would spend to collect the tests.
    from dagster_webserver.cli import create_dagster_webserver_cli

    return create_dagster_webserver_cli()


_PROGRAMS: dict[str, Callable[[], click.Command]] = {
    "dagster": create_dagster_cli,
    "dagster-daemon": create_dagster_daemon_cli,
    "dagster-webserver": _webserver,
    "lineage-bridge": lambda: main,
}


def accepted(command: Sequence[str]) -> str:
    """The names of the command and its subcommands, once each option has been parsed.

    Raises:
        click.UsageError: an option or argument is unknown, missing or malformed.
    """
    program, *arguments = command
    names = [program]
    found: click.Command = _PROGRAMS[program]()
    while isinstance(found, click.Group):
        context = found.make_context(names[-1], list(arguments))
        name, inner, arguments = found.resolve_command(context, list(arguments))
        assert inner is not None
        names.append(str(name))
        found = inner
    found.make_context(names[-1], list(arguments))
    return " ".join(names)
