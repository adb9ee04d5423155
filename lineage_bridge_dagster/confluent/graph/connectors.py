"""Nodes and edges of connectors. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lineage_bridge_dagster.confluent.connectors import ConnectorLineage, ConnectorRecord, resolve
from lineage_bridge_dagster.confluent.graph.builder import UNKNOWN_INPUTS, Builder, Place, absent_warning
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.model import EdgeType, Node, NodeType
from lineage_bridge_dagster.lineage.redaction import redact_config, redact_text


def add_connectors(
    builder: Builder, place: Place, connectors: Iterable[ConnectorRecord], *, topics_failed: bool
) -> list[str]:
    """Add connectors, with edges to their topics and external datasets.

    Args:
        builder: Collects the nodes and edges.
        place: The cluster.
        connectors: As the Connect API lists them.
        topics_failed: Whether listing the cluster's topics failed for another reason than denied access:
            then every connector that derives topics from that list may lack some that it had before.

    Returns:
        The names of connectors that may lack topics, because the list of topics is incomplete.
    """
    incomplete: list[str] = []
    for connector in connectors:
        lineage = resolve(connector, builder.topics.get(place.key, set()))
        _add(builder, place, connector, lineage)
        data_topics = set(lineage.topics_read) | set(lineage.topics_written)
        data_topics -= {*lineage.dlq_topics, *lineage.report_topics}
        uses_list = lineage.direction == "source" or bool(connector.config.get("topics.regex"))
        if place.key not in builder.fully_listed and (not data_topics or (topics_failed and uses_list)):
            incomplete.append(connector.name)
    return incomplete


def _add(builder: Builder, place: Place, connector: ConnectorRecord, lineage: ConnectorLineage) -> None:
    scope = place.scope("connect")
    node_id = ids.connector_id(*place.key, connector.name)
    read, not_read = builder.resolve_topics(place.key, lineage.topics_read, scope)
    # A dead letter queue may be created only at the first bad record, so its absence is normal.
    created_late = {*lineage.dlq_topics, *lineage.report_topics}
    written, not_written = builder.resolve_topics(place.key, lineage.topics_written, scope)
    warnings = list(lineage.warnings)
    if absent := [*not_read, *(name for name in not_written if name not in created_late)]:
        warnings.append(absent_warning(absent, place.cluster.label))
    builder.add_node(
        node_id,
        NodeType.CONNECTOR,
        connector.name,
        scope,
        attributes={
            "connector_class": connector.config.get("connector.class", ""),
            "connector_type": lineage.direction or connector.type,
            "connector_id": connector.id,
            "family": lineage.family,
            "state": connector.state,
            "config": redact_config(connector.config),
            "dlq_topics": list(lineage.dlq_topics),
            "internal_topics": list(lineage.internal_topics),
            "warnings": [redact_text(warning) for warning in warnings],
        },
        url=builder.console.connector(*place.key, connector.name),
        **place.names,
    )
    sources = read | {name: _dataset(builder, place, name) for name in lineage.datasets_read}
    targets = written | {name: _dataset(builder, place, name) for name in lineage.datasets_written}
    inputs: dict[str, list[str]] = {}
    for source, target in lineage.pairs:
        inputs.setdefault(target, []).extend([sources[source]] if source in sources else [])
    # A dead letter queue or a report takes records of all inputs. With one input or output, nothing is open.
    is_open = len(sources) > 1 and len(targets.keys() - created_late) > 1
    for source_id in sources.values():
        builder.add_edge(source_id, node_id, EdgeType.CONSUMES, scope, confidence=lineage.confidence)
    for name, target_id in targets.items():
        sure = lineage.confidence
        if is_open and name not in inputs and name not in created_late:
            sure = min(sure, UNKNOWN_INPUTS)
        role = "dlq" if name in lineage.dlq_topics else "report" if name in lineage.report_topics else None
        ends = (node_id, target_id, EdgeType.PRODUCES)
        builder.add_edge(*ends, scope, confidence=sure, inputs=inputs.get(name), role=role)
    for name in lineage.internal_topics:
        if (topic := builder.graph.nodes.get(ids.topic_id(*place.key, name))) is not None:
            builder.graph.add_node(_marked_internal(topic))


def _marked_internal(topic: Node) -> Node:
    return replace(
        topic, attributes={**topic.attributes, "is_internal": True}, tags=(*topic.tags, "internal")
    )


def _dataset(builder: Builder, place: Place, dataset: str) -> str:
    """Add an external dataset. Without an environment, it is shared by all connectors to it."""
    node = builder.add_node(
        ids.external_dataset_id(dataset),
        NodeType.EXTERNAL_DATASET,
        dataset,
        place.scope("connect"),
        system="external",
    )
    return node.node_id
