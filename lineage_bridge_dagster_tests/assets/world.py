"""A discovery with hard cases: names that differ only in punctuation, one topic name in two clusters, cycles,
a conflict, a source dataset and a sink."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_names import GluePlace, glue_table_name
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node, NodeType

ENV = "env-abc123"
EAST, WEST = "lkc-east1", "lkc-west1"
REGION = "us-east-1"
_TABLES = (NodeType.TABLEFLOW_TABLE, NodeType.CATALOG_TABLE)
DATASET = "postgres://pg1.example:5432/shop.public.orders"


class World:
    """Builds a graph node by node."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.reports: list[ScopeReport] = []
        for cluster in (EAST, WEST):
            for api in ("kafka", "connect", "tableflow"):
                self.report(api, cluster)
        self.reports.append(ScopeReport(Scope("glue", "", REGION), Status.COMPLETE))
        self.report("flink", f"aws.{REGION}")
        for api in ("environments",):
            self.reports.append(ScopeReport(Scope(api), Status.COMPLETE))
        self.reports.append(ScopeReport(Scope("clusters", ENV), Status.COMPLETE))

    def report(self, api: str, place: str, status: Status = Status.COMPLETE, reason: str = "") -> None:
        self.reports.append(ScopeReport(Scope(api, ENV, place), status, reason))

    def topic(self, cluster: str, name: str) -> str:
        node_id = ids.topic_id(ENV, cluster, name)
        self.graph.add_node(
            Node(
                node_id=node_id,
                system="confluent",
                node_type=NodeType.KAFKA_TOPIC,
                qualified_name=name,
                display_name=name,
                environment_id=ENV,
                environment_name="prod",
                cluster_id=cluster,
                cluster_name=cluster.removeprefix("lkc-"),
                attributes={
                    "scope": f"kafka:{ENV}:{cluster}",
                    "partitions_count": 3,
                    "bootstrap_endpoint": f"SASL_SSL://{cluster}.example:9092",
                },
                url=f"https://confluent.cloud/environments/{ENV}/clusters/{cluster}/topics/{name}",
            )
        )
        return node_id

    def connector(self, cluster: str, name: str, kind: str) -> str:
        node_id = ids.connector_id(ENV, cluster, name)
        self.graph.add_node(
            Node(
                node_id=node_id,
                system="confluent",
                node_type=NodeType.CONNECTOR,
                qualified_name=name,
                display_name=name,
                environment_id=ENV,
                cluster_id=cluster,
                attributes={"scope": f"connect:{ENV}:{cluster}", "connector_class": kind},
            )
        )
        return node_id

    def dataset(self, name: str) -> str:
        node_id = ids.external_dataset_id(name)
        self.graph.add_node(Node(node_id, "external", NodeType.EXTERNAL_DATASET, name, name))
        return node_id

    def statement(self, name: str, sql: str, reads: list[str], writes: list[str]) -> str:
        node_id = ids.flink_job_id(ENV, "AWS", REGION, name)
        self.graph.add_node(
            Node(
                node_id=node_id,
                system="confluent",
                node_type=NodeType.FLINK_JOB,
                qualified_name=name,
                display_name=name,
                environment_id=ENV,
                attributes={
                    "scope": f"flink:{ENV}:aws.{REGION}",
                    "sql": sql,
                    "region": REGION,
                    "cloud": "aws",
                },
            )
        )
        self._connect(node_id, reads, writes)
        return node_id

    def query(self, name: str, sql: str, reads: list[str], writes: list[str]) -> str:
        """A ksqlDB query."""
        node_id = ids.ksqldb_query_id(ENV, "lksqlc-1", name)
        self.graph.add_node(
            Node(
                node_id=node_id,
                system="confluent",
                node_type=NodeType.KSQLDB_QUERY,
                qualified_name=name,
                display_name=name,
                environment_id=ENV,
                cluster_id="lksqlc-1",
                attributes={"scope": f"ksqldb:{ENV}:lksqlc-1", "sql": sql},
            )
        )
        self._connect(node_id, reads, writes)
        return node_id

    def _connect(self, node_id: str, reads: list[str], writes: list[str]) -> None:
        for topic in reads:
            self.edge(topic, node_id, EdgeType.CONSUMES)
        for topic in writes:
            self.edge(node_id, topic, EdgeType.PRODUCES)

    def tableflow(self, cluster: str, topic: str, database: str | None = None) -> str:
        node_id = ids.tableflow_table_id(ENV, cluster, topic)
        self.graph.add_node(
            Node(
                node_id=node_id,
                system="confluent",
                node_type=NodeType.TABLEFLOW_TABLE,
                qualified_name=f"{cluster}.{topic}",
                display_name=topic,
                environment_id=ENV,
                cluster_id=cluster,
                attributes={
                    "scope": f"tableflow:{ENV}:{cluster}",
                    "topic": topic,
                    "glue_database": database or cluster,
                    "catalog_types": ["AWS_GLUE"],
                },
            )
        )
        self.edge(ids.topic_id(ENV, cluster, topic), node_id, EdgeType.MATERIALIZES)
        return node_id

    def glue(self, cluster: str, topic: str, database: str | None = None, conflict: str = "") -> str:
        """A Tableflow table with its Glue table."""
        tableflow = self.tableflow(cluster, topic, database)
        database = database or cluster
        table = glue_table_name(topic)
        place = GluePlace(database, table)
        node_id = ids.glue_table_id(ENV, place)
        self.graph.add_node(
            Node(
                node_id=node_id,
                system="aws",
                node_type=NodeType.CATALOG_TABLE,
                qualified_name=place.qualified_name,
                display_name=table,
                environment_id=ENV,
                cluster_id=cluster,
                catalog_type="AWS_GLUE",
                attributes={
                    "scope": f"glue::{REGION}",
                    "database": database,
                    "table_name": table,
                    "aws_region": REGION,
                    "storage_location": f"s3://bucket/{database}/{table}",
                    "columns": [
                        {"name": "id", "type": "bigint", "comment": "the key"},
                        {"name": "amount", "type": "double", "comment": ""},
                    ],
                    **({"conflict": conflict} if conflict else {}),
                },
            )
        )
        self.edge(tableflow, node_id, EdgeType.MATERIALIZES)
        return node_id

    def edge(self, src: str, dst: str, kind: EdgeType, **attributes: Any) -> None:
        self.graph.add_edge(Edge(src, dst, kind, attributes=attributes))

    def discovery(self, at: str = "2026-04-30T12:00:00Z") -> Discovery:
        return Discovery(self.graph, Coverage(self.reports), at)


def world(clusters: Collection[str] = ()) -> World:
    """Build the world with all cases; with the tables of these clusters alone, if any are given."""
    w = World()
    source = w.dataset(DATASET)
    debezium = w.connector(EAST, "debezium-pg", "PostgresCdcSourceV2")
    raw = w.topic(EAST, "shop.public.orders")
    w.edge(source, debezium, EdgeType.CONSUMES)
    w.edge(debezium, raw, EdgeType.PRODUCES)
    customers = w.topic(EAST, "customers")
    names = [w.topic(EAST, name) for name in ("o.v1", "o-v1", "o_v1")]
    w.statement(
        "enrich-orders",
        "INSERT INTO `o.v1` SELECT * FROM `shop.public.orders` o JOIN `customers` c ON o.id = c.id",
        [raw, customers],
        [names[0]],
    )
    w.statement(
        "fan-out", "EXECUTE STATEMENT SET ...", [names[0], names[1], names[2]], [w.topic(EAST, "all")]
    )
    # It reads what it writes.
    w.statement(
        "dedupe",
        "INSERT INTO `all` SELECT DISTINCT * FROM `all`",
        [w.topic(EAST, "all")],
        [w.topic(EAST, "all")],
    )
    # Two-way mirrors.
    east, west = w.topic(EAST, "Orders"), w.topic(WEST, "Orders")
    w.edge(east, west, EdgeType.TRANSFORMS)
    w.edge(west, east, EdgeType.TRANSFORMS)
    # Two topics that fold to one table.
    w.topic(EAST, "orders")
    sink = w.connector(EAST, "s3-sink", "S3_SINK")
    w.edge(names[0], sink, EdgeType.CONSUMES)
    w.edge(sink, w.dataset("s3://bucket/landing"), EdgeType.PRODUCES)
    for name in ("o.v1", "o-v1", "o_v1", "all", "customers"):
        w.glue(EAST, name)
    w.glue(
        EAST, "Orders", conflict="lkc-east1.Orders and lkc-east1.orders all become glue://lkc-east1/orders"
    )
    w.glue(
        EAST, "orders", conflict="lkc-east1.Orders and lkc-east1.orders all become glue://lkc-east1/orders"
    )
    w.glue(WEST, "Orders", database="sales_db")
    # Enabled, not in Glue yet.
    w.tableflow(EAST, "shop.public.orders")
    w.graph.add_node(
        Node(
            ids.schema_id(ENV, "o.v1-value"),
            "confluent",
            NodeType.SCHEMA,
            "o.v1-value",
            environment_id=ENV,
            attributes={"fields": [{"name": "id", "type": "long"}], "version": 3},
        )
    )
    w.edge(names[0], ids.schema_id(ENV, "o.v1-value"), EdgeType.HAS_SCHEMA)
    for node_id, node in [*w.graph.nodes.items()]:
        if clusters and node.cluster_id not in clusters and node.node_type in _TABLES:
            del w.graph.nodes[node_id]
    return w


def many(tables: int) -> World:
    """A world with this many tables, each of its own topic behind one connector."""
    w = World()
    connector = w.connector(EAST, "generator", "DatagenSource")
    for number in range(tables):
        w.edge(connector, w.topic(EAST, f"topic.{number:05d}"), EdgeType.PRODUCES)
        w.glue(EAST, f"topic.{number:05d}")
    return w
