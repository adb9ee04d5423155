"""A table that an asset loads depends on that asset, where both are in one code location."""

from __future__ import annotations

from typing import Any

import pytest
from dagster import AssetKey, DagsterInstance
from dagster.components.testing import create_defs_folder_sandbox

from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_names import AWS_GLUE, GluePlace
from lineage_bridge_dagster.lineage.ids import glue_table_id, topic_id
from lineage_bridge_dagster.lineage.loaded_topics import LoadedTopic, add_loaded_table
from lineage_bridge_dagster.lineage.model import Graph, Node, NodeType
from lineage_bridge_dagster.topic_to_iceberg.component import TopicToIcebergComponent
from lineage_bridge_dagster_tests.topic_to_iceberg.yaml import KAFKA, TYPE


def discovery(topic: str, table: str) -> Discovery:
    """A topic and the table that its stamp says is loaded from it."""
    graph = Graph()
    graph.add_node(
        Node(
            topic_id("env-1", "lkc-abc123", topic),
            "confluent",
            NodeType.KAFKA_TOPIC,
            topic,
            environment_id="env-1",
            cluster_id="lkc-abc123",
        )
    )
    place = GluePlace("sales", table)
    node = Node(
        glue_table_id("env-1", place),
        "aws",
        NodeType.CATALOG_TABLE,
        place.qualified_name,
        catalog_type=AWS_GLUE,
        attributes={"database": "sales", "table_name": table},
    )
    add_loaded_table(graph, node, LoadedTopic("env-1", "lkc-abc123", topic), Scope("glue", "", "r"), "t")
    return Discovery(graph, discovered_at="2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("topics", "depends"),
    [
        ([{"topic": "Orders", "database": "sales"}], True),
        ([{"topic": "Ord*", "database": "sales"}], True),
        ([{"topic": "Orders", "database": "elsewhere"}], False),
        ([{"topic": "other"}], False),
    ],
)
def test_the_table_depends_on_the_asset_that_loads_it(
    instance: DagsterInstance, topics: list[dict[str, Any]], depends: bool
) -> None:
    StateStore.of(instance, "LineageBridgeComponent").store(discovery("Orders", "orders"))
    with create_defs_folder_sandbox() as sandbox:
        sandbox.scaffold_component(
            component_cls=LineageBridgeComponent,
            defs_yaml_contents={"type": "lineage_bridge_dagster.component.LineageBridgeComponent"},
        )
        sandbox.scaffold_component(
            component_cls=TopicToIcebergComponent,
            defs_yaml_contents={"type": TYPE, "attributes": {"kafka": KAFKA, "topics": topics}},
        )
        with sandbox.build_all_defs() as definitions:
            graph = definitions.resolve_asset_graph()
            parents = graph.get(AssetKey(["glue", "sales", "orders"])).parent_keys
    loader = AssetKey(["topic_to_iceberg", "sales", "orders"])
    assert (loader in parents) == depends
    assert AssetKey(["upstream_chain", "sales", "orders"]) in parents
