"""The metadata of asset definitions: Dagster's standard keys first, then our own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dagster import AssetKey, JsonMetadataValue, MarkdownMetadataValue, MetadataValue, UrlMetadataValue

from lineage_bridge_dagster.catalogs.glue.links import athena_select, athena_url, glue_table_url
from lineage_bridge_dagster.lineage.columns import flows_of, further_columns_of
from lineage_bridge_dagster.lineage.coverage import ScopeReport
from lineage_bridge_dagster.lineage.glue_status import (
    absence_sentence,
    conflict_of,
    is_in_glue,
)
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import Field, GlueTableNode, IcebergTableNode, SchemaNode, TopicNode
from lineage_bridge_dagster.lineage.nodes.policies import NOT_IN_DETAILS
from lineage_bridge_dagster.specs.graph_view import PROCESSES, NodeContext, Role
from lineage_bridge_dagster.specs.links import lineage_url
from lineage_bridge_dagster.specs.markdown import markdown_table
from lineage_bridge_dagster.specs.metadata import LineageMetadata, StandardMetadata, column_schema
from lineage_bridge_dagster.specs.pages.columns import column_table
from lineage_bridge_dagster.specs.pages.feeds import all_feeds
from lineage_bridge_dagster.specs.pages.tableflow_facts import tableflow_metadata, tableflow_of


def definition_metadata(node: Node, context: NodeContext, key: AssetKey) -> dict[str, Any]:
    """The metadata of the asset with this key."""
    is_chain = context.role is Role.CHAIN
    return {
        **_standard(node, context),
        **LineageMetadata.entries(
            **_of_kind(node, context),
            lineage=UrlMetadataValue(lineage_url(key)),
            conflict=f"Nothing is pushed to this table: {conflict}."
            if (conflict := conflict_of(node))
            else None,
            incomplete_coverage=_incomplete(context.incomplete),
            stale_since=node.stale_since or None,
            cycle=_cycle(context.cyclic_sources),
            cluster=node.cluster_name,
            environment=node.environment_name,
            details=None if is_chain else _details(node),
            cluster_id=node.cluster_id,
            environment_id=node.environment_id,
            node_type="upstream_chain" if is_chain else str(node.node_type),
            node_id=node.node_id,
        ),
    }


def _standard(node: Node, context: NodeContext) -> dict[str, Any]:
    if context.role is Role.CHAIN:
        return {}
    name = uri = None
    if isinstance(node, GlueTableNode):
        table = GlueTableNode.of(node)
        name, uri = table.shown_place.dotted, table.storage_location or None
    elif isinstance(node, IcebergTableNode):
        name, uri = node.label, GlueTableNode.of(node).storage_location or None
    elif node.node_type == NodeType.EXTERNAL_DATASET:
        uri = node.qualified_name
    schema = column_schema(_columns(node, context))
    return StandardMetadata.entries(
        table_name=name, uri=uri, column_schema=MetadataValue.table_schema(schema) if schema else None
    )


def _columns(node: Node, context: NodeContext) -> Sequence[Field]:
    """A table's columns, or the fields of a topic's value schema, with nested ones where they are known."""
    view = TopicNode.of(node)
    if columns := GlueTableNode.of(node).columns:
        return _documented(columns, context.view.topics_of(node))
    if fields := view.schema_columns or view.schema_fields:
        return fields
    if node.node_type == NodeType.KAFKA_TOPIC:
        for schema in map(SchemaNode.of, context.view.schemas_of(node)):
            if schema.role != "key" and (fields := schema.fields):
                return fields
    return ()


def _documented(columns: Sequence[Field], topics: list[Node]) -> Sequence[Field]:
    """The columns, with the doc string of the topic's field where Glue has no comment."""
    if len(topics) != 1:
        return columns
    docs = {field.name: field.comment for field in TopicNode.of(topics[0]).schema_columns}
    return [column._replace(comment=column.comment or docs.get(column.name, "")) for column in columns]


def _of_kind(node: Node, context: NodeContext) -> dict[str, Any]:
    """Links to the systems themselves, the names and endpoints by which the IO manager reads the asset, and a
    statement's column lineage."""
    if isinstance(node, GlueTableNode):
        return _glue_table(GlueTableNode.of(node), context)
    own: dict[str, Any] = {"source": UrlMetadataValue(node.url) if node.url else None}
    if isinstance(node, IcebergTableNode):
        table = IcebergTableNode.of(node)
        own |= {"database": table.database, "table": table.table_name}
        if context.role is Role.ITSELF:
            own |= tableflow_metadata(tableflow_of(node, context.view))
            # A chain is in the catalog of the lineage tables.
            own |= {"catalog": table.catalog, **_writer(node, context)}
    if node.node_type == NodeType.KAFKA_TOPIC:
        own |= tableflow_metadata(tableflow_of(node, context.view))
        topic = TopicNode.of(node)
        registries = [
            topic.schema_registry_url,
            *(SchemaNode.of(schema).schema_registry_url for schema in context.view.schemas_of(node)),
        ]
        own |= {
            "topic": node.qualified_name,
            "bootstrap": topic.bootstrap or None,
            "schema_registry_url": next(filter(None, registries), None),
            "schema_registry_id": topic.schema_registry_id or None,
            "schema_subject": topic.schema_subject or None,
            "key_schema_subject": topic.key_schema_subject or None,
        }
        if topic.schema_registry_url and not topic.schema_subject:
            # None or several: an input has to name one.
            own["schema_subjects"] = JsonMetadataValue(list(topic.schema_subjects))
    elif node.node_type in PROCESSES:
        # A process is never materialized: its definition is the only place to show this.
        graph = context.view.graph
        flows = [flow for flow in flows_of(node) if flow.column.node_id in graph]
        further = {topic: why for topic, why in further_columns_of(node).items() if topic in graph}
        known = flows or further
        own["column_lineage"] = MarkdownMetadataValue(column_table(graph, flows, further)) if known else None
    if node.node_type in PROCESSES and (feeds := all_feeds(node, context)):
        own["feeds"] = MarkdownMetadataValue(feeds)
    return own


def _glue_table(table: GlueTableNode, context: NodeContext) -> dict[str, Any]:
    place, region = table.shown_place, table.aws_region
    own: dict[str, Any] = {"database": place.database, "table": place.table}
    if context.role is Role.ITSELF:
        own |= tableflow_metadata(tableflow_of(table.node, context.view))
        own |= _writer(table.node, context)
    if context.role is Role.ITSELF and not is_in_glue(table.node):
        own["not_in_glue"] = f"{absence_sentence(table.node)} {table.text('glue_next_step')}".rstrip()
    elif context.role is Role.ITSELF and region:
        url = table.node.url or glue_table_url(region, place.database, place.table)
        own |= {
            "console": UrlMetadataValue(url),
            "athena": athena_select(place.database, place.table),
            "athena_console": UrlMetadataValue(athena_url(region)),
        }
    return own


def _writer(table: Node, context: NodeContext) -> dict[str, Any]:
    """That Tableflow writes a table, and from which topics; empty for other tables."""
    writers = tableflow_of(table, context.view)
    if not writers:
        return {}
    topics = ", ".join(sorted(f"{each.node.cluster_id}.{each.topic}" for each in writers))
    return {"written_by": f"Confluent Tableflow from {topics}", "written_by_tableflow": True}


def _incomplete(reports: Sequence[ScopeReport]) -> MarkdownMetadataValue | None:
    if not reports:
        return None
    rows = [[str(report.scope), report.status, report.reason] for report in reports]
    return MarkdownMetadataValue(
        "Part of this lineage could not be read; what was known before is kept.\n\n"
        + markdown_table(["scope", "status", "reason"], rows)
    )


def _cycle(sources: Sequence[Node]) -> MarkdownMetadataValue | None:
    if not sources:
        return None
    lines = "\n".join(f"- {node.node_type}: `{node.label}`" for node in sources)
    return MarkdownMetadataValue(
        "It also reads these, which closes a cycle. Upstream chains include them; asset dependencies cannot."
        f"\n\n{lines}"
    )


def _details(node: Node) -> MarkdownMetadataValue | None:
    """The attributes that are shown nowhere else, as a table."""
    rows = list(_detail_rows(node.attributes))
    return MarkdownMetadataValue(markdown_table(["attribute", "value"], rows)) if rows else None


def _detail_rows(attributes: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for name, value in sorted(attributes.items()):
        if name in NOT_IN_DETAILS or value in (None, "", [], {}, ()):
            continue
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", nested) for inner, nested in sorted(value.items()))
        elif isinstance(value, list | tuple):
            yield name, ", ".join(map(str, value))
        else:
            yield name, value
