"""Facts that a graph keeps elsewhere than ours do: one that LineageBridge wrote, or an earlier one of ours.

Ids, kinds and edges stay as they are: only attributes that our readers look for are added.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node, NodeType
from lineage_bridge_dagster.lineage.nodes import SchemaNode, TopicNode
from lineage_bridge_dagster.lineage.nodes.policies import OTHER_NAMES


def read_other_forms(graph: Graph) -> None:
    """Add to the nodes of a graph, in place, what they or their schemas hold in another form.

    - A topic gets `schema_fields` from the node of its value schema. LineageBridge has them there only.
    - SQL under `query` and a class under `connector.class` are read as well.
    - `serde_info` becomes the name of the serialization library, as LineageBridge writes it, and an object
      under that name moves to `serde_details`.
    """
    for node in list(graph.nodes.values()):
        if added := {**_other_names(node), **_serde(node.attributes)}:
            graph.nodes[node.node_id] = node.with_attributes(**added)
    values: dict[str, list[Edge]] = {}
    for edge in graph.edges.values():
        if edge.edge_type == EdgeType.HAS_SCHEMA and _is_value(edge, graph):
            values.setdefault(edge.src_id, []).append(edge)
    for topic_id, edges in values.items():
        topic = graph.nodes.get(topic_id)
        # A topic with several record types has no single list of fields.
        if topic is None or len(edges) > 1 or edges[0].confidence < 1 or TopicNode.of(topic).schema_fields:
            continue
        if fields := graph.nodes[edges[0].dst_id].attributes.get("fields"):
            graph.nodes[topic_id] = topic.with_attributes(schema_fields=fields)


def serde_attributes(serde: Mapping[str, Any]) -> dict[str, Any]:
    """The two attributes of a `SerDeInfo` of Glue's API."""
    return {"serde_info": serde.get("SerializationLibrary"), "serde_details": dict(serde)}


def _other_names(node: Node) -> dict[str, Any]:
    if node.node_type not in (NodeType.FLINK_JOB, NodeType.KSQLDB_QUERY, NodeType.CONNECTOR):
        return {}
    attributes = node.attributes
    return {
        ours: attributes[other]
        for ours, others in OTHER_NAMES.items()
        for other in others
        if attributes.get(other) and not attributes.get(ours)
    }


def _serde(attributes: Mapping[str, Any]) -> dict[str, Any]:
    serde = attributes.get("serde_info")
    return serde_attributes(serde) if isinstance(serde, Mapping) else {}


def _is_value(edge: Edge, graph: Graph) -> bool:
    """Whether an edge leads to the schema of a topic's values: its role, else the schema's, else its name."""
    schema, topic = graph.nodes.get(edge.dst_id), graph.nodes.get(edge.src_id)
    if schema is None or topic is None:
        return False
    role = edge.attributes.get("role") or SchemaNode.of(schema).role
    return role == "value" if role else schema.qualified_name != f"{topic.qualified_name}-key"
