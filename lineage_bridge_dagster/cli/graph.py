"""The graph that a command works on, read from a file or discovered, and the options for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage_bridge_dagster.cli.output import err

if TYPE_CHECKING:
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
    from lineage_bridge_dagster.discovery.discover import discovery_settings

    settings = discovery_settings()
    with discovering() as progress:
        return discovery.discover(settings, last, progress=progress)


@contextmanager
def discovering() -> Iterator[Callable[[str], None]]:
    """Show the progress of a discovery on stderr; yields the function that takes its lines."""
    with err.status("Discovering") as status:

        def progress(line: str) -> None:
            status.update(line)
            if not err.is_terminal:
                err.print(line, markup=False)

        yield progress
