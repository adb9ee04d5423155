"""`lineage-bridge local`: the embedded stack, where the `local` extra is installed."""

from __future__ import annotations

import click

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.extras import needs


def local_command() -> click.Command:
    """The command group of the embedded stack, or a command that names the missing package."""
    try:
        with needs("local", "The embedded stack"):
            from lineage_bridge_dagster.embedded.commands import local
            from lineage_bridge_dagster.embedded.demo import demo
            from lineage_bridge_dagster.embedded.production.command import production
    except ConfigurationError as error:
        return _unavailable(error)
    local.add_command(demo)
    local.add_command(production)
    return local


def _unavailable(error: ConfigurationError) -> click.Command:
    @click.command(
        "local",
        context_settings={"ignore_unknown_options": True},
        help="The embedded stack (needs the 'local' extra).",
    )
    @click.argument("_arguments", nargs=-1)
    def unavailable(_arguments: tuple[str, ...]) -> None:
        raise error

    return unavailable
