"""Checks of tables that sink connectors write."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lineage_bridge_dagster.assets.freshness import judge_tables
from lineage_bridge_dagster.assets.iceberg_outcomes import NOT_COPIED, has_fields
from lineage_bridge_dagster.assets.settings import Limits
from lineage_bridge_dagster.assets.topic_facts import Backlog
from lineage_bridge_dagster.catalogs.iceberg.snapshots import SnapshotState
from lineage_bridge_dagster.lineage.ids import iceberg_table_id
from lineage_bridge_dagster.lineage.model import EdgeType, Node, NodeType
from lineage_bridge_dagster.lineage.nodes import ICEBERG_REST
from lineage_bridge_dagster.specs.graph_view import GraphView
from lineage_bridge_dagster_tests.assets.world import EAST, World

MINUTE = 60_000


def table_of(columns: list[str], config: dict[str, str], topics: int = 1) -> tuple[Node, GraphView]:
    """A table that a connector of this configuration writes from topics with the fields `id` and `note`."""
    w = World()
    sink = w.connector(EAST, "to-lake", "IcebergSink")
    w.graph.add_node(w.graph.nodes[sink].with_attributes(config={"topics": "orders", **config}))
    for number in range(topics):
        topic = w.topic(EAST, f"orders.v{number}")
        fields = [{"name": "id", "type": "long"}, {"name": "Note", "type": "string"}]
        w.graph.add_node(w.graph.nodes[topic].with_attributes(schema_fields=fields))
        w.edge(topic, sink, EdgeType.CONSUMES)
    dataset = w.dataset("iceberg://lake/sales.orders")
    w.edge(sink, dataset, EdgeType.PRODUCES)
    attributes: dict[str, Any] = {
        "catalog": "lake",
        "database": "sales",
        "table_name": "orders",
        "columns": [{"name": name, "type": "long"} for name in columns],
    }
    table = Node(
        iceberg_table_id("", "lake", "sales", "orders"),
        "iceberg",
        NodeType.CATALOG_TABLE,
        "iceberg://lake/sales/orders",
        catalog_type=ICEBERG_REST,
        attributes=attributes,
    )
    w.graph.add_node(table)
    w.edge(dataset, table.node_id, EdgeType.MATERIALIZES)
    return table, GraphView.of(w.discovery())


def test_every_field_is_a_column_whatever_its_type_and_case() -> None:
    outcome = has_fields(*table_of(["ID", "note"], {}))
    assert (outcome.passed, outcome.summary) == (True, "All 2 fields of orders.v0 are columns.")


def test_a_field_without_a_column_is_named_with_the_setting_that_adds_it() -> None:
    outcome = has_fields(*table_of(["id"], {}))
    assert not outcome.passed
    assert outcome.summary == "The table has no column for 1 field of orders.v0: Note."
    assert "iceberg.tables.evolve-schema-enabled=true" in outcome.next_step


@pytest.mark.parametrize(
    ("config", "topics"),
    [({"transforms": "drop"}, 1), ({"iceberg.tables.route-field": "kind"}, 1), ({}, 2)],
)
def test_a_connector_that_may_drop_records_or_fields_is_not_judged(
    config: dict[str, str], topics: int
) -> None:
    table, view = table_of(["id"], config, topics)
    assert has_fields(table, view).summary == NOT_COPIED
    outcomes = judge_tables([table], view, {}, lambda _since: iter(()), Limits(30, 60), {})
    assert (outcomes[table.node_id].passed, outcomes[table.node_id].summary) == (True, NOT_COPIED)


def test_a_record_that_waits_too_long_for_the_table_fails_its_freshness() -> None:
    table, view = table_of(["id"], {})
    commit = SnapshotState(1, 0, 0, "append", 5, 5, 0)
    backlog = replace(Backlog(6, MINUTE), first_ms=MINUTE)
    outcomes = judge_tables(
        [table],
        view,
        {table.node_id: commit},
        lambda since: iter([(topic, backlog) for topic, _ in since]),
        Limits(30, 60),
        {},
        clock=lambda: 90 * MINUTE,
    )
    outcome = outcomes[table.node_id]
    assert (outcome.passed, outcome.error) == (False, True)
    assert "A record of topic orders.v0 has waited for the table" in outcome.summary
