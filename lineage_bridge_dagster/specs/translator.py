"""A node of the lineage graph becomes an asset: the one place that decides keys, groups, owners and words.

To change any of them, subclass `LineageTranslator`, override `get_asset_spec`, and hand the subclass to the
component (or override the component's own `get_asset_spec`)::

    class Ours(LineageTranslator):
        def get_asset_spec(self, node, context):
            spec = super().get_asset_spec(node, context)
            return spec.replace_attributes(owners=["team:streaming"])

Dependencies are not decided here: they follow the graph, between whatever keys the translator gave.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dagster import AssetKey, AssetSpec, MarkdownMetadataValue, MetadataValue, UrlMetadataValue

from lineage_bridge_dagster.glue.links import athena_select, athena_url, glue_table_url
from lineage_bridge_dagster.lineage.columns import flows_of
from lineage_bridge_dagster.lineage.coverage import ScopeReport
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, is_glue_table
from lineage_bridge_dagster.specs import keys
from lineage_bridge_dagster.specs.graph_view import GraphView, NodeContext, Role
from lineage_bridge_dagster.specs.metadata import (
    LineageMetadata,
    StandardMetadata,
    column_schema,
    column_table,
    markdown_table,
)
from lineage_bridge_dagster.specs.pages.links import lineage_url
from lineage_bridge_dagster.specs.pages.page import description

__all__ = ["GraphView", "LineageTranslator", "NodeContext", "Role"]


#: The kinds that the UI shows, by node type. It has no icons for connectors, ksqlDB or Glue.
KINDS: Mapping[str, frozenset[str]] = {
    NodeType.KAFKA_TOPIC: frozenset({"kafka"}),
    NodeType.CONNECTOR: frozenset({"kafka", "connector"}),
    NodeType.FLINK_JOB: frozenset({"flink"}),
    NodeType.KSQLDB_QUERY: frozenset({"kafka", "ksqldb"}),
    NodeType.CATALOG_TABLE: frozenset({"aws", "iceberg"}),
}

_DATASET_KINDS = {
    "postgres": "postgres",
    "mysql": "mysql",
    "sqlserver": "sqlserver",
    "oracle": "oracle",
    "mongodb": "mongodb",
    "s3": "s3",
    "snowflake": "snowflake",
    "bigquery": "bigquery",
    "redshift": "redshift",
    "databricks": "databricks",
}


class LineageTranslator:
    """The default translation."""

    def get_asset_spec(self, node: Node, context: NodeContext) -> AssetSpec:
        """The asset of a node in a role; called once for each asset whenever definitions load.

        A spec must be a function of its arguments alone: definitions load in several processes, and they
        have to agree. Two nodes may get one key here; the second then gets a hash behind it.
        """
        key = self._key(node, context.role)
        return AssetSpec(
            key=key,
            description=description(node, context),
            group_name=_group(node, context.role),
            kinds=_kinds(node, context.role),
            owners=_owners(node),
            tags=_tags(node),
            metadata={
                **_standard(node, context),
                **LineageMetadata(
                    # What a person looks for stands first, for the UI keeps the order.
                    **_links(node, context.role),
                    lineage=UrlMetadataValue(lineage_url(key)),
                    conflict=_conflict(node),
                    incomplete_coverage=_incomplete(context.incomplete),
                    stale_since=_text(node.attributes.get("stale_since")),
                    cycle=_cycle(context.left_out),
                    column_lineage=_columns(node, context),
                    cluster=node.cluster_name,
                    environment=node.environment_name,
                    **_loading(node, context),
                    discovered_at=context.view.discovery.discovered_at or None,
                    details=_details(node) if context.role is Role.ITSELF else None,
                    cluster_id=node.cluster_id,
                    environment_id=node.environment_id,
                    node_type="upstream_chain" if context.role is Role.CHAIN else str(node.node_type),
                    node_id=node.node_id,
                ),
            },
        )

    def _key(self, node: Node, role: Role) -> AssetKey:
        attributes = node.attributes
        match node.node_type:
            case NodeType.KAFKA_TOPIC:
                parts = ["kafka", node.cluster_id or "", node.qualified_name]
            case NodeType.CONNECTOR:
                parts = ["connect", node.cluster_id or "", node.qualified_name]
            case NodeType.KSQLDB_QUERY:
                parts = ["ksqldb", node.cluster_id or "", node.qualified_name]
            case NodeType.FLINK_JOB:
                region = str(attributes.get("region") or "")
                parts = ["flink", node.environment_id or "", region, node.qualified_name]
            case NodeType.EXTERNAL_DATASET:
                parts = ["external", node.qualified_name]
            case NodeType.CATALOG_TABLE if is_glue_table(node):
                place = GlueTableNode.of(node).shown_place
                first = "upstream_chain" if role is Role.CHAIN else "glue"
                parts = [first, *([place.away] if place.away else []), place.database, place.table]
            case NodeType.CATALOG_TABLE:
                parts = [(node.catalog_type or "catalog").lower(), node.qualified_name]
            case _:
                parts = [str(node.node_type), node.qualified_name]
        return AssetKey(keys.key_parts(*parts))


def _group(node: Node, role: Role) -> str:
    """One group a cluster and a database, nested; with display names, which people know, before the ids."""
    match node.node_type:
        case NodeType.KAFKA_TOPIC | NodeType.CONNECTOR | NodeType.KSQLDB_QUERY:
            top = {"kafka_topic": "kafka", "connector": "connect", "ksqldb_query": "ksqldb"}[node.node_type]
            return f"{top}/{keys.named_segment(node.cluster_name, node.cluster_id or 'unknown')}"
        case NodeType.FLINK_JOB:
            return f"flink/{keys.named_segment(node.environment_name, node.environment_id or 'unknown')}"
        case NodeType.CATALOG_TABLE if is_glue_table(node):
            place = GlueTableNode.of(node).shown_place
            top = keys.group_name(
                "upstream_chain" if role is Role.CHAIN else "glue", *([place.away] if place.away else [])
            )
            # By default Tableflow names the database after the cluster's id.
            name = node.cluster_name if place.database == node.cluster_id else None
            return f"{top}/{keys.named_segment(name, place.database)}"
        case NodeType.EXTERNAL_DATASET:
            return "external"
        case _:
            return keys.group_name("other", str(node.node_type))


def _kinds(node: Node, role: Role) -> set[str]:
    if role is Role.CHAIN:
        return {"pyspark", "iceberg"}
    if node.node_type == NodeType.EXTERNAL_DATASET:
        scheme = re.split(r"[:+]", node.qualified_name, maxsplit=1)[0].lower()
        return {_DATASET_KINDS.get(scheme, "table")}
    if node.node_type == NodeType.CATALOG_TABLE and not is_glue_table(node):
        return {"iceberg"}
    return set(KINDS.get(node.node_type, frozenset()))


def _owners(node: Node) -> list[str]:
    """Owners that the source itself names in Dagster's terms. Glue's `Owner` is most often `hadoop`."""
    named = node.attributes.get("owners") or [node.attributes.get("owner")]
    texts = [text for text in named if isinstance(text, str)]
    return keys.owners(text for text in texts if "@" in text or text.startswith("team:"))


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
    for tag in node.tags:
        tags[keys.tag_key(f"tag.{keys.tag_value(tag)[:50]}")] = ""
    return tags


def _standard(node: Node, context: NodeContext) -> dict[str, Any]:
    """Dagster's own keys: the table's name, its location and its columns."""
    name = uri = None
    if is_glue_table(node):
        if context.role is Role.CHAIN:
            return {}
        table = GlueTableNode.of(node)
        name, uri = table.shown_place.dotted, _text(node.attributes.get("storage_location"))
    elif node.node_type == NodeType.EXTERNAL_DATASET:
        uri = node.qualified_name
    schema = column_schema(_column_rows(node, context))
    return dict(
        StandardMetadata(
            table_name=name, uri=uri, column_schema=MetadataValue.table_schema(schema) if schema else None
        )
    )


def _column_rows(node: Node, context: NodeContext) -> list[Any]:
    """A table's columns, or the fields of a topic's value schema with those within them."""
    attributes = node.attributes
    if isinstance(columns := attributes.get("columns"), list) and columns:
        return _documented(columns, node, context)
    for rows in (attributes.get("schema_columns"), attributes.get("schema_fields")):
        if isinstance(rows, list) and rows:
            return rows
    if node.node_type == NodeType.KAFKA_TOPIC:
        for schema in context.view.schemas_of(node):
            fields = schema.attributes.get("fields")
            if isinstance(fields, list) and fields and schema.attributes.get("role") != "key":
                return fields
    return []


def _documented(columns: list[Any], table: Node, context: NodeContext) -> list[Any]:
    """The columns; one that has no comment in Glue gets the doc string of its field in the topic's schema."""
    topics = context.view.topics_of(table)
    rows = topics[0].attributes.get("schema_columns") if len(topics) == 1 else None
    docs = {
        row["name"]: row["comment"] for row in rows or () if isinstance(row, Mapping) and "comment" in row
    }
    if not docs:
        return columns
    return [
        {**column, "comment": column.get("comment") or docs.get(column.get("name"))}
        for column in columns
        if isinstance(column, Mapping)
    ]


def _loading(node: Node, context: NodeContext) -> dict[str, str | None]:
    """What the PySpark IO manager needs to load the asset: names and endpoints, no secrets."""
    if is_glue_table(node):
        place = GlueTableNode.of(node).shown_place
        return {"database": place.database, "table": place.table}
    if node.node_type != NodeType.KAFKA_TOPIC:
        return {}
    attributes = node.attributes
    registry = attributes.get("schema_registry_url") or next(
        (
            s.attributes["schema_registry_url"]
            for s in context.view.schemas_of(node)
            if s.attributes.get("schema_registry_url")
        ),
        None,
    )
    bootstrap = attributes.get("bootstrap_endpoint") or attributes.get("bootstrap")
    return {
        "topic": node.qualified_name,
        "bootstrap": _text(bootstrap),
        "schema_registry_url": _text(registry),
    }


def _columns(node: Node, context: NodeContext) -> MarkdownMetadataValue | None:
    """What a Flink statement makes of columns: it is never materialized, so its definition has to say it."""
    if node.node_type != NodeType.FLINK_JOB:
        return None
    graph = context.view.graph
    flows = [flow for flow in flows_of(node) if flow.column.node_id in graph]
    return MarkdownMetadataValue(column_table(graph, flows)) if flows else None


def _text(value: object) -> str | None:
    return str(value) if value else None


def _links(node: Node, role: Role) -> dict[str, UrlMetadataValue | str | None]:
    """Pages of the systems themselves: Confluent's console; for a Glue table Glue's, and how to query it."""
    if not is_glue_table(node):
        return {"source": UrlMetadataValue(node.url) if node.url else None}
    table = GlueTableNode.of(node)
    region, place = table.aws_region, table.shown_place
    if role is Role.CHAIN or not region:
        return {}
    return {
        "console": UrlMetadataValue(node.url or glue_table_url(region, place.database, place.table)),
        "athena": athena_select(place.database, place.table),
        "athena_console": UrlMetadataValue(athena_url(region)),
    }


def _incomplete(reports: Sequence[ScopeReport]) -> MarkdownMetadataValue | None:
    if not reports:
        return None
    rows = [[str(r.scope), r.status, r.reason] for r in reports]
    return MarkdownMetadataValue(
        "Part of this lineage could not be asked for; what was known of it is kept.\n\n"
        + markdown_table(["scope", "status", "reason"], rows)
    )


def _conflict(node: Node) -> str | None:
    conflict = node.attributes.get("conflict")
    return f"Nothing is pushed to this table: {conflict}." if conflict else None


def _cycle(left_out: Sequence[Node]) -> MarkdownMetadataValue | None:
    if not left_out:
        return None
    lines = "\n".join(f"- {node.node_type}: `{node.label}`" for node in left_out)
    return MarkdownMetadataValue(
        f"Reads these too, in a cycle. The chain holds them; asset dependencies can't.\n\n{lines}"
    )


#: Attributes that have a place of their own, or are ours and not the source's.
_SHOWN_ELSEWHERE = frozenset(
    {
        "sql",
        "formatted_sql",
        "schema_columns",
        "columns",
        "column_lineage",
        "schema_fields",
        "parameters",
        "conflict",
        "scope",
        "stale_since",
        "owners",
        "fields",
    }
)


def _details(node: Node) -> MarkdownMetadataValue | None:
    """The node's plain attributes as a table, so that nothing that is known stays hidden."""
    rows: list[tuple[str, object]] = []
    for name, value in sorted(node.attributes.items()):
        if name in _SHOWN_ELSEWHERE or value in (None, "", [], {}, ()):
            continue
        if isinstance(value, Mapping):
            rows.extend((f"{name}.{inner}", held) for inner, held in sorted(value.items()))
        elif isinstance(value, list | tuple):
            rows.append((name, ", ".join(map(str, value))))
        else:
            rows.append((name, value))
    if not rows:
        return None
    return MarkdownMetadataValue(markdown_table(["attribute", "value"], rows))
