"""Random changes of a discovery: nodes and edges added, removed and changed, scopes read worse or better."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from lineage_bridge_dagster.lineage.coverage import Coverage, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, Graph, NodeType
from lineage_bridge_dagster_tests.spark.graphs import CLUSTER, ENV, add_table, topic_id


def changed(discovery: Discovery, rng: random.Random, changes: int = 4) -> Discovery:
    """A later discovery that differs from this one."""
    graph = Graph(discovery.graph.nodes.values(), discovery.graph.edges.values())
    for _ in range(changes):
        rng.choice(_CHANGES)(graph, rng)
    coverage = discovery.coverage
    if rng.random() < 0.5:
        coverage = Coverage(_reread(report, rng) for report in coverage)
    return Discovery(graph, coverage, f"2026-02-{rng.randrange(10, 28)}T00:00:00Z")


def _add_table(graph: Graph, rng: random.Random) -> None:
    name = f"new {rng.randrange(10**6)}"
    above = rng.choice(list(graph.of_type(NodeType.KAFKA_TOPIC, NodeType.FLINK_JOB)))
    add_table(graph, name)
    graph.add_edge(Edge(above.node_id, topic_id(ENV, CLUSTER, name), "produces"))


def _remove_node(graph: Graph, rng: random.Random) -> None:
    """Its edges stay every other time, as those to nodes that could not be read."""
    gone = rng.choice(list(graph.nodes))
    del graph.nodes[gone]
    if rng.random() < 0.5:
        for key in [key for key in graph.edges if gone in key]:
            del graph.edges[key]


def _change_node(graph: Graph, rng: random.Random) -> None:
    node = rng.choice(list(graph.nodes.values()))
    changes = (
        replace(node, display_name=f"shown {rng.randrange(100)}"),
        replace(node, tags=("pii",)),
        node.with_attributes(sql=f"SELECT {rng.randrange(100)}"),
        node.with_attributes(fields_seen=rng.randrange(100)),
        node.with_attributes(stale_since="2026-01-01T00:00:00Z"),
        node.with_attributes(schema_fields=[{"name": f"f{rng.randrange(9)}", "type": "long"}]),
    )
    graph.nodes[node.node_id] = rng.choice(changes)


def _add_edge(graph: Graph, rng: random.Random) -> None:
    source, target = rng.choice(list(graph.nodes)), rng.choice(list(graph.nodes))
    graph.add_edge(Edge(source, target, rng.choice(["produces", "consumes", "transforms"])))


def _remove_edge(graph: Graph, rng: random.Random) -> None:
    if graph.edges:
        del graph.edges[rng.choice(list(graph.edges))]


def _change_edge(graph: Graph, rng: random.Random) -> None:
    if graph.edges:
        edge = rng.choice(list(graph.edges.values()))
        inputs = rng.sample(list(graph.nodes), rng.randrange(3))
        graph.edges[edge.key] = replace(edge.with_attributes(inputs=inputs), confidence=rng.random())


def _touch(graph: Graph, rng: random.Random) -> None:
    """Times alone, which no table is written for."""
    node = rng.choice(list(graph.nodes.values()))
    graph.nodes[node.node_id] = replace(node, last_seen="2026-03-01T00:00:00Z")


_CHANGES: tuple[Callable[[Graph, random.Random], None], ...] = (
    _add_table,
    _remove_node,
    _change_node,
    _change_node,
    _add_edge,
    _remove_edge,
    _change_edge,
    _touch,
)


def _reread(report: ScopeReport, rng: random.Random) -> ScopeReport:
    return replace(report, status=rng.choice(list(Status)), reason=f"tried {rng.randrange(9)}")
