"""The graph that a command works on, read from a file or discovered, and the options for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage_bridge_dagster.cli.output import err
from lineage_bridge_dagster.errors import ConfigurationError

if TYPE_CHECKING:
    from lineage_bridge_dagster.config.settings import Settings
    from lineage_bridge_dagster.lineage.discovery import Discovery

graph_option = click.option(
    "--graph",
    type=click.Path(path_type=Path),
    help="A lineage_graph.json, or a folder with nodes.parquet and edges.parquet. "
    "Without it, everything is discovered first.",
)
output_option = click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write here instead of to stdout."
)


def load_or_discover(graph: Path | None) -> Discovery:
    """Read the graph's file or folder, or discover if there is none."""
    from lineage_bridge_dagster.lineage import graph_json

    return discover() if graph is None else graph_json.load(graph)


def discover(last: Discovery | None = None) -> Discovery:
    """Run a discovery on top of the last one, with progress on stderr.

    Raises:
        ConfigurationError: there is no Confluent key.
    """
    from lineage_bridge_dagster.discovery import discover as discovery

    settings = confluent_settings()
    with discovering() as progress:
        return discovery.discover(settings, last, progress=progress)


def confluent_settings(given: Mapping[str, Any] | None = None) -> Settings:
    """Read the settings of a discovery.

    Args:
        given: fields of `confluent` that take precedence; empty ones count as unset.

    Raises:
        ConfigurationError: there is no Confluent key, or a setting is malformed.
    """
    from lineage_bridge_dagster.config.settings import Settings

    settings = Settings.from_env(given={"confluent": given or {}})
    if not settings.confluent.credentials:
        raise ConfigurationError(
            "No Confluent key is set.",
            hint="Set LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY and ..._SECRET, in the environment or in .env; "
            "or pass a lineage_graph.json with --graph.",
        )
    return settings


@contextmanager
def discovering() -> Iterator[Callable[[str], None]]:
    """Show the progress of a discovery on stderr; yields the function that takes its lines."""
    with err.status("Discovering") as status:

        def progress(line: str) -> None:
            status.update(line)
            if not err.is_terminal:
                err.print(line, markup=False)

        yield progress
