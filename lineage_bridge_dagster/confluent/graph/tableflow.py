"""Tableflow's tables -> nodes and edges. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lineage_bridge_dagster.confluent.api.tableflow import CatalogIntegration, TableflowTopic
from lineage_bridge_dagster.confluent.graph.builder import (
    Builder,
    Place,
    absent_warning,
    without_empty,
)
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.glue_names import AWS_GLUE, glue_table_name
from lineage_bridge_dagster.lineage.model import EdgeType, NodeType
from lineage_bridge_dagster.lineage.redaction import redact_text

#: The topic that records go to with error handling LOG and no target named (`tableflow/v1` default).
DEFAULT_ERROR_TOPIC = "error_log"
#: An integration's kind -> the catalog type that sync statuses use.
_CATALOG_TYPES = {"awsglue": AWS_GLUE, "snowflake": "SNOWFLAKE", "unity": "UNITY"}


def add_tableflow(
    builder: Builder,
    place: Place,
    topics: Iterable[TableflowTopic],
    integrations: Sequence[CatalogIntegration] | None,
) -> None:
    """Topic -> Tableflow table, and the table's dead letter topic.

    Args:
        builder: what is added to.
        place: the cluster.
        topics: as Tableflow lists them.
        integrations: the cluster's catalogs; None when they could not all be read, and then the Glue
            database is left untold: it may have a custom name.
    """
    scope = place.scope("tableflow")
    for topic in topics:
        name = topic.display_name
        table_id = ids.tableflow_table_id(*place.key, name)
        error_topic = _error_topic(topic)
        error_topic_id = builder.topic(place.key, error_topic, scope) if error_topic else None
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
        topic_id = builder.topic(place.key, name, scope, certain=True)
        if topic_id is not None:
            builder.add_edge(topic_id, table_id, EdgeType.MATERIALIZES, scope)
        if error_topic_id is not None:
            builder.add_edge(table_id, error_topic_id, EdgeType.PRODUCES, scope, role="dlq")


def glue_database(
    topic: TableflowTopic, cluster_id: str, integrations: Sequence[CatalogIntegration] | None
) -> str | None:
    """The Glue database of a topic's table: the integration's custom one, else the cluster's id.

    None when the cluster has no Glue integration, when the integrations are not known, or when several with
    different databases leave open which.
    """
    if integrations is None:
        return None
    glue = {one.id: one.custom_database or cluster_id for one in integrations if one.is_glue}
    told = {
        glue[sync.catalog_integration_id]
        for sync in topic.status.catalog_sync_statuses
        if sync.catalog_integration_id in glue
    }
    databases = told or set(glue.values())
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
    integrated = [_CATALOG_TYPES.get(one.kind.lower(), one.kind) for one in integrations or () if one.kind]
    handling = spec.config.error_handling
    return {
        "topic": topic.display_name,
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
        "phase": status.phase,
        "error": redact_text(status.error_message),
        "write_mode": status.write_mode,
        "table_formats": list(topic.formats),
        # False is said too: absent would mean that nobody asked.
        "suspended": spec.suspended,
        "error_handling": without_empty({"mode": handling.mode, "target": _error_topic(topic)})
        if handling
        else without_empty({"mode": spec.config.record_failure_strategy}),
        "region": storage.bucket_region or storage.storage_region or place.cluster.spec.region,
        "storage_kind": storage.kind,
        "failing_table_formats": [
            without_empty({"format": one.format, "error": redact_text(one.error_message)})
            for one in status.failing_table_formats
        ],
    }
