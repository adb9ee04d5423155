"""The lists of a discovery, and what they differ by."""

from __future__ import annotations

from dataclasses import replace

from lineage_bridge_dagster.automation.watched_lists import GLUE, difference, scopes_of, titles
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.model import Graph, Node, NodeType
from lineage_bridge_dagster.lineage.nodes import ICEBERG_REST
from lineage_bridge_dagster.lineage.selection import ClusterSelection
from lineage_bridge_dagster_tests.assets.world import WEST, world
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, add_table, discovery, tableflow_node


def test_database_knows_the_tables_to_ask_for_by_name() -> None:
    graph = Graph()
    add_table(graph, "orders")
    graph.add_node(tableflow_node("Returns"))
    found = discovery(graph)
    (scope,) = [scope for scope in scopes_of(found) if scope.api == GLUE]
    assert scope.place == CLUSTER
    assert scope.tables is not None
    assert scope.tables() == ({"orders"}, ("returns",))
    assert not difference(found, scope, ["orders"])
    assert difference(found, scope, ["orders", "returns"]).new == ("returns",)


def test_tables_of_clusters_outside_the_selection_are_not_watched() -> None:
    found = world([WEST]).discovery()
    found = replace(found, graph=ClusterSelection([WEST], None).of(found.graph))
    assert {scope.place for scope in scopes_of(found)} == {WEST, "sales_db"}


def test_a_rest_catalog_has_a_list_even_before_its_first_table() -> None:
    graph = Graph()
    for scopes in (["iceberg::lake"], ["iceberg::tableflow", "tableflow:env-1:lkc-1"]):
        catalog = scopes[0].removeprefix("iceberg::")
        graph.add_node(
            Node(
                f"iceberg:table::{catalog}/sales/orders",
                "iceberg",
                NodeType.CATALOG_TABLE,
                f"iceberg://{catalog}/sales/orders",
                catalog_type=ICEBERG_REST,
                attributes={
                    "catalog": catalog,
                    "database": "sales",
                    "table_name": "orders",
                    "scopes": scopes,
                },
            )
        )
    graph.add_node(Node("d", "external", NodeType.EXTERNAL_DATASET, "iceberg://lake/sales/returns"))
    found = replace(
        discovery(graph),
        coverage=Coverage(
            ScopeReport(Scope("iceberg", "", name), Status.COMPLETE) for name in ("lake", "tableflow", "new")
        ),
    )
    scopes = {scope.place: scope for scope in scopes_of(found) if scope.api == "iceberg"}
    assert scopes.keys() == {"lake", "tableflow", "new"}
    lake = scopes["lake"]
    assert titles(found)[lake] == "tables of catalog lake"
    assert lake.tables is not None
    assert lake.tables() == ({"sales.orders"}, ("iceberg://lake/sales/returns",))
    assert not difference(found, lake, ["sales.orders"])
    assert difference(found, lake, ["sales.returns"]).new == ("sales.returns",)
    assert difference(found, lake, ["sales.returns"]).gone == ("sales.orders",)
    # Tableflow's list of topics tells of the tables of its own catalogs.
    assert not difference(found, scopes["tableflow"], [])
