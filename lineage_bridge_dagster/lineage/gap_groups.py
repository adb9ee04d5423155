"""Nodes and edges by what decides which incomplete scopes are behind them: a graph has few such groups."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from lineage_bridge_dagster.lineage.coverage import Coverage
from lineage_bridge_dagster.lineage.gaps import Gaps
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node, scopes_of
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, TopicNode


def group_of_node(node: Node) -> str:
    """All of a node that decides which scopes may hide something upstream of it, but for its edges."""
    topic = TopicNode.of(node)
    return _text(
        str(node.node_type),
        node.environment_id,
        node.cluster_id,
        sorted(scopes_of(node.attributes)),
        GlueTableNode.of(node).aws_region,
        topic.cloud,
        topic.region,
        bool(topic.schema_fields),
    )


def group_of_edge(edge: Edge) -> str:
    """All of an edge that decides which scopes may hide something upstream of its end; empty for none."""
    scopes = sorted(scopes_of(edge.attributes))
    return _text(*scopes) if scopes else ""


def open_groups_of_nodes(groups: Iterable[str], coverage: Coverage) -> Collection[str]:
    """The groups of nodes that incomplete scopes are behind."""
    nodes = {group: _node(group) for group in groups}
    gaps = Gaps(Graph(nodes.values()), coverage)
    return {group for group, node in nodes.items() if gaps.of((node.node_id,))}


def open_groups_of_edges(groups: Iterable[str], coverage: Coverage) -> Collection[str]:
    """The groups of edges that incomplete scopes are behind."""
    found = list(filter(None, groups))
    # A dataset has no scopes of its own.
    ends = [Node(group, "", "", group) for group in found]
    edges = [Edge("", group, EdgeType.PRODUCES, attributes={"scopes": json.loads(group)}) for group in found]
    gaps = Gaps(Graph(ends, edges), coverage)
    return {group for group in found if gaps.of((group,))}


def _node(group: str) -> Node:
    kind, environment_id, cluster_id, scopes, aws_region, cloud, region, has_fields = json.loads(group)
    return Node(
        group,
        "",
        kind,
        group,
        environment_id=environment_id,
        cluster_id=cluster_id,
        attributes={
            "scopes": scopes,
            "aws_region": aws_region,
            "cloud": cloud,
            "region": region,
            "schema_fields": [{"name": "any", "type": ""}] if has_fields else [],
        },
    )


def _text(*parts: object) -> str:
    return json.dumps(parts, separators=(",", ":"))
