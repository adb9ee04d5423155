"""A Kafka topic's page."""

from __future__ import annotations

from collections.abc import Mapping

from lineage_bridge_dagster.lineage.glue_status import GlueStatus, is_in_glue
from lineage_bridge_dagster.lineage.model import Node, NodeType
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, TopicNode
from lineage_bridge_dagster.specs.graph_view import NodeContext
from lineage_bridge_dagster.specs.markdown import paragraph
from lineage_bridge_dagster.specs.pages.phrases import location, names, plain, titles
from lineage_bridge_dagster.specs.pages.tableflow_facts import tableflow_of, tableflow_rows
from lineage_bridge_dagster.text import byte_size, duration, first_few

_TABLES = frozenset({NodeType.TABLEFLOW_TABLE, NodeType.CATALOG_TABLE})

#: By the status of a Tableflow table, what its topic's page says.
_WITHOUT_TABLE: Mapping[str, str] = {
    GlueStatus.MISSING: "Tableflow is enabled; no table in Glue",
    GlueStatus.UNKNOWN: "Tableflow is enabled; not known whether Glue has the table",
    GlueStatus.NOT_CONFIGURED: "Tableflow is enabled; no sync to Glue is set up",
    GlueStatus.CONFLICT: "Tableflow is enabled; no lineage is pushed to its table in Glue",
}


def first_line(topic: Node, context: NodeContext) -> str:
    """`Kafka topic orders on cluster retail in prod, written by enrich`, or `mirrors ...`."""
    sources = context.view.sources(topic)
    writers = names([source for source in sources if source.node_type != NodeType.KAFKA_TOPIC])
    mirrored = [source for source in sources if source.node_type == NodeType.KAFKA_TOPIC]
    text = f"Kafka topic {plain(topic.label)}{location(topic)}"
    inferred = " (inferred from its name)" if topic.writer else ""
    text += f", written by {writers}{inferred}" if writers else ""
    return text + (f", mirrors {names(mirrored)}{location(mirrored[0])}" if mirrored else "")


def facts(topic: TopicNode, context: NodeContext) -> dict[str, str]:
    """Partitions, retention, schema, producers, consumers and tables."""
    view = context.view
    readers = view.targets(topic.node)
    tables = [
        table
        for reader in readers
        for table in [reader, *view.targets(reader)]
        if isinstance(table, GlueTableNode) and is_in_glue(table)
    ]
    return {
        "Partitions": _partitions(topic),
        "Retention": _retention(topic),
        "Schema": _schema(topic),
        "Written by": titles(view.sources(topic.node)),
        "Read by": titles(reader for reader in readers if reader.node_type not in _TABLES),
        "Tables": first_few(sorted({plain(table.label) for table in tables}), 10),
        **tableflow_rows(tableflow_of(topic.node, view)),
    }


def absence(topic: Node, context: NodeContext) -> str:
    """That Tableflow is enabled and Glue has no table of this topic alone, with the reason and what to do, as
    paragraphs; empty if it has one, or if Tableflow is off."""
    texts = []
    for tableflow in tableflow_of(topic, context.view):
        if text := _WITHOUT_TABLE.get(tableflow.glue_status, ""):
            reason, step = tableflow.conflict or tableflow.glue_reason, tableflow.glue_next_step
            texts += [f"{text}: {reason}.", f"What to do: {step}" if step else ""]
    return "\n\n".join(paragraph(text) for text in texts if text)


def _partitions(topic: TopicNode) -> str:
    if not topic.partitions:
        return ""
    replication = topic.replication_factor
    return f"{topic.partitions}" + (f", replication factor {replication}" if replication else "")


def _retention(topic: TopicNode) -> str:
    """How long and how much the topic keeps, and its cleanup policy."""
    policy, time, size = topic.cleanup_policy, topic.retention_ms, topic.retention_bytes
    limits = []
    if "compact" in policy:
        limits.append("the last record of each key")
    if time is not None and policy != "compact":
        limits.append("unlimited" if time < 0 else duration(time))
    if size is not None and size >= 0:
        limits.append(f"up to {byte_size(size)} per partition")
    return ", ".join(limits) + (f" ({policy})" if policy and limits else policy)


def _schema(topic: TopicNode) -> str:
    if not topic.schema_subject:
        return first_few([plain(subject) for subject in topic.schema_subjects])
    text = topic.schema_subject + (f" version {topic.schema_version}" if topic.schema_version else "")
    details = [topic.schema_type, f"id {topic.schema_id}" if topic.schema_id else ""]
    if any(details):
        text += f" ({', '.join(filter(None, details))})"
    return text + (f"; key: {topic.key_schema_subject}" if topic.key_schema_subject else "")
