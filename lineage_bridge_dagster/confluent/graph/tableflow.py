"""Nodes and edges of Tableflow tables. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lineage_bridge_dagster.confluent.api.tableflow import CatalogIntegration, TableflowTopic
from lineage_bridge_dagster.confluent.graph.builder import Builder, Place, absent_warning, without_empty
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.glue_names import AWS_GLUE, glue_table_name
from lineage_bridge_dagster.lineage.model import EdgeType, NodeType
from lineage_bridge_dagster.redaction.redact import redact_text

#: Where records go with error handling LOG and no target (default in the `tableflow/v1` API).
DEFAULT_ERROR_TOPIC = "error_log"
#: Kind of a catalog integration -> catalog type in sync statuses.
_CATALOG_TYPES = {"awsglue": AWS_GLUE, "snowflake": "SNOWFLAKE", "unity": "UNITY"}


def add_tableflow(
    builder: Builder,
    place: Place,
    topics: Iterable[TableflowTopic],
    integrations: Sequence[CatalogIntegration] | None,
) -> None:
    """Add each topic's Tableflow table, and an edge to its dead letter topic.

    Args:
        integrations: The cluster's catalogs; None if they could not all be read, which leaves the Glue
            database unknown: it may have a custom name.
    """
    scope = place.scope("tableflow")
    for topic in topics:
        name = topic.display_name
        table_id = ids.tableflow_table_id(*place.key, name)
        error_topic = _error_topic(topic)
        error_topic_id = builder.resolve_topic(place.key, error_topic, scope) if error_topic else None
        attributes = _attributes(topic, place, integrations)
        if error_topic and error_topic_id is None:
            attributes["warnings"] = [absent_warning([error_topic], place.cluster.label)]
        builder.add_node(
            table_id,
            NodeType.TABLEFLOW_TABLE,
            f"{place.cluster.id}.{name}",
            scope,
            attributes=attributes,
            url=builder.console.tableflow(*place.key, name),
            **place.names,
        )
        topic_id = builder.resolve_topic(place.key, name, scope, exists=True)
        if topic_id is not None:
            builder.add_edge(topic_id, table_id, EdgeType.MATERIALIZES, scope)
        if error_topic_id is not None:
            builder.add_edge(table_id, error_topic_id, EdgeType.PRODUCES, scope, role="dlq")


def glue_database(
    topic: TableflowTopic, cluster_id: str, integrations: Sequence[CatalogIntegration] | None
) -> str | None:
    """Return the Glue database of a topic's table: the integration's custom one, else the cluster's id.

    None if the cluster has no Glue integration, if the integrations are unknown, or if several with different
    databases leave it ambiguous.
    """
    if integrations is None:
        return None
    glue = {
        integration.id: integration.custom_database or cluster_id
        for integration in integrations
        if integration.is_glue
    }
    synced = {
        glue[sync.catalog_integration_id]
        for sync in topic.status.catalog_sync_statuses
        if sync.catalog_integration_id in glue
    }
    databases = synced or set(glue.values())
    return databases.pop() if len(databases) == 1 else None


def _error_topic(topic: TableflowTopic) -> str:
    handling = topic.spec.config.error_handling
    if handling is None or handling.mode.upper() != "LOG":
        return ""
    return handling.target or DEFAULT_ERROR_TOPIC


def _attributes(
    topic: TableflowTopic, place: Place, integrations: Sequence[CatalogIntegration] | None
) -> dict[str, Any]:
    spec, status = topic.spec, topic.status
    storage = spec.storage
    database = glue_database(topic, place.cluster.id, integrations)
    synced = [sync.catalog_type for sync in status.catalog_sync_statuses if sync.catalog_type]
    integrated = [_catalog_type(integration) for integration in integrations or () if integration.kind]
    handling = spec.config.error_handling
    return {
        "topic": topic.display_name,
        # Its own catalog is that of the environment and of the cluster's region, whatever the bucket's is.
        "organization_id": place.environment.organization_id,
        "cluster_cloud": place.cluster.spec.cloud,
        "cluster_region": place.cluster.spec.region,
        "glue_database": database,
        "glue_table": glue_table_name(topic.display_name) if database else None,
        "table_path": storage.table_path,
        "catalog_types": sorted({*synced, *integrated}),
        "catalog_sync": [
            without_empty(
                {
                    "type": sync.catalog_type,
                    "status": sync.sync_status,
                    "error": redact_text(sync.error_message),
                }
            )
            for sync in status.catalog_sync_statuses
        ],
        # False is recorded: an empty list would not tell unknown from none.
        "catalog_integrations_read": integrations is not None,
        "catalog_integrations": [_integration(one, topic) for one in integrations or ()],
        "catalog_last_sync": {
            one.id: one.status.last_sync_at for one in integrations or () if one.status.last_sync_at
        },
        "created_at": topic.created_at,
        "phase": status.phase,
        "error": redact_text(status.error_message),
        "write_mode": status.write_mode,
        "table_formats": list(topic.formats),
        # False is recorded: absent would mean unknown.
        "suspended": spec.suspended,
        "error_handling": without_empty(
            {"mode": handling.mode, "target": _error_topic(topic) or handling.target}
        )
        if handling
        else without_empty({"mode": spec.config.record_failure_strategy}),
        "region": storage.bucket_region or storage.storage_region or place.cluster.spec.region,
        "storage_kind": storage.kind,
        "bucket_name": storage.bucket_name,
        "storage_account_name": storage.storage_account_name,
        "container_name": storage.container_name,
        "provider_integration_id": storage.provider_integration_id,
        "retention_ms": spec.config.retention_ms,
        "data_retention_ms": spec.config.data_retention_ms,
        "enable_compaction": spec.config.enable_compaction,
        "enable_partitioning": spec.config.enable_partitioning,
        "metadata_column_naming_scheme": spec.config.metadata_column_naming_scheme,
        "failing_table_formats": [
            without_empty({"format": failing.format, "error": redact_text(failing.error_message)})
            for failing in status.failing_table_formats
        ],
    }


def _integration(integration: CatalogIntegration, topic: TableflowTopic) -> dict[str, Any]:
    synced_by = {sync.catalog_integration_id for sync in topic.status.catalog_sync_statuses}
    return without_empty(
        {
            "id": integration.id,
            "name": integration.spec.display_name,
            "type": _catalog_type(integration),
            "phase": integration.phase,
            "error": redact_text(integration.status.error_message),
            "suspended": integration.spec.suspended or None,
            "syncs_topic": integration.id in synced_by or None,
        }
    )


def _catalog_type(integration: CatalogIntegration) -> str:
    return _CATALOG_TYPES.get(integration.kind.lower(), integration.kind)
