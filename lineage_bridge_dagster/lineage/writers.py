"""Settles which connector writes a topic if only the topic's name indicates it. Pure.

Some connectors copy whatever a database has (change capture without a table list, or with expressions), or
take the topic from the record (an outbox). They name no topic, so what they write is inferred from the names
of the topics that exist. In this order:

1. What is known excludes what is inferred: a statement, a query, a mirror, or a connector whose configuration
   or offsets name the topic. A topic for bookkeeping has no such writer either.
2. Inferred claims to a topic that agree on what it is made of stand, and the topic is marked.
3. Of claims that disagree, none stands: only the records show which one is true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lineage_bridge_dagster.lineage.model import FLOW_EDGES, Edge, EdgeType, Evidence, Graph, Node, NodeType
from lineage_bridge_dagster.lineage.nodes import TopicNode
from lineage_bridge_dagster.lineage.unknowns import UNKNOWN, Unknown
from lineage_bridge_dagster.text import first_few

#: Attribute of a topic: `inferred` if only its name indicates who writes it.
WRITER = "writer"
#: Confidence in what only a topic's name indicates.
BY_NAME = 0.7


def is_inferred(edge: Edge) -> bool:
    """Whether only the name of a topic indicates this edge."""
    return edge.attributes.get("evidence") == Evidence.INFERRED


def settle_writers(graph: Graph) -> None:
    """Remove the inferred claims that do not stand from a graph, in place, and mark the topics of the others.

    A connector gets a warning on what it no longer claims, and datasets that only such a claim names go.
    """
    claimed = {edge.dst_id for edge in graph.edges.values() if is_inferred(edge)}
    writers: dict[str, list[Edge]] = {}
    for edge in graph.edges.values() if claimed else ():
        if edge.dst_id in claimed and edge.edge_type in FLOW_EDGES:
            writers.setdefault(edge.dst_id, []).append(edge)
    withdrawn: dict[str, list[Edge]] = {}
    for topic in list(graph.of_type(NodeType.KAFKA_TOPIC)):
        if topic.node_id not in claimed and WRITER not in topic.attributes:
            continue
        edges = writers.get(topic.node_id, ())
        claims = [edge for edge in edges if is_inferred(edge)]
        disagree = len({edge.inputs or edge.src_id for edge in claims}) > 1
        if disagree or len(claims) < len(edges) or TopicNode.of(topic).is_internal:
            for edge in claims:
                withdrawn.setdefault(edge.src_id, []).append(edge)
            claims = []
        _mark(graph, topic, inferred=bool(claims))
    for claims in withdrawn.values():
        _explain(graph, claims, writers)
    _withdraw(graph, withdrawn)


def _mark(graph: Graph, topic: Node, *, inferred: bool) -> None:
    if inferred:
        if topic.attributes.get(WRITER) != Evidence.INFERRED:
            graph.nodes[topic.node_id] = topic.with_attributes(**{WRITER: str(Evidence.INFERRED)})
    elif WRITER in topic.attributes:
        others = {name: value for name, value in topic.attributes.items() if name != WRITER}
        graph.nodes[topic.node_id] = replace(topic, attributes=others)


def _withdraw(graph: Graph, withdrawn: Mapping[str, Sequence[Edge]]) -> None:
    """Remove the claims of each process, and the inputs that were inferred along with them."""
    for claims in withdrawn.values():
        for claim in claims:
            del graph.edges[claim.key]
    used: dict[str, set[str]] = {}
    for edge in graph.edges.values() if withdrawn else ():
        if edge.src_id in withdrawn and edge.edge_type == EdgeType.PRODUCES:
            used.setdefault(edge.src_id, set()).update(edge.inputs or ())
    freed: set[str] = set()
    for process_id, claims in withdrawn.items():
        unused = {source for claim in claims for source in claim.inputs or ()}
        for source in unused - used.get(process_id, set()):
            key = (source, process_id, EdgeType.CONSUMES)
            if key in graph.edges and is_inferred(graph.edges[key]):
                del graph.edges[key]
                freed.add(source)
    if freed:
        for source in freed.difference(end for key in graph.edges for end in key[:2]):
            graph.nodes.pop(source, None)


def _explain(graph: Graph, claims: Sequence[Edge], writers: Mapping[str, Sequence[Edge]]) -> None:
    """Say on a process which topics it does not claim; one that others claim as well leaves it open."""
    process = graph.nodes.get(claims[0].src_id)
    if process is None:
        return
    known: list[str] = []
    disputed: list[str] = []
    for claim in claims:
        others = [edge for edge in writers[claim.dst_id] if edge.src_id != process.node_id]
        certain = [edge for edge in others if not is_inferred(edge)]
        by = first_few(sorted({_label(graph, edge.src_id) for edge in certain or others}))
        text = f"{_label(graph, claim.dst_id)} ({by})" if by else _label(graph, claim.dst_id)
        (disputed if others and not certain else known).append(text)
    warnings = [
        f"{what}: {first_few(sorted(topics))}"
        for what, topics in (
            ("named like its topics, but others write them", known),
            ("named like its topics, and like those of other connectors, so it is shown for none", disputed),
        )
        if topics
    ]
    unknown = process.unknown
    if disputed:
        unknown = tuple(dict.fromkeys((*unknown, str(Unknown.TOPICS))))
    changes = {"warnings": [*process.warnings, *warnings]}
    changes |= {UNKNOWN: [*unknown]} if unknown else {}
    graph.nodes[process.node_id] = process.with_attributes(**changes)


def _label(graph: Graph, node_id: str) -> str:
    node = graph.nodes.get(node_id)
    return node.label if node else node_id
