"""Graphs for the tests of chains: random ones with cycles and islands, and worlds of many tables."""

from __future__ import annotations

import random

from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.ids import (
    external_dataset_id,
    flink_job_id,
    glue_table_id,
    tableflow_table_id,
    topic_id,
)
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node, NodeType

ENV = "env-1"
CLUSTER = "lkc-1"
AT = "2026-01-02T03:04:05Z"


def table_of(topic: str, database: str = CLUSTER) -> str:
    """The id of the Glue table of a topic."""
    return glue_table_id(ENV, GluePlace(database, topic.lower()))


def add_table(graph: Graph, topic: str, database: str = CLUSTER) -> str:
    """A topic with its Tableflow table and its Glue table; returns the Glue table's id."""
    kafka = topic_id(ENV, CLUSTER, topic)
    flow = tableflow_table_id(ENV, CLUSTER, topic)
    table = table_of(topic, database)
    in_cluster = {"environment_id": ENV, "cluster_id": CLUSTER}
    graph.add_node(Node(kafka, "confluent", NodeType.KAFKA_TOPIC, topic, **in_cluster))
    graph.add_node(Node(flow, "confluent", NodeType.TABLEFLOW_TABLE, f"{CLUSTER}.{topic}", **in_cluster))
    graph.add_node(
        Node(
            table,
            "aws",
            NodeType.CATALOG_TABLE,
            GluePlace(database, topic.lower()).qualified_name,
            environment_id=ENV,
            catalog_type="AWS_GLUE",
            attributes={"database": database, "table_name": topic.lower()},
        )
    )
    graph.add_edge(Edge(kafka, flow, EdgeType.MATERIALIZES))
    graph.add_edge(Edge(flow, table, EdgeType.MATERIALIZES))
    return table


def discovery_of(graph: Graph, coverage: Coverage | None = None) -> Discovery:
    return Discovery(graph, coverage or Coverage(), AT)


def world(tables: int, depth: int = 3) -> Discovery:
    """Tables behind chains of statements, all from one outside dataset."""
    graph = Graph()
    source = external_dataset_id("postgres://pg1.example:5432/shop.public.orders")
    graph.add_node(Node(source, "external", NodeType.EXTERNAL_DATASET, "postgres://pg1.example:5432/shop"))
    for number in range(tables):
        name = f"orders.v{number}"
        add_table(graph, name)
        below = topic_id(ENV, CLUSTER, name)
        for level in range(depth):
            job = flink_job_id(ENV, "AWS", "us-east-1", f"job-{number}-{level}")
            above = topic_id(ENV, CLUSTER, f"raw-{number}-{level}")
            graph.add_node(
                Node(
                    job,
                    "confluent",
                    NodeType.FLINK_JOB,
                    f"job-{number}-{level}",
                    environment_id=ENV,
                    attributes={"sql": f"INSERT INTO t SELECT {level}"},
                )
            )
            graph.add_node(
                Node(
                    above,
                    "confluent",
                    NodeType.KAFKA_TOPIC,
                    f"raw-{number}-{level}",
                    environment_id=ENV,
                    cluster_id=CLUSTER,
                    attributes={"schema_fields": [{"name": "id", "type": "long"}]},
                )
            )
            graph.add_edge(Edge(above, job, EdgeType.CONSUMES))
            graph.add_edge(Edge(job, below, EdgeType.PRODUCES))
            below = above
        graph.add_edge(Edge(source, below, EdgeType.CONSUMES))
    return discovery_of(graph)


def tangle(seed: int, topics: int = 40, edges: int = 90) -> Discovery:
    """A random graph with cycles, loops, islands, half-covered scopes and names that are hard to quote.

    Many statements make their outputs from some of their inputs, or from topics that do not exist.
    """
    rng = random.Random(seed)  # noqa: S311
    graph = Graph()
    names = [f"{rng.choice(['o.v', 'O-v', 'o`v', 'ö/v', 'it’s '])}{i}" for i in range(topics)]
    for name in names:
        add_table(graph, name)
    scopes = [str(Scope("flink", ENV, region)) for region in ("aws.us-east-1", "aws.eu-west-1")]
    for number in range(edges):
        source, target = rng.choice(names), rng.choice(names)
        if rng.random() < 0.5:
            # A loop here is a statement that reads what it writes.
            graph.add_edge(Edge(topic_id(ENV, CLUSTER, source), topic_id(ENV, CLUSTER, target), "transforms"))
            continue
        job = flink_job_id(ENV, "AWS", "us-east-1", f"job {number}")
        graph.add_node(
            Node(
                job,
                "confluent",
                NodeType.FLINK_JOB,
                f"job {rng.randrange(5)}",
                environment_id=ENV,
                attributes={"sql": f"SELECT 'secret{number}'", "scope": rng.choice(scopes)},
            )
        )
        reads = [topic_id(ENV, CLUSTER, name) for name in (source, *rng.sample(names, 2))]
        for topic in reads:
            graph.add_edge(Edge(topic, job, EdgeType.CONSUMES))
        for name in (target, rng.choice(names)):
            inputs = rng.sample([*reads, "unknown"], rng.randrange(4))
            known = {"inputs": sorted(inputs)} if rng.random() < 0.8 else {}
            graph.add_edge(Edge(job, topic_id(ENV, CLUSTER, name), EdgeType.PRODUCES, attributes=known))
    coverage = Coverage(
        [
            ScopeReport(Scope.parse(scopes[0]), Status.COMPLETE),
            ScopeReport(Scope.parse(scopes[1]), rng.choice(list(Status)), "tried"),
        ]
    )
    return discovery_of(graph, coverage)
