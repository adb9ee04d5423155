"""Graphs of Glue tables with their upstream, and discoveries of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_names import GluePlace, glue_table_name
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node, NodeType

REGION = "us-east-1"
ENVIRONMENT = "env-abc123"
CLUSTER = "lkc-abc123"
CONNECT = f"connect:{ENVIRONMENT}:{CLUSTER}"
NOW = datetime(2026, 4, 30, 12, 34, 56, 789000, tzinfo=UTC)


def tableflow_node(
    topic: str,
    *,
    cluster: str = CLUSTER,
    environment: str = ENVIRONMENT,
    database: str | None = None,
    path: str | None = None,
    **attributes: Any,
) -> Node:
    return Node(
        ids.tableflow_table_id(environment, cluster, topic),
        "confluent",
        NodeType.TABLEFLOW_TABLE,
        f"{cluster}.{topic}",
        display_name=f"{cluster}.{topic}",
        environment_id=environment,
        cluster_id=cluster,
        attributes={
            "glue_database": database or cluster,
            "glue_table": glue_table_name(topic),
            "table_path": path,
            "catalog_types": ["AWS_GLUE"],
            "region": REGION,
            "phase": "RUNNING",
            "scope": f"tableflow:{environment}:{cluster}",
            **attributes,
        },
    )


def topic_node(
    topic: str, *, cluster: str = CLUSTER, environment: str = ENVIRONMENT, **attributes: Any
) -> Node:
    return Node(
        ids.topic_id(environment, cluster, topic),
        "confluent",
        NodeType.KAFKA_TOPIC,
        topic,
        environment_id=environment,
        cluster_id=cluster,
        attributes={"scope": f"kafka:{environment}:{cluster}", **attributes},
    )


def connector_node(
    name: str, *, cluster: str = CLUSTER, environment: str = ENVIRONMENT, **attributes: Any
) -> Node:
    return Node(
        ids.connector_id(environment, cluster, name),
        "confluent",
        NodeType.CONNECTOR,
        name,
        environment_id=environment,
        cluster_id=cluster,
        attributes={"scope": f"connect:{environment}:{cluster}", **attributes},
    )


def dataset_node(name: str, **attributes: Any) -> Node:
    return Node(
        ids.external_dataset_id(name), "external", NodeType.EXTERNAL_DATASET, name, attributes=attributes
    )


def add_sink(
    graph: Graph,
    topics: Iterable[str],
    datasets: Mapping[str, Iterable[str]],
    *,
    name: str = "sink",
    environment: str = ENVIRONMENT,
    **attributes: Any,
) -> Node:
    """Add topics -> connector -> datasets, and return the connector.

    Args:
        graph: The graph.
        topics: What the connector reads.
        datasets: What it writes, each with the topics that it is made of if not all count.
        name: That of the connector.
        environment: That of the topics and of the connector.
        attributes: Those of the connector.
    """
    scope = {"scope": CONNECT}
    connector = graph.add_node(connector_node(name, environment=environment, **attributes, **scope))
    for topic in topics:
        read = graph.add_node(topic_node(topic, environment=environment))
        graph.add_edge(Edge(read.node_id, connector.node_id, EdgeType.CONSUMES, attributes=scope))
    for dataset, made_of in datasets.items():
        written = graph.add_node(dataset_node(dataset, **scope))
        inputs = sorted(ids.topic_id(environment, CLUSTER, topic) for topic in made_of)
        edge = {**scope, **({"inputs": inputs} if inputs else {})}
        graph.add_edge(Edge(connector.node_id, written.node_id, EdgeType.PRODUCES, attributes=edge))
    return connector


def add_table(
    graph: Graph,
    topic: str,
    *,
    cluster: str = CLUSTER,
    environment: str = ENVIRONMENT,
    database: str | None = None,
    connector: str | None = "debezium-pg",
    glue: bool = True,
    path: str | None = None,
) -> Node:
    """Add dataset -> connector -> topic -> Tableflow table -> Glue table, and return the last node."""
    place = {"environment": environment, "cluster": cluster}
    fields = [{"name": "id", "type": "long"}, {"name": "note", "type": "string"}]
    source_topic = graph.add_node(topic_node(topic, **place, schema_fields=fields))
    scope = {"scope": source_topic.attributes["scope"]}
    flow = graph.add_node(
        tableflow_node(topic, cluster=cluster, environment=environment, database=database, path=path)
    )
    graph.add_edge(Edge(source_topic.node_id, flow.node_id, EdgeType.MATERIALIZES, attributes=scope))
    if connector:
        source = graph.add_node(connector_node(connector, **place, connector_class="PostgresCdcSourceV2"))
        dataset = graph.add_node(dataset_node("postgres://pg1.example:5432/shop.public.orders"))
        graph.add_edge(Edge(dataset.node_id, source.node_id, EdgeType.CONSUMES))
        graph.add_edge(Edge(source.node_id, source_topic.node_id, EdgeType.PRODUCES))
    if not glue:
        return flow
    table = graph.add_node(
        glue_node(topic, database=database or cluster, environment=environment, cluster=cluster)
    )
    graph.add_edge(Edge(flow.node_id, table.node_id, EdgeType.MATERIALIZES))
    return table


def glue_node(
    topic: str,
    *,
    database: str = CLUSTER,
    environment: str = ENVIRONMENT,
    cluster: str = CLUSTER,
    **attributes: Any,
) -> Node:
    place = GluePlace(database, glue_table_name(topic))
    return Node(
        ids.glue_table_id(environment, place),
        "aws",
        NodeType.CATALOG_TABLE,
        place.qualified_name,
        display_name=place.dotted,
        environment_id=environment,
        cluster_id=cluster,
        catalog_type="AWS_GLUE",
        attributes={
            "database": database,
            "table_name": place.table,
            "aws_region": REGION,
            "scope": f"glue::{REGION}",
            **attributes,
        },
    )


def complete_coverage(*more: ScopeReport) -> Coverage:
    """A coverage in which every scope is complete, but for those in `more`."""
    scopes = [
        Scope("environments"),
        Scope("clusters", ENVIRONMENT),
        Scope("kafka", ENVIRONMENT, CLUSTER),
        Scope("connect", ENVIRONMENT, CLUSTER),
        Scope("tableflow", ENVIRONMENT, CLUSTER),
        Scope("glue", "", REGION),
    ]
    return Coverage([*(ScopeReport(scope, Status.COMPLETE) for scope in scopes), *more])


def discovery(graph: Graph, coverage: Coverage | None = None) -> Discovery:
    return Discovery(graph, coverage if coverage is not None else complete_coverage(), "2026-04-30T00:00:00Z")
