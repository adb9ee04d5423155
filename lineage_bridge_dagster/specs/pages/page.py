"""An asset's description: what it is, where it comes from, and the facts known about it.

It fills the top of the asset's page; lists and graphs show its first line. It is rendered for every asset at
every load, so it is bounded text.
"""

from __future__ import annotations

from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, IcebergTableNode, TopicNode
from lineage_bridge_dagster.specs.graph_view import NodeContext, Role
from lineage_bridge_dagster.specs.markdown import markdown_table
from lineage_bridge_dagster.specs.metadata import LineageMetadata
from lineage_bridge_dagster.specs.pages import iceberg_table, process, table, topic
from lineage_bridge_dagster.specs.pages.feeds import feeds_table
from lineage_bridge_dagster.specs.pages.phrases import kind_of, location, plain

_DIAGRAM = f"Once materialized, it shows this lineage as a diagram in `{LineageMetadata.key('drawing')}`."


def description(node: Node, context: NodeContext) -> str:
    """A plain first line that says what the asset is and where it comes from; Markdown below it."""
    match node.node_type:
        case NodeType.KAFKA_TOPIC:
            view = TopicNode.of(node)
            absence = topic.absence(node, context)
            return _page(topic.first_line(node, context), absence, facts=topic.facts(view, context))
        case NodeType.CONNECTOR | NodeType.FLINK_JOB | NodeType.KSQLDB_QUERY | NodeType.EXTERNAL_JOB:
            details = (process.state(node), process.statement(node), feeds_table(node, context))
            return _page(process.first_line(node, context), *details, facts=process.facts(node, context))
        case NodeType.CATALOG_TABLE if isinstance(node, GlueTableNode):
            glue_table = GlueTableNode.of(node)
            first, origin = table.first_line(glue_table, context), table.origin(node, context)
            if context.role is Role.CHAIN:
                return _page(first, origin, _DIAGRAM)
            facts = table.facts(glue_table, context)
            return _page(
                first, table.absence(glue_table), origin, facts=facts, below=table.queries(glue_table)
            )
        case NodeType.CATALOG_TABLE if isinstance(node, IcebergTableNode):
            other = IcebergTableNode.of(node)
            first, origin = iceberg_table.first_line(other, context), table.origin(node, context)
            if context.role is Role.CHAIN:
                return _page(first, origin, _DIAGRAM)
            facts = iceberg_table.facts(other, context)
            return _page(first, origin, facts=facts, below=iceberg_table.queries(other, context))
        case NodeType.EXTERNAL_DATASET:
            return _page(f"External dataset: {plain(node.qualified_name)}{_inference(node, context)}")
        case _:
            return _page(f"{kind_of(node)} {plain(node.label)}{location(node)}")


def _inference(dataset: Node, context: NodeContext) -> str:
    """That nothing but the names of topics tells that there is a dataset; empty if anything else does."""
    view = context.view
    ends = [(dataset.node_id, target.node_id) for target in view.targets(dataset)]
    guessed = ends and not view.sources(dataset) and all(pair in view.inferred for pair in ends)
    return ", inferred from the names of topics" if guessed else ""


def _page(first: str, *details: str, facts: dict[str, str] | None = None, below: str = "") -> str:
    """The first line, then what people look for most: the UI folds the rest of a long description."""
    shown = [(name, text) for name, text in (facts or {}).items() if text]
    table = markdown_table(["", ""], shown) if shown else ""
    return "\n\n".join(part for part in (f"{first}.", *details, table, below) if part)
