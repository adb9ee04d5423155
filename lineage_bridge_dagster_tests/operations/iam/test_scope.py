"""Policies apply to what the settings name, and to what the graph holds."""

from __future__ import annotations

from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.operations.iam.scope import (
    ACCOUNT,
    BUCKET,
    DATABASE,
    REGION,
    PolicyScope,
    environments_of,
    scope_of,
)
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster_tests.catalogs.glue.graphs import add_table, tableflow_node


def test_nothing_is_guessed_without_settings_and_graph() -> None:
    assert scope_of(Settings.from_env({})) == PolicyScope()
    assert (PolicyScope().account, PolicyScope().region) == (ACCOUNT, REGION)


def test_settings_name_account_region_warehouse_and_table_bucket() -> None:
    scope = scope_of(
        Settings.from_env(
            {
                "LINEAGE_BRIDGE_AWS_REGION": "eu-west-1",
                "LINEAGE_BRIDGE_CATALOG_WAREHOUSE": "s3://lake/lineage/",
                "ICEBERG_WAREHOUSE": "111122223333:s3tablescatalog/metrics",
                "ICEBERG_NAMESPACE": "sales, orders",
            }
        )
    )
    assert (scope.account, scope.region, scope.warehouse) == ("111122223333", "eu-west-1", "lake/lineage")
    assert (scope.table_bucket, scope.namespaces) == ("metrics", ("orders", "sales"))


def test_account_of_the_catalog_goes_before_that_of_the_role() -> None:
    role = {"LINEAGE_BRIDGE_AWS_ROLE_ARN": "arn:aws:iam::222222222222:role/lineage"}
    assert scope_of(Settings.from_env(role)).account == "222222222222"
    both = role | {"LINEAGE_BRIDGE_AWS_CATALOG_ID": "333333333333"}
    assert scope_of(Settings.from_env(both)).account == "333333333333"


def test_graph_names_databases_buckets_and_the_region() -> None:
    graph = Graph()
    add_table(graph, "orders", path="s3://tables/a/b/orders")
    graph.add_node(
        tableflow_node("clicks", database="Analytics", bucket_name="other", storage_kind="ByobAws")
    )
    scope = scope_of(Settings.from_env({}), graph)
    assert scope.databases == ("analytics", "lkc-abc123")
    assert scope.buckets == ("other", "tables")
    assert scope.region == "us-east-1"


def test_buckets_of_confluent_and_databases_of_other_catalogs_are_left_out() -> None:
    graph = Graph(
        [
            tableflow_node(
                "clicks", storage_kind="Managed", path="s3://confluent/x", catalog_types=["SNOWFLAKE"]
            )
        ]
    )
    scope = scope_of(Settings.from_env({}), graph)
    assert (scope.databases, scope.buckets) == ((DATABASE,), (BUCKET,))


def test_several_regions_of_a_graph_leave_the_region_open() -> None:
    graph = Graph([tableflow_node("a"), tableflow_node("b", region="eu-west-1")])
    assert scope_of(Settings.from_env({}), graph).region == REGION


def test_environments_are_those_that_are_read_else_those_of_the_graph() -> None:
    graph = Graph([tableflow_node("a", environment="env-2")])
    assert environments_of(Settings.from_env({}), graph) == ["env-2"]
    named = Settings.from_env({"LINEAGE_BRIDGE_ENVIRONMENTS": "env-1, staging"})
    assert environments_of(named, graph) == ["env-1"]
