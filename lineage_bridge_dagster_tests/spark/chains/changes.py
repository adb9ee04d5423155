"""Random changes of a discovery: nodes and edges added, removed and changed, scopes read worse or better."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from lineage_bridge_dagster.lineage.coverage import Coverage, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, Graph, NodeType
from lineage_bridge_dagster_tests.spark.graphs import CLUSTER, ENV, add_table, topic_id

REGIONS = ("us-east-1", "eu-west-1")


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


def _change_table(graph: Graph, rng: random.Random) -> None:
    """A commit to it, or another name or place."""
    tables = list(graph.of_type(NodeType.CATALOG_TABLE))
    if not tables:
        return
    table = rng.choice(tables)
    number = rng.randrange(9)
    changes = (
        table.with_attributes(version_id=str(number), parameters={"metadata_location": f"s3://{number}"}),
        table.with_attributes(update_time=f"2026-02-01T00:00:0{number}Z", description=f"version {number}"),
        table.with_attributes(table_name=f"table {number}"),
        table.with_attributes(database=f"database {number}"),
        table.with_attributes(catalog=f"catalog {number}"),
        table.with_attributes(aws_region=rng.choice(REGIONS)),
        replace(table, catalog_type=rng.choice(["AWS_GLUE", "ICEBERG_REST", "UNITY"])),
    )
    graph.nodes[table.node_id] = rng.choice(changes)


def _move(graph: Graph, rng: random.Random) -> None:
    """A node that another place reports, or that is in one."""
    node = rng.choice(list(graph.nodes.values()))
    region = rng.choice(REGIONS)
    changes = (
        node.with_attributes(cloud="AWS", region=region),
        node.with_attributes(scope=f"flink:{ENV}:aws.{region}"),
        node.with_attributes(scopes=[f"kafka:{ENV}:{CLUSTER}", f"glue::{region}"]),
        node.with_attributes(connector_class=f"Class{rng.randrange(9)}"),
        replace(node, environment_id=rng.choice([ENV, "env-2"]), cluster_id=rng.choice([CLUSTER, None])),
        replace(node, qualified_name=f"name {rng.randrange(9)}"),
        replace(node, node_type=rng.choice([NodeType.CONNECTOR, NodeType.KAFKA_TOPIC])),
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
    _change_table,
    _move,
    _add_edge,
    _remove_edge,
    _change_edge,
    _touch,
)


def _reread(report: ScopeReport, rng: random.Random) -> ScopeReport:
    return replace(report, status=rng.choice(list(Status)), reason=f"tried {rng.randrange(9)}")
