"""A whole discovery: what Confluent says, what Glue says, and what of the last one is still owed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from lineage_bridge_dagster import glue
from lineage_bridge_dagster.config.settings import Settings
from lineage_bridge_dagster.confluent.discovery import discover as discover_confluent
from lineage_bridge_dagster.confluent.discovery import require_environments
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.times import utc_now

if TYPE_CHECKING:
    import httpx
    from mypy_boto3_glue import GlueClient

    from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser

Progress = Callable[[str], None]


def discover(
    settings: Settings,
    last: Discovery | None = None,
    *,
    progress: Progress = lambda _line: None,
    transport: httpx.BaseTransport | None = None,
    glue_client: GlueClient | None = None,
    parser: FlinkSqlParser | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> Discovery:
    """Ask every API once and carry over from `last` what could not be asked.

    Args:
        settings: where to ask, with which keys.
        last: the last good discovery; nothing of a scope that failed now is lost from it.
        progress: called with one readable line a step.
        transport: exchanges the HTTP transport of the Confluent clients.
        glue_client: exchanges the Glue client.
        parser: shares a running Flink parser; without one, one is started and ended here.
        clock: the time that the discovery is stamped with.

    Raises:
        ConfigurationError: the settings can't be right: no region, an unknown environment.
        LineageBridgeError: the environments could not be listed at all, and there is no last state.
    """
    # First, for settings that can't be right must not cost a pass over Confluent.
    client = glue_client or glue.glue_client(settings.aws)
    found = discover_confluent(
        settings.confluent,
        transport=transport,
        parser=parser,
        last=last,
        progress=progress,
        clock=clock,
    )
    if last is None:
        require_environments(found)
    progress("Reading the Glue tables")
    enriched = glue.enrich(found, client, region=settings.aws.region or client.meta.region_name, clock=clock)
    return carry_forward(enriched, last)
