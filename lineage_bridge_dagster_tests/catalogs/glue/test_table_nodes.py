"""Graph nodes of Glue tables."""

from __future__ import annotations

import json

from lineage_bridge_dagster.assets.tables import parameter_diff
from lineage_bridge_dagster.catalogs.glue.table_nodes import table_attributes
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.spark.chains.lineage_tables import graph_records
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient, glue_table
from lineage_bridge_dagster_tests.catalogs.glue.graphs import (
    CLUSTER,
    ENVIRONMENT,
    REGION,
    add_table,
    tableflow_node,
)
from lineage_bridge_dagster_tests.catalogs.glue.runs import enriched, glue_nodes, graph_of, push


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


def test_secrets_of_other_people_stay_in_glue(client: GlueClient, catalog: Catalog) -> None:
    secrets = ("hunter2-p4ss", "AKIAIOSFODNN7EXAMPLE", "ur1-us3r", "t0ken-of-serde", "in-a-c0mment")
    url = f"jdbc:postgresql://svc:{secrets[2]}@db.example:5432/shop"
    catalog.create(
        "orders.v1",
        parameters={
            "connection.password": secrets[0],
            "note": f"written with {secrets[1]}",
            "source": url,
            "owner_note": "hands off",
        },
        Description=f"Loaded from {url}.\npassword={secrets[0]}",
        StorageDescriptor={
            "Location": "s3://bucket/orders.v1",
            "Columns": [{"Name": "id", "Type": "bigint", "Comment": f"token={secrets[4]}"}],
            "SerdeInfo": {"Name": "s", "Parameters": {"auth.token": secrets[3], "a": "b"}},
            "Parameters": {"api.key": secrets[3]},
        },
    )
    before = catalog.table("orders.v1")
    found = enriched(client, tableflow_node("orders.v1"))
    (node,) = glue_nodes(found).values()
    stored = graph_json.dumps(found) + str([records.rows.to_pylist() for records in graph_records(found)])
    for secret in secrets:
        assert secret not in stored
    assert node.attributes["parameters"] == {
        **before["Parameters"],
        "connection.password": "****",
        "note": "written with ****",
        "source": "jdbc:postgresql://****@db.example:5432/shop",
    }
    assert node.attributes["serde_details"] == {"Name": "s", "Parameters": {"auth.token": "****", "a": "b"}}
    # A push carries them over as they are, and its results show none.
    report = push(client, graph_of())
    after = catalog.table("orders.v1")
    assert {
        key: value for key, value in after["Parameters"].items() if key in before["Parameters"]
    } == before["Parameters"]
    assert after["StorageDescriptor"] == before["StorageDescriptor"]
    assert after["Description"].startswith(before["Description"] + "\n\n")
    (result,) = report.results
    assert result.before == before["Parameters"]
    catalog.edit("orders.v1", Description="someone else's")
    again = push(client, graph_of(), dry_run=True)
    removed = push(client, Graph([next(graph_of().of_type("catalog_table"))]), dry_run=True)
    shown = json.dumps([each.to_json() for each in (report, again, removed)]) + parameter_diff(
        before["Parameters"], {"note": f"now with {secrets[1]}", "connection.password": "an0ther"}
    )
    for secret in (*secrets, "an0ther"):
        assert secret not in shown


def test_comment_and_parameter_that_are_no_text_do_not_end_a_discovery() -> None:
    columns = [{"Name": "id", "Type": "int", "Comment": 7}]
    table = glue_table(StorageDescriptor={"Columns": columns}, Parameters={"count": 3})
    attributes = table_attributes(table, REGION)
    assert attributes["columns"] == [{"name": "id", "type": "int", "comment": "7"}]
    assert attributes["parameters"] == {}


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
