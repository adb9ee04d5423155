"""The push of a discovery to every catalog that has tables of it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.glue import push as glue
from lineage_bridge_dagster.catalogs.rest import push as targets
from lineage_bridge_dagster.config.catalogs import Catalogs
from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.nodes import iceberg_rest_tables
from lineage_bridge_dagster.lineage.push_results import PushReport, TableResult

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient


def push_tables(
    discovery: Discovery,
    client: GlueClient,
    catalogs: Callable[[], Catalogs],
    settings: PushSettings,
    *,
    tables: Collection[str] | None = None,
    dry_run: bool = False,
    progress: Callable[[int, int, TableResult], None] | None = None,
) -> PushReport:
    """Push to the tables in Glue, then to those of REST catalogs. One that fails does not affect the others.

    Args:
        discovery: The graph and its coverage.
        client: A Glue client.
        catalogs: Reads the catalogs; called only if the graph has tables of REST catalogs.
        settings: What to write, and limits.
        tables: The tables to push, by node id or name; None means all.
        dry_run: Plan and compare, but do not write.
        progress: Called after each table with the number of tables done and the total, for Glue's and for
            the others, and with the result.
    """
    elsewhere = {name for node in iceberg_rest_tables(discovery.graph) for name in targets.names_of(node)}
    in_glue = None if tables is None else [name for name in tables if name not in elsewhere]
    report = glue.push_tables(discovery, client, settings, tables=in_glue, dry_run=dry_run, progress=progress)
    if not elsewhere or (tables is not None and elsewhere.isdisjoint(tables)):
        return report
    try:
        found: Catalogs | LineageBridgeError = catalogs()
    except LineageBridgeError as error:
        # Glue's tables are pushed already: their results must not be lost.
        found = error
    others = targets.push_iceberg_tables(
        discovery, found, settings, tables=tables, dry_run=dry_run, progress=progress
    )
    return targets.combined(report, others)
