"""A Glue table's page, and that of its upstream chain."""

from __future__ import annotations

from lineage_bridge_dagster.glue.links import athena_describe, athena_select
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import GlueTableNode
from lineage_bridge_dagster.specs.graph_view import NodeContext, Role
from lineage_bridge_dagster.specs.pages.tree import text_tree
from lineage_bridge_dagster.specs.pages.words import fenced, names, plain, where
from lineage_bridge_dagster.text import first_few

Fact = tuple[str, str]


def first_line(table: Node, context: NodeContext) -> str:
    """What it is and the topic it comes from."""
    place = GlueTableNode.of(table).shown_place
    topics = names(context.view.topics_of(table))
    origin = f", from Kafka topic {topics}{where(table)}" if topics else ""
    if context.role is Role.CHAIN:
        return plain(f"Upstream lineage of the Glue table {place.dotted}{origin}")
    return plain(f"Iceberg table {place.table} in the Glue database {place.database}{origin}")


def facts(table: Node, context: NodeContext) -> list[Fact]:
    """What Glue and Tableflow say of the table."""
    attributes = table.attributes
    flows = [one for one in context.view.sources(table) if one.node_type == NodeType.TABLEFLOW_TABLE]
    partitions = attributes.get("partition_keys")
    found = [
        ("Region", plain(str(attributes.get("aws_region") or ""))),
        ("Location", plain(str(attributes.get("storage_location") or ""))),
        ("Tableflow", first_few([_tableflow(flow) for flow in flows], 3)),
        (
            "Partitioned by",
            plain(first_few(list(map(_name, partitions)), 10)) if isinstance(partitions, list) else "",
        ),
        ("Owner", plain(str(attributes.get("owner") or ""))),
        ("Not pushed", plain(str(attributes.get("conflict") or ""))),
    ]
    return [(name, text) for name, text in found if text]


def _tableflow(flow: Node) -> str:
    attributes = flow.attributes
    synced = attributes.get("catalog_sync")
    states = [
        f"{one.get('type')} {one.get('status')}"
        for one in (synced if isinstance(synced, list) else [])
        if isinstance(one, dict)
    ]
    words = [attributes.get("phase"), attributes.get("write_mode"), *states]
    return plain(", ".join(str(word).lower().replace("_", " ") for word in words if word))


def _name(column: object) -> str:
    return str(column.get("name", "")) if isinstance(column, dict) else str(column)


def origin(table: Node, context: NodeContext) -> str:
    """Everything upstream as a tree."""
    return f"Where it comes from:\n\n{fenced(text_tree(context.view, table))}"


def athena(table: Node) -> str:
    """The statements that query it in Athena; names with dots work only as they are quoted here."""
    place = GlueTableNode.of(table).shown_place
    select, describe = (
        athena_select(place.database, place.table),
        athena_describe(place.database, place.table),
    )
    statements = fenced(f"{select};\n{describe};", "sql")
    return f"In Athena; the second shows its lineage parameters:\n\n{statements}"
