"""A full discovery: reads Confluent, the catalogs and events, then carries over what could not be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.glue import client as glue
from lineage_bridge_dagster.catalogs.glue.enrichment import enrich as enrich_from_glue
from lineage_bridge_dagster.catalogs.rest.enrichment import enrich as enrich_from_catalogs
from lineage_bridge_dagster.catalogs.rest.enrichment import iceberg_catalogs, without_other_catalogs
from lineage_bridge_dagster.catalogs.rest.tableflow_enrichment import enrich_from_tableflow
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TableflowPlace
from lineage_bridge_dagster.config.aws import s3_client
from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.iceberg import table as iceberg_dataset
from lineage_bridge_dagster.confluent.discovery import discover as discover_confluent
from lineage_bridge_dagster.confluent.discovery import require_environments
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.event_sources.enrichment import enrich as enrich_from_events
from lineage_bridge_dagster.event_sources.enrichment import without_other_sources
from lineage_bridge_dagster.event_sources.sources import event_sources
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.catalog_tables import tableflow_places
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.garbage import no_garbage_collection
from lineage_bridge_dagster.lineage.glue_status import glue_counts
from lineage_bridge_dagster.lineage.sql_policy import limited
from lineage_bridge_dagster.lineage.times import utc_now
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster.text import ReportLine

if TYPE_CHECKING:
    import httpx
    from mypy_boto3_glue import GlueClient

    from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser


def discovery_settings(given: Mapping[str, Any] | None = None) -> Settings:
    """Read the settings of a discovery.

    Args:
        given: fields of `confluent` that take precedence; empty ones count as unset.

    Raises:
        ConfigurationError: there is no Confluent key, or a setting is malformed.
    """
    settings = Settings.from_env(given={"confluent": given or {}})
    if not settings.confluent.credentials:
        raise ConfigurationError(
            "No Confluent key is set.",
            hint="Set LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY and ..._SECRET, in the environment or in .env; "
            "or pass a lineage_graph.json with --graph.",
        )
    return settings


@no_garbage_collection()
def discover(
    settings: Settings,
    last: Discovery | None = None,
    *,
    progress: ReportLine = lambda _line: None,
    transport: httpx.BaseTransport | None = None,
    glue_client: GlueClient | None = None,
    parser: FlinkSqlParser | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> Discovery:
    """Query every API once and carry over from `last` what could not be read.

    Args:
        settings: the endpoints, the keys, what to read, and how SQL is shown.
        last: the last good discovery, whose nodes and edges are kept for every scope that fails now.
        progress: called with one readable line per step.
        parser: a running Flink parser to share; by default one is started and stopped here.
        clock: returns the discovery's time.

    Raises:
        ConfigurationError: the settings are wrong: no region, or an unknown environment.
        LineageBridgeError: the environments could not be listed, and there is no last discovery.
    """
    # First, so that wrong AWS settings fail before Confluent is read.
    client = glue_client or glue.glue_client(settings.aws, unknown_fields=False)
    sql = settings.push.sql
    found = discover_confluent(
        settings.confluent,
        transport=transport,
        renew=lambda: settings.read_again().confluent,
        parser=parser,
        last=last,
        sql=sql,
        progress=progress,
        clock=clock,
    )
    if last is None:
        require_environments(found)
    progress("Reading the Glue tables")
    region = settings.aws.region or client.meta.region_name
    last = limited(last, sql) if last else None
    warehouses = [each.warehouse or "" for each in iceberg_catalogs(settings.all_catalogs())]
    enriched = enrich_from_glue(
        found, client, region=region, sql=sql, clock=clock, last=last, warehouses=warehouses
    )
    progress(f"Glue tables in {region}: {glue_counts(enriched.graph)}")
    catalogs = settings.all_catalogs(map(TableflowPlace._make, tableflow_places(enriched.graph)))
    if others := iceberg_catalogs(catalogs):
        progress(f"Reading the tables of {', '.join(catalog.name for catalog in others)}")
        enriched = enrich_from_catalogs(
            enriched, catalogs, dataset_name=dataset_of, sql=sql, clock=clock, last=last
        )
    if catalogs.tableflow:
        progress("Reading the tables of Tableflow's own catalogs")
        enriched = enrich_from_tableflow(enriched, catalogs, sql=sql, clock=clock)
    last = last and without_other_catalogs(last, catalogs)
    return carry_forward(*with_events(enriched, last, settings, progress=progress, clock=clock))


def with_events(
    found: Discovery,
    last: Discovery | None,
    settings: Settings,
    *,
    progress: ReportLine = lambda _line: None,
    clock: Callable[[], datetime] = utc_now,
) -> tuple[Discovery, Discovery | None]:
    """A discovery with the jobs outside Confluent, and the last one without sources that are not read now."""
    open_s3 = partial(s3_client, settings.aws)
    sources = event_sources(settings.openlineage, settings.confluent, found.graph, open_s3)
    last = last and without_other_sources(last, [source.name for source in sources])
    if sources:
        found = enrich_from_events(
            found,
            sources,
            max_age=timedelta(days=settings.openlineage.max_age_days),
            ports=naming.DEFAULT_PORTS,
            sql=settings.push.sql,
            clock=clock,
            last=last,
            progress=progress,
        )
    return found, last


def dataset_of(catalog: CatalogSettings, table: str) -> str:
    """The dataset of `namespace.table` of a REST catalog, as a connector with its settings names it."""
    return iceberg_dataset(
        Config(
            {
                "iceberg.catalog.type": "rest",
                "iceberg.catalog.uri": catalog.uri,
                "iceberg.catalog.warehouse": catalog.warehouse,
            }
        ),
        table,
    )


def discover_confluent_only(settings: Settings, *, progress: ReportLine = lambda _line: None) -> Discovery:
    """Query Confluent's APIs once: a graph without Glue tables, for which no AWS credentials are needed.

    Raises:
        ConfigurationError: the settings are wrong, such as an unknown environment.
        LineageBridgeError: the environments could not be listed.
    """
    found = discover_confluent(settings.confluent, sql=settings.push.sql, progress=progress)
    require_environments(found)
    return found
