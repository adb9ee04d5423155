"""`lineage-bridge topics`: commands about topics that are loaded into Iceberg tables."""

from __future__ import annotations

import click

from lineage_bridge_dagster.cli.readable import ReadableGroup
from lineage_bridge_dagster.cli.topics_replay import replay


@click.group(cls=ReadableGroup)
def topics() -> None:
    """Topics that are loaded into Iceberg tables."""


topics.add_command(replay)
