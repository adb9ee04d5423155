"""Graph nodes of Glue tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.glue.catalog import Catalog
from lineage_bridge_dagster_tests.glue.graphs import (
    CLUSTER,
    ENVIRONMENT,
    add_table,
    tableflow_node,
)
from lineage_bridge_dagster_tests.glue.runs import enriched, glue_nodes, push

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient


def test_node_has_the_documented_attributes(client: GlueClient, catalog: Catalog) -> None:
    catalog.create(
        "orders.v1",
        PartitionKeys=[{"Name": "day", "Type": "date", "Comment": "of the order"}],
        Description="mine",
    )
    found = enriched(client, tableflow_node("orders.v1"))
    node = glue_nodes(found)[f"aws:glue_table:{ENVIRONMENT}:glue://{CLUSTER}/orders.v1"]
    assert node.qualified_name == f"glue://{CLUSTER}/orders.v1"
    assert (node.system, node.catalog_type, node.environment_id) == ("aws", "AWS_GLUE", ENVIRONMENT)
    attributes = node.attributes
    assert {
        "database", "table_name", "aws_region", "owner", "table_type", "columns", "partition_keys",
        "storage_location", "input_format", "output_format", "serde_info", "parameters", "create_time",
        "update_time",
    } <= set(attributes)  # fmt: skip
    assert attributes["columns"] == [{"name": "id", "type": "bigint", "comment": "the key"}]
    assert attributes["partition_keys"] == [{"name": "day", "type": "date", "comment": "of the order"}]
    # The library's name, as LineageBridge writes it; what else Glue says of it is under a name of our own.
    assert attributes["serde_info"] == "some.serde"
    assert attributes["serde_details"]["Parameters"] == {"a": "b"}
    assert attributes["storage_location"] == "s3://bucket/orders.v1"
    assert attributes["parameters"]["table_type"] == "ICEBERG"
    assert attributes["create_time"].endswith("Z")
    assert node.url is not None
    assert "orders.v1?database=lkc-abc123" in node.url
    json.dumps(dict(attributes))


def test_table_with_lineage_and_without_tableflow_keeps_its_node_id(
    client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders")
    graph = Graph()
    table = add_table(graph, "orders")
    push(client, graph)
    found = enriched(client)
    assert list(glue_nodes(found)) == [table.node_id]
    assert chain_of(found.graph, table.node_id).hops == ()
