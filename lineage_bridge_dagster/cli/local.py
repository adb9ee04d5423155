"""`lineage-bridge local`: the embedded stack, where the `local` extra is installed."""

from __future__ import annotations

import click

from lineage_bridge_dagster.errors import ConfigurationError


def local_command() -> click.Command:
    """The command group of the embedded stack, or a command that names the missing package."""
    try:
        from lineage_bridge_dagster.embedded.commands import local
        from lineage_bridge_dagster.embedded.demo import demo
    except ModuleNotFoundError as error:
        package = error.name or ""
        if package.startswith("lineage_bridge_dagster"):
            raise
        return _unavailable(package)
    local.add_command(demo)
    return local


def _unavailable(package: str) -> click.Command:
    @click.command(
        "local",
        context_settings={"ignore_unknown_options": True},
        help="The embedded stack (needs the 'local' extra).",
    )
    @click.argument("_arguments", nargs=-1)
    def unavailable(_arguments: tuple[str, ...]) -> None:
        raise ConfigurationError(
            f"The embedded stack needs the package {package}.",
            hint="pip install 'lineage-bridge-dagster[local]'",
        )

    return unavailable
