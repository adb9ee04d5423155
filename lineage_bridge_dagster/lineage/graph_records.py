"""Nodes, edges and scope reports as plain records, the form that JSON and Parquet files hold.

Reading is lenient: ids are opaque, unknown kinds of node and edge are kept, optional fields get defaults and
unknown fields are ignored. Anything else that is wrong is reported with its location: `nodes[3].node_id`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.coverage import Coverage, Note, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.equal_values import EqualValues
from lineage_bridge_dagster.lineage.json_record import JsonRecord, describe_type
from lineage_bridge_dagster.lineage.model import Edge, Graph, Node, NodeType
from lineage_bridge_dagster.lineage.nodes import loaded_node
from lineage_bridge_dagster.lineage.other_forms import read_other_forms

#: The systems that LineageBridge knows; it refuses a file with any other.
_SYSTEMS = frozenset({"confluent", "databricks", "aws", "google", "external"})
_OTHER_SYSTEM = "external"
#: The attribute with the system of a node, if that is not the usual one.
_OWN_SYSTEM = "lineage_bridge.system"
#: The types that it does not know -> those that stand for them, and the attribute with the own one.
_TYPES_SHOWN: Mapping[str, str] = {NodeType.EXTERNAL_JOB: NodeType.EXTERNAL_DATASET}
_OWN_TYPE = "lineage_bridge.node_type"

HOW_TO_WRITE_ONE = "Write one with: lineage-bridge extract --output lineage_graph.json"


def node_record(node: Node) -> dict[str, Any]:
    return {
        "node_id": node.node_id,
        "system": node.system,
        "node_type": str(node.node_type),
        "qualified_name": node.qualified_name,
        "display_name": node.display_name,
        "environment_id": node.environment_id,
        "environment_name": node.environment_name,
        "cluster_id": node.cluster_id,
        "cluster_name": node.cluster_name,
        "catalog_type": node.catalog_type,
        "attributes": dict(node.attributes),
        "tags": list(node.tags),
        "url": node.url,
        "first_seen": node.first_seen,
        "last_seen": node.last_seen,
    }


def shown_node(node: Node) -> Node:
    """The node with a system and a type that LineageBridge reads; the reader of records restores its own."""
    if node.system not in _SYSTEMS:
        node = replace(node.with_attributes(**{_OWN_SYSTEM: node.system}), system=_OTHER_SYSTEM)
    if (shown := _TYPES_SHOWN.get(node.node_type)) is not None:
        node = replace(node.with_attributes(**{_OWN_TYPE: str(node.node_type)}), node_type=shown)
    return node


def _own_node(node: Node) -> Node:
    attributes = node.attributes
    if _OWN_SYSTEM in attributes and node.system == _OTHER_SYSTEM:
        system = str(attributes[_OWN_SYSTEM])
        attributes = {name: value for name, value in attributes.items() if name != _OWN_SYSTEM}
        node = replace(node, system=system, attributes=attributes)
    own_type = attributes.get(_OWN_TYPE)
    if own_type in _TYPES_SHOWN and node.node_type == _TYPES_SHOWN[str(own_type)]:
        attributes = {name: value for name, value in attributes.items() if name != _OWN_TYPE}
        node = replace(node, node_type=str(own_type), attributes=attributes).node
    return node


def edge_record(edge: Edge) -> dict[str, Any]:
    return {
        "src_id": edge.src_id,
        "dst_id": edge.dst_id,
        "edge_type": str(edge.edge_type),
        "confidence": edge.confidence,
        "attributes": dict(edge.attributes),
        "first_seen": edge.first_seen,
        "last_seen": edge.last_seen,
    }


def report_record(report: ScopeReport) -> dict[str, Any]:
    return {
        "scope": str(report.scope),
        "status": str(report.status),
        "reason": report.reason,
        "count": report.count,
        **({"by_name": True} if report.by_name else {}),
        **(
            {"notes": [{"kind": n.kind, "names": list(n.names)} for n in report.notes]}
            if report.notes
            else {}
        ),
    }


def discovery_of(
    nodes: object,
    edges: object,
    coverage: object = None,
    *,
    discovered_at: object = None,
    name: str,
    graph: Graph | None = None,
) -> Discovery:
    """Build a discovery from lists of records.

    Args:
        nodes: A list of node records, or an iterator over them; a `Node` is taken as it is.
        edges: The same of edge records.
        coverage: The same of scope reports; None if there is none.
        discovered_at: ISO 8601 text.
        name: What error messages call the source.
        graph: An empty one to fill, for iterators that look at what has been read.

    Raises:
        ConfigurationError: A record is malformed; the message gives its location.
    """
    graph = Graph() if graph is None else graph
    for i, record in enumerate(_list(nodes, "nodes", name)):
        node = record if isinstance(record, Node) else _node(JsonRecord(record, f"nodes[{i}]", name))
        graph.add_node(_own_node(node))
    for i, record in enumerate(_list(edges, "edges", name)):
        graph.add_edge(
            record if isinstance(record, Edge) else _edge(JsonRecord(record, f"edges[{i}]", name), graph)
        )
    read_other_forms(graph)
    reports = Coverage()
    if coverage is not None:
        for i, record in enumerate(_list(coverage, "coverage", name)):
            reports.add(_report(JsonRecord(record, f"coverage[{i}]", name)))
    when = JsonRecord({"discovered_at": discovered_at}, "", name).text("discovered_at")
    return Discovery(graph=graph, coverage=reports, discovered_at=when or "")


def _list(value: object, location: str, name: str) -> Iterable[object]:
    if isinstance(value, list | Iterator):
        return value
    problem = "is missing" if value is None else f"is {describe_type(value)}"
    raise ConfigurationError(
        f"{name}: {location} {problem}.", hint=f'Write a list: "{location}": [...]. {HOW_TO_WRITE_ONE}'
    )


def _attributes(record: JsonRecord) -> dict[str, Any]:
    value = record.mapping("attributes")
    # Older states hold a cache of parsed SQL here, which is not reused.
    return value if "sql_cache" not in value else {n: item for n, item in value.items() if n != "sql_cache"}


def _node(record: JsonRecord) -> Node:
    return loaded_node(
        record.required("node_id", '"confluent:kafka_topic:env-abc123:lkc-abc123/orders"'),
        record.text("system") or "",
        record.required("node_type", '"kafka_topic"'),
        record.required("qualified_name", '"orders"'),
        record.text("display_name") or "",
        record.text("environment_id"),
        record.text("environment_name"),
        record.text("cluster_id"),
        record.text("cluster_name"),
        record.text("catalog_type"),
        _attributes(record),
        record.texts("tags"),
        *(record.text(name) for name in ("url", "first_seen", "last_seen")),
    )


#: The fields of a node that are texts or null: first the required ones, last the one that few nodes share.
_TEXTS = (
    "node_id",
    "node_type",
    "qualified_name",
    "system",
    "display_name",
    "environment_id",
    "environment_name",
    "cluster_id",
    "cluster_name",
    "catalog_type",
    "first_seen",
    "last_seen",
    "url",
)
_EDGE_TEXTS = ("src_id", "dst_id", "edge_type", "first_seen", "last_seen")
_TEXT_OR_NULL = {str, type(None)}


def plain_node(record: object, equal: EqualValues) -> Node | None:
    """A node of a record as `node_record` makes it, with shared values; None if something is not plain."""
    if type(record) is not dict:
        return None
    get = record.get
    values: list[Any] = [*map(get, _TEXTS)]
    attributes, tags = get("attributes"), get("tags")
    if (
        not _TEXT_OR_NULL.issuperset(map(type, values))
        or not all(values[:3])
        or type(attributes) is not dict
        or "sql_cache" in attributes
        or type(tags) is not list
        or not all(type(tag) is str for tag in tags)
    ):
        return None
    text = equal.text
    texts = [(value and text(value)) or None for value in values[3:-1]]
    system, shown, environment, environment_name, cluster, cluster_name, catalog, first, last = texts
    return loaded_node(
        values[0],
        system or "",
        text(values[1]),
        text(values[2]),
        shown or "",
        environment,
        environment_name,
        cluster,
        cluster_name,
        catalog,
        equal.attributes(attributes),
        tuple(map(text, tags)),
        values[-1] or None,
        first,
        last,
    )


def plain_edge(record: object, equal: EqualValues, graph: Graph) -> Edge | None:
    """The same of an edge, with the ids of the graph's nodes."""
    if type(record) is not dict:
        return None
    get = record.get
    source, target, edge_type, first_seen, last_seen = values = [*map(get, _EDGE_TEXTS)]
    attributes, confidence = get("attributes"), get("confidence")
    if (
        not _TEXT_OR_NULL.issuperset(map(type, values))
        or not (source and target and edge_type)
        or type(attributes) is not dict
        or "sql_cache" in attributes
        or type(confidence) is not float
        or not 0 <= confidence <= 1
    ):
        return None
    text = equal.text
    return Edge(
        known_id(source, graph),
        known_id(target, graph),
        text(edge_type),
        # Nearly all edges are certain, and share the number.
        1.0 if confidence == 1.0 else confidence,
        equal.value(attributes),
        text(first_seen or None),
        text(last_seen or None),
    )


def known_id(node_id: str, graph: Graph) -> str:
    """The id as the very text that the node has, for there are many edges."""
    node = graph.nodes.get(node_id)
    return node_id if node is None else node.node_id


def _edge(record: JsonRecord, graph: Graph) -> Edge:
    return Edge(
        src_id=known_id(record.required("src_id", "the node_id of the source"), graph),
        dst_id=known_id(record.required("dst_id", "the node_id of the destination"), graph),
        edge_type=record.required("edge_type", '"produces"'),
        confidence=record.number("confidence"),
        attributes=_attributes(record),
        first_seen=record.text("first_seen"),
        last_seen=record.text("last_seen"),
    )


def _report(record: JsonRecord) -> ScopeReport:
    scope = record.required("scope", '"connect:env-abc123:lkc-abc123"')
    return ScopeReport(
        Scope.parse(scope),
        Status(record.choice("status", [*Status])),
        record.text("reason") or "",
        record.count("count"),
        tuple(
            Note(note.required("kind", '"connector_class"'), note.texts("names"))
            for note in record.records("notes")
        ),
        record.flag("by_name"),
    )
