"""The page of a Glue table and of its upstream chain."""

from __future__ import annotations

from lineage_bridge_dagster.lineage.glue_status import (
    GlueStatus,
    absence_sentence,
    glue_status,
    is_in_glue,
)
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, TableflowNode
from lineage_bridge_dagster.specs.graph_view import NodeContext, Role
from lineage_bridge_dagster.specs.markdown import fenced, paragraph
from lineage_bridge_dagster.specs.pages.iceberg_table import catalog_rows
from lineage_bridge_dagster.specs.pages.open_points import upstream_sentences
from lineage_bridge_dagster.specs.pages.phrases import location, names, plain
from lineage_bridge_dagster.specs.pages.queries import QueriedTable, QueryPlace, statements
from lineage_bridge_dagster.specs.pages.tableflow_facts import tableflow_of, tableflow_rows
from lineage_bridge_dagster.specs.pages.tree import text_tree
from lineage_bridge_dagster.text import first_few

#: Before the first line of a table that Glue does not have, as far as is known.
_PREFIXES = {GlueStatus.MISSING: "Not in Glue: ", GlueStatus.UNKNOWN: "Not known whether in Glue: "}


def first_line(table: GlueTableNode, context: NodeContext) -> str:
    """What it is and the topic it comes from."""
    place = table.shown_place
    topics = names(context.view.topics_of(table.node) or context.view.feeding_topics(table.node)[0])
    origin = f", from Kafka topic {topics}{location(table.node)}" if topics else ""
    if context.role is Role.CHAIN:
        return plain(f"Upstream lineage of the Glue table {place.dotted}{origin}")
    kind = "Table" if _has_another_form(table, context) else "Iceberg table"
    what = f"{kind} {place.table} in the Glue database {place.database}{origin}"
    return plain(_PREFIXES.get(glue_status(table.node), "") + what)


def _has_another_form(table: GlueTableNode, context: NodeContext) -> bool:
    """Whether it is not one of Iceberg's: a table over the files of a sink connector."""
    form = str(table.parameters.get("table_type") or "").upper()
    return (
        form != "ICEBERG"
        and not tableflow_of(table.node, context.view)
        and bool(context.view.feeding_topics(table.node)[1])
    )


def absence(table: GlueTableNode) -> str:
    """Why Glue does not have the table and what to do, as paragraphs; empty if it has it."""
    if is_in_glue(table.node):
        return ""
    step = table.glue_next_step
    texts = [absence_sentence(table.node), f"What to do: {step}" if step else ""]
    return "\n\n".join(paragraph(text) for text in texts if text)


def facts(table: GlueTableNode, context: NodeContext) -> dict[str, str]:
    """What Glue and Tableflow report about the table."""
    tableflows = tableflow_of(table.node, context.view)
    return {
        "Region": plain(table.aws_region),
        "Location": plain(table.storage_location),
        "Tableflow": first_few([_tableflow(each) for each in tableflows], 3),
        **tableflow_rows(tableflows),
        **(catalog_rows(tableflows[0]) if len(tableflows) == 1 else {}),
        "Partitioned by": plain(first_few([key.name for key in table.partition_keys], 10)),
        "Owner": plain(table.owner),
        "Not pushed": plain(table.conflict),
    }


def _tableflow(table: TableflowNode) -> str:
    """The state of Tableflow's table and its catalog syncs, such as `running, append, aws glue synced`."""
    states = [table.phase, table.write_mode, *(f"{sync.type} {sync.status}" for sync in table.catalog_sync)]
    return plain(", ".join(state.lower().replace("_", " ") for state in states if state))


def origin(table: Node, context: NodeContext) -> str:
    """Everything upstream, as a tree, and where it ends or is not sure."""
    tree = f"Upstream lineage:\n\n{fenced(text_tree(context.view, table))}"
    return "\n\n".join(filter(None, (tree, upstream_sentences(context.view, table))))


def queries(table: GlueTableNode) -> str:
    """Statements to query it and its lineage; none without a table."""
    if glue_status(table.node) is GlueStatus.MISSING:
        return ""
    place = table.shown_place
    catalog = QueryPlace("glue", "glue", region=table.aws_region, catalog_id=table.catalog_id)
    return statements(QueriedTable(catalog, place.database, place.table))
