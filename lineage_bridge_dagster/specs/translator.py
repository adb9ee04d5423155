"""The translation of a node of the lineage graph to an asset: its key, group, kinds, owners and tags.

To change any of them, subclass `LineageTranslator`, override `get_asset_spec`, and pass the subclass to the
component (or override the component's own `get_asset_spec`)::

    class Ours(LineageTranslator):
        def get_asset_spec(self, node, context):
            spec = super().get_asset_spec(node, context)
            return spec.replace_attributes(owners=["team:streaming"])

Dependencies are not part of the translation: they follow the graph, between the keys that it returns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from dagster import AssetKey, AssetSpec

from lineage_bridge_dagster.dagster_internals.definitions import changed
from lineage_bridge_dagster.lineage.glue_status import glue_status, is_in_glue
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import ExternalJobNode, GlueTableNode, IcebergTableNode
from lineage_bridge_dagster.specs import keys
from lineage_bridge_dagster.specs.definition_metadata import definition_metadata
from lineage_bridge_dagster.specs.graph_view import NodeContext, Role
from lineage_bridge_dagster.specs.pages.page import description

#: Asset kinds by node type. The UI has no icons for connectors, ksqlDB or Glue.
_KINDS: Mapping[str, frozenset[str]] = {
    NodeType.KAFKA_TOPIC: frozenset({"kafka"}),
    NodeType.CONNECTOR: frozenset({"kafka", "connector"}),
    NodeType.FLINK_JOB: frozenset({"flink"}),
    NodeType.KSQLDB_QUERY: frozenset({"kafka", "ksqldb"}),
    NodeType.EXTERNAL_JOB: frozenset({"openlineage"}),
    NodeType.CATALOG_TABLE: frozenset({"aws", "iceberg"}),
}

#: The kind of an outside job by its integration, for those that the UI has an icon for.
_JOB_KINDS: Mapping[str, str] = {
    "AIRFLOW": "airflow",
    "DBT": "dbt",
    "FLINK": "flink",
    "SPARK": "spark",
}

#: The kind of a dataset by the scheme of its name, for the systems that the UI has an icon for.
_DATASET_KINDS: Mapping[str, str] = {
    "abfss": "azure",
    "adl": "azure",
    "amqp": "rabbitmq",
    "arn": "aws",
    "azurecosmos": "azure",
    "bigquery": "bigquery",
    "bigtable": "googlecloud",
    "cassandra": "cassandra",
    "clickhouse": "clickhouse",
    "cloudwatch": "aws",
    "datadog": "datadog",
    "dataproc": "googlecloud",
    "db2": "db2",
    "doris": "doris",
    "dynamodb": "aws",
    "elasticsearch": "elasticsearch",
    "eventhubs": "azure",
    "file": "file",
    "firehose": "aws",
    "firestore": "googlecloud",
    "gcf": "googlecloud",
    "gs": "gcs",
    "hana": "sap",
    "hbase": "hadoop",
    "hdfs": "hadoop",
    "hive": "hadoop",
    "iceberg": "iceberg",
    "kafka": "kafka",
    "kinesis": "aws",
    "kudu": "impala",
    "lambda": "aws",
    "loganalytics": "azure",
    "mongodb": "mongodb",
    "mssql": "sqlserver",
    "mysql": "mysql",
    "oracle": "oracle",
    "pagerduty": "pagerduty",
    "postgres": "postgres",
    "pubsub": "googlecloud",
    "redis": "redis",
    "redshift": "redshift",
    "s3": "s3",
    "salesforce": "salesforce",
    "servicebus": "azure",
    "snowflake": "snowflake",
    "spanner": "spanner",
    "sqlserver": "azure",
    "starrocks": "starrocks",
    "teradata": "teradata",
    "trino": "trino",
    "unitycatalog": "databricks",
    "wasbs": "azure",
    "weaviate": "weaviate",
}


#: The first parts of keys as they are translated by default.
_FIRST_PARTS = frozenset(
    {"kafka", "connect", "ksqldb", "flink", "external", "external_job", "glue", "upstream_chain"}
)


def is_default_key(key: AssetKey) -> bool:
    """Whether a node may have this key, unless a user translates nodes to others."""
    return len(key.path) > 1 and key.path[0] in _FIRST_PARTS


class LineageTranslator:
    """The default translation."""

    def get_asset_spec(self, node: Node, context: NodeContext) -> AssetSpec:
        """The asset of a node in a role; called once per asset at every load of the definitions.

        The result must depend only on the arguments: definitions load in several processes, which have to
        agree. If two nodes get the same key, a hash is appended to the second one's.
        """
        known = context.translation
        if known is None or known.node is not node:
            return _translated(node, context)
        if known.spec is None:
            known.spec = _translated(node, context)
        spec = known.spec
        return changed(spec, metadata={**spec.metadata}, tags={**spec.tags}) if known.copied else spec


def _translated(node: Node, context: NodeContext) -> AssetSpec:
    key, owners = _key(node, context.role), _owners(node)
    like = _spec_of(
        _group(node, context.role),
        frozenset(_kinds(node, context.role)),
        tuple(owners),
        tuple(_tags(node).items()),
    )
    return changed(
        like,
        key=key,
        description=description(node, context),
        owners=owners,
        tags={**like.tags},
        metadata=definition_metadata(node, context, key),
    )


@lru_cache(maxsize=1 << 12)
def _spec_of(
    group: str, kinds: frozenset[str], owners: tuple[str, ...], tags: tuple[tuple[str, str], ...]
) -> AssetSpec:
    """What many assets have in common, which Dagster validates once for all of them."""
    return AssetSpec("", group_name=group, kinds=set(kinds), owners=owners, tags=dict(tags))


def _key(node: Node, role: Role) -> AssetKey:
    match node.node_type:
        case NodeType.KAFKA_TOPIC:
            parts = ["kafka", node.cluster_id or "", node.qualified_name]
        case NodeType.CONNECTOR:
            parts = ["connect", node.cluster_id or "", node.qualified_name]
        case NodeType.KSQLDB_QUERY:
            parts = ["ksqldb", node.cluster_id or "", node.qualified_name]
        case NodeType.FLINK_JOB:
            parts = ["flink", node.environment_id or "", node.region, node.qualified_name]
        case NodeType.EXTERNAL_DATASET:
            parts = ["external", node.qualified_name]
        case NodeType.EXTERNAL_JOB:
            parts = ["external_job", node.qualified_name]
        case NodeType.CATALOG_TABLE if isinstance(node, GlueTableNode):
            place = GlueTableNode.of(node).shown_place
            parts = [_first(role), *filter(None, [place.away]), place.database, place.table]
        case NodeType.CATALOG_TABLE if isinstance(node, IcebergTableNode):
            table = IcebergTableNode.of(node)
            parts = [_first(role), table.catalog, table.database, table.table_name]
        case NodeType.CATALOG_TABLE:
            parts = [(node.catalog_type or "catalog").lower(), node.qualified_name]
        case _:
            parts = [str(node.node_type), node.qualified_name]
    return AssetKey(keys.key_parts(*parts))


def _first(role: Role) -> str:
    """The first part of the key of a table, and of its chain."""
    return "upstream_chain" if role is Role.CHAIN else "glue"


def _group(node: Node, role: Role) -> str:
    """A nested group per cluster or database: display names, which people know, precede the ids."""
    match node.node_type:
        case NodeType.KAFKA_TOPIC | NodeType.CONNECTOR | NodeType.KSQLDB_QUERY:
            top = {"kafka_topic": "kafka", "connector": "connect", "ksqldb_query": "ksqldb"}[node.node_type]
            return f"{top}/{keys.named_segment(node.cluster_name, node.cluster_id or 'unknown')}"
        case NodeType.FLINK_JOB:
            return f"flink/{keys.named_segment(node.environment_name, node.environment_id or 'unknown')}"
        case NodeType.CATALOG_TABLE if isinstance(node, GlueTableNode):
            place = GlueTableNode.of(node).shown_place
            top = keys.group_name(_first(role), *filter(None, [place.away]))
            # By default Tableflow names the database after the cluster's id.
            name = node.cluster_name if place.database == node.cluster_id else None
            return f"{top}/{keys.named_segment(name, place.database)}"
        case NodeType.CATALOG_TABLE if isinstance(node, IcebergTableNode):
            table = IcebergTableNode.of(node)
            return keys.group_name(_first(role), table.catalog, ".".join(table.namespace))
        case NodeType.EXTERNAL_DATASET | NodeType.EXTERNAL_JOB:
            return "external"
        case _:
            return keys.group_name("other", str(node.node_type))


def _kinds(node: Node, role: Role) -> set[str]:
    if role is Role.CHAIN:
        return {"pyspark", "iceberg"}
    if node.node_type == NodeType.EXTERNAL_DATASET:
        scheme = re.split(r"[:+]", node.qualified_name, maxsplit=1)[0].lower()
        return {_DATASET_KINDS.get(scheme, "table")}
    if node.node_type == NodeType.CATALOG_TABLE and not isinstance(node, GlueTableNode):
        return {"iceberg"}
    if isinstance(node, ExternalJobNode) and (kind := _JOB_KINDS.get(node.integration)):
        return {kind}
    return set(_KINDS.get(node.node_type, frozenset()))


def _owners(node: Node) -> list[str]:
    """The owners that the source gives as emails or teams. Glue's `Owner` is most often just `hadoop`."""
    owners = node.texts("owners") or node.texts("owner")
    return keys.owners(owner for owner in owners if "@" in owner or owner.startswith("team:"))


def _tags(node: Node) -> dict[str, str]:
    tags = {keys.tag_key("node_type"): keys.tag_value(str(node.node_type))}
    for name, value in (
        ("environment", node.environment_id),
        ("environment_name", node.environment_name),
        ("cluster", node.cluster_id),
        ("cluster_name", node.cluster_name),
    ):
        if value:
            tags[keys.tag_key(name)] = keys.tag_value(value)
    if isinstance(node, GlueTableNode) and not is_in_glue(node):
        tags[keys.tag_key("glue_status")] = str(glue_status(node))
    for tag in node.tags:
        tags[keys.tag_name(tag)] = ""
    return tags
