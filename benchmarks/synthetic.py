"""A synthetic discovery of any size for benchmarks, with a realistic chain for each table."""

from __future__ import annotations

import json

from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType, Node, NodeType
from lineage_bridge_dagster_tests.assets.world import ENV, World

#: Tables per cluster, topics per connector, fields per schema.
TABLES_A_CLUSTER, TOPICS_A_CONNECTOR, FIELDS = 500, 20, 12


def synthetic(tables: int, first: int = 0) -> Discovery:
    """Tables with a chain each: dataset, connector, raw topic, Flink statement, topic, Tableflow, Glue.

    Every tenth statement also reads the previous table's topic, so that chains join; a cluster has 500 tables
    and a connector 20 raw topics. Each table's topic has a schema of 12 fields.

    Args:
        first: the number of the first table, which begins a cluster; earlier clusters are not selected.
    """
    world = World()
    if first:
        world.graph.add_node(
            world.graph.nodes[_topic(world, first - 1)].with_attributes(outside_selection=True)
        )
    for start in range(first, first + tables, TABLES_A_CLUSTER):
        _add_cluster(world, start, min(first + tables, start + TABLES_A_CLUSTER))
    return world.discovery()


def _topic(world: World, number: int) -> str:
    return world.topic(f"lkc-{number // TABLES_A_CLUSTER:05d}", f"orders.{number:06d}.v1")


def _add_cluster(world: World, start: int, end: int) -> None:
    connector = ""
    before = (start - 1) // TABLES_A_CLUSTER
    previous = ids.topic_id(ENV, f"lkc-{before:05d}", f"orders.{start - 1:06d}.v1")
    cluster = f"lkc-{start // TABLES_A_CLUSTER:05d}"
    for number in range(start, end):
        if number % TOPICS_A_CONNECTOR == 0 or number == start:
            connector = world.connector(cluster, f"cdc-{number:06d}", "PostgresCdcSourceV2")
            dataset = world.dataset(f"postgres://pg{number}.example:5432/shop.public")
            world.edge(dataset, connector, EdgeType.CONSUMES)
        raw = world.topic(cluster, f"shop.public.raw-{number:06d}")
        world.edge(connector, raw, EdgeType.PRODUCES)
        topic = _topic(world, number)
        reads = [raw, previous] if number % 10 == 0 and previous in world.graph else [raw]
        sql = f"INSERT INTO `orders.{number:06d}.v1` SELECT * FROM `shop.public.raw-{number:06d}`"  # noqa: S608
        world.statement(f"enrich-{number:06d}", sql, reads, [topic])
        previous = topic
        _schema(world, topic, f"orders.{number:06d}.v1-value")
        table = world.graph.nodes[world.glue(cluster, f"orders.{number:06d}.v1")]
        table.attributes["columns"] = [
            {"name": f"field_{place}", "type": "string", "comment": ""} for place in range(FIELDS)
        ]


def _schema(world: World, topic: str, subject: str) -> None:
    node_id = ids.schema_id(ENV, subject)
    fields = [{"name": f"field_{place}", "type": "string"} for place in range(FIELDS)]
    text = json.dumps({"type": "record", "name": "Order", "namespace": "com.example.shop", "fields": fields})
    attributes = {
        "fields": fields,
        "version": 3,
        "definition": text,
        "schema_type": "AVRO",
        "registry_compatibility": "BACKWARD",
    }
    world.graph.add_node(
        Node(node_id, "confluent", NodeType.SCHEMA, subject, environment_id=ENV, attributes=attributes)
    )
    world.edge(topic, node_id, EdgeType.HAS_SCHEMA)
