"""`lineage-bridge topics`: commands about topics that are loaded into Iceberg tables."""

from __future__ import annotations

import click

from lineage_bridge_dagster.cli.readable import ReadableGroup
from lineage_bridge_dagster.cli.topics_replay import replay
from lineage_bridge_dagster.cli.topics_survey import plan, status


@click.group(cls=ReadableGroup)
def topics() -> None:
    """Topics that are loaded into Iceberg tables."""


for _command in (plan, status, replay):
    topics.add_command(_command)
