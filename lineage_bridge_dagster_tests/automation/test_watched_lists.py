"""The lists of a discovery, and what they differ by."""

from __future__ import annotations

from lineage_bridge_dagster.automation.watched_lists import GLUE, difference, scopes_of
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.glue.graphs import CLUSTER, add_table, discovery, tableflow_node


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
