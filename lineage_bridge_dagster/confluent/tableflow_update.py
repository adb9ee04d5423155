"""The Tableflow tables of one cluster as they are now, put into the graph of the last discovery.

A discovery reads every API. When only Tableflow's lists of a cluster have changed, four requests do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lineage_bridge_dagster.confluent.api.org import Environment, KafkaCluster
from lineage_bridge_dagster.confluent.api.paging import list_control
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.api.tableflow import CatalogIntegration, TableflowTopic, list_tableflow
from lineage_bridge_dagster.confluent.cluster_fetching import ClusterListing
from lineage_bridge_dagster.confluent.graph.builder import Builder, Console, Place
from lineage_bridge_dagster.confluent.graph.tableflow import add_tableflow
from lineage_bridge_dagster.lineage.carry import STALE_ATTRIBUTES, STALE_SINCE
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType, Graph, Node, NodeType, known_since
from lineage_bridge_dagster.lineage.nodes import Api, TableflowNode
from lineage_bridge_dagster.lineage.nodes.policies import reported_by

#: The fields of a Tableflow table that a listing decides; empty ones are left out.
LISTED = reported_by(TableflowNode, Api.TABLEFLOW, Api.INTEGRATIONS)


def read_tableflow(session: ConfluentSession, environment: str, cluster: str) -> ClusterListing | None:
    """Read what Tableflow lists of a cluster; None if the key no longer sees the cluster.

    Raises:
        ConfluentError: a request failed, or returned only a part.
    """
    environments = {each.id: each for each in list_control(session, Environment)}
    clusters = {each.id: each for each in list_control(session, KafkaCluster, environment)}
    if environment not in environments or cluster not in clusters:
        return None
    return ClusterListing(
        Place(environments[environment], clusters[cluster]),
        tableflow=list_tableflow(session, TableflowTopic, environment, cluster),
        integrations=list_tableflow(session, CatalogIntegration, environment, cluster),
    )


def with_tableflow(discovery: Discovery, listing: ClusterListing, console: Console, now: str) -> Graph | None:
    """The discovery's graph with a cluster's Tableflow tables as they are listed.

    Returns:
        None if only a whole discovery can tell: a table is gone, its place in Glue has changed, its topic is
        not in the graph, or the last discovery could not read the cluster.
    """
    place, graph = listing.place, discovery.graph
    known = {node.node_id: node for node in _of_cluster(graph, place, NodeType.TABLEFLOW_TABLE)}
    if not _was_read(discovery, place) or any(map(_is_stale, known.values())):
        return None
    topics = {node.qualified_name for node in _of_cluster(graph, place, NodeType.KAFKA_TOPIC)}
    builder = Builder(now, console, places={place.key: place}, topics={place.key: topics})
    kafka = discovery.coverage.get(place.scope("kafka"))
    if kafka is not None and kafka.status is Status.COMPLETE:
        builder.fully_listed.add(place.key)
    add_tableflow(builder, place, listing.tableflow, listing.integrations)
    listed = builder.graph
    if known.keys() - listed.nodes.keys() or any(listed.of_type(NodeType.KAFKA_TOPIC)):
        return None
    pairs = ((TableflowNode.of(each[node_id]) for each in (known, listed.nodes)) for node_id in known)
    if any(before.expected_place != now.expected_place for before, now in pairs):
        return None
    changed = {
        node_id: _seen_again(known[node_id], node) if node_id in known else node
        for node_id, node in listed.nodes.items()
    }
    updated = Graph()
    updated.nodes = {**graph.nodes, **changed}
    # The error topic may have changed.
    updated.edges = {
        key: edge
        for key, edge in graph.edges.items()
        if not (edge.src_id in known and edge.edge_type == EdgeType.PRODUCES)
    }
    for key, edge in listed.edges.items():
        updated.edges[key] = known_since(edge, graph.edges.get(key))
    return updated


def _of_cluster(graph: Graph, place: Place, kind: NodeType) -> list[Node]:
    return [node for node in graph.of_type(kind) if (node.environment_id, node.cluster_id) == place.key]


def _was_read(discovery: Discovery, place: Place) -> bool:
    reports = (discovery.coverage.get(place.scope(api)) for api in ("tableflow", "catalog_integrations"))
    return all(report is not None and report.status is Status.COMPLETE for report in reports)


def _is_stale(node: Node) -> bool:
    return bool(node.attributes.keys() & {STALE_SINCE, STALE_ATTRIBUTES})


def _seen_again(before: Node, now: Node) -> Node:
    """The node as it is now, with what other APIs told of it."""
    others = {name: value for name, value in before.attributes.items() if name not in LISTED}
    attributes: Mapping[str, object] = {**others, **now.attributes}
    return replace(now, attributes=attributes, first_seen=before.first_seen, tags=before.tags)
