"""New tables put into the last discovery, without reading every API again."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.glue import client as glue
from lineage_bridge_dagster.catalogs.glue.new_tables import with_new_tables
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.graph.builder import Console
from lineage_bridge_dagster.confluent.tableflow_update import read_tableflow, with_tableflow
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.sql_policy import mode_of
from lineage_bridge_dagster.lineage.times import iso, utc_now
from lineage_bridge_dagster.settings import Settings

if TYPE_CHECKING:
    import httpx
    from mypy_boto3_glue import GlueClient

#: A larger graph takes too long to store within a tick of the sensor.
MAX_NODES = 50_000


def update(
    settings: Settings,
    last: Discovery,
    *,
    clusters: Collection[tuple[str, str]],
    databases: Collection[str],
    transport: httpx.BaseTransport | None = None,
    glue_client: GlueClient | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> Discovery | None:
    """The last discovery with the tables that Tableflow has created since.

    It keeps the time and the coverage of the last discovery, which still tell when everything else was read.

    Args:
        settings: the endpoints, the keys, and how SQL is shown.
        clusters: environment and cluster ids whose Tableflow tables or catalog integrations have changed.
        databases: names of the Glue databases whose tables have changed.
        clock: the time that new nodes and edges are stamped with.

    Returns:
        None if it takes a whole discovery to tell what has become of the graph.

    Raises:
        LineageBridgeError: a request failed.
    """
    if len(last.graph) > MAX_NODES or mode_of(last) != settings.push.sql:
        return None
    client = glue_client or glue.glue_client(settings.aws)
    now, graph = iso(clock()), last.graph
    with ConfluentSession(
        settings.confluent, transport, renew=lambda: settings.read_again().confluent
    ) as session:
        console = Console.of(session.base)
        for environment, cluster in sorted(clusters):
            listing = read_tableflow(session, environment, cluster)
            if listing is None:
                return None
            updated = with_tableflow(replace(last, graph=graph), listing, console, now)
            if updated is None:
                return None
            graph = updated
    found = with_new_tables(
        graph,
        last,
        GlueReader(client),
        clusters=clusters,
        databases={name.lower() for name in databases},
        region=settings.aws.region or client.meta.region_name,
        now=now,
        sql=settings.push.sql,
    )
    return None if found is None else replace(last, graph=found)
