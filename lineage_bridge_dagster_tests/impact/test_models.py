"""Worlds and changes as commands take them, and the order of a report."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.impact.change import (
    ConnectorChange,
    DropColumn,
    DropNode,
    SchemaChange,
    StatementChange,
    change_of_json,
)
from lineage_bridge_dagster.impact.files import GivenChanges
from lineage_bridge_dagster.impact.report import Affected, Impact, ImpactGap, Verdict, ordered
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef, World

ORDERS = NodeRef(NodeKind.TOPIC, "orders")


def test_a_world_is_read_from_json() -> None:
    world = World.of_json(
        {
            "topics": ["orders"],
            "schemas": [
                {"subject": "orders-value", "type": "AVRO", "version": 2, "schema": '"long"'},
                {"subject": "orders-value", "type": "AVRO", "version": 1, "schema": '"int"'},
            ],
            "compatibility": {"orders-key": "NONE"},
            "statements": [{"name": "wm", "sql": "ALTER TABLE orders ...", "phase": "COMPLETED"}],
            "tableflow": [{"topic": "orders", "mode": "upsert", "database": "lake"}],
            "views": [{"database": "lake", "name": "v", "sql": "SELECT 1"}],
        }
    )
    assert [each.text for each in world.subject("orders-value").versions] == ['"int"', '"long"']
    assert world.subject("none-value").latest is None
    assert (world.compatibility_of("orders-value"), world.compatibility_of("orders-key")) == (
        "BACKWARD",
        "NONE",
    )
    assert not world.statements["wm"].is_running
    assert (str(world.tableflow[0].ref), world.tableflow[0].mode) == ("glue : lake.orders", "UPSERT")
    assert str(world.views[0].ref) == "view : lake.v"


def test_a_file_that_holds_no_world_is_refused() -> None:
    with pytest.raises(LineageBridgeError, match=r"the world: schemas\[0\].schema is missing"):
        World.of_json({"schemas": [{"subject": "orders-value"}]})


def test_changes_are_read_from_json() -> None:
    assert change_of_json({"kind": "schema", "subject": "s-value", "type": "JSON", "schema": "{}"}) == (
        SchemaChange("s-value", "{}", "JSON")
    )
    assert change_of_json({"kind": "statement", "name": "s", "sql": "SELECT 1"}) == StatementChange(
        "s", "SELECT 1"
    )
    assert change_of_json({"kind": "connector", "name": "c", "config": {}}) == ConnectorChange("c", {})
    assert change_of_json({"kind": "drop", "what": "topic", "name": "orders"}) == DropNode(ORDERS)
    table = NodeRef(NodeKind.DATASET, "postgres://pg:5432/shop.public.customers")
    for extra in ({"of": str(table), "column": "email"}, {}):
        dropped = {"kind": "drop", "what": "column", "name": f"{table.name}.email", **extra}
        assert change_of_json(dropped) == DropColumn(table, "email")


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        {"kind": "schema"},
        {"kind": "schema", "subject": "s-value", "schema": {"type": "string"}},
        {"kind": "weather"},
        {"kind": "drop"},
        {"kind": "drop", "what": "topic", "name": 7},
        {"kind": "drop", "what": "column", "of": 7, "column": "c"},
        {"kind": "statement", "name": "s", "sql": None},
        {"kind": "connector", "name": "c", "config": {"topics": ["a"]}},
        {"kind": "connector", "name": "c", "config": None},
    ],
)
def test_a_file_that_holds_no_change_is_refused(document: object) -> None:
    with pytest.raises(LineageBridgeError):
        change_of_json(document)


def test_a_drop_names_every_kind_that_a_change_in_a_file_does() -> None:
    changes = GivenChanges()
    changes.add_drop("topic:orders")
    changes.add_drop("column:postgres://pg/shop.orders.id")
    assert changes.changes == [
        DropNode(ORDERS),
        DropColumn(NodeRef(NodeKind.DATASET, "postgres://pg/shop.orders"), "id"),
    ]
    with pytest.raises(LineageBridgeError, match="'topik:orders' does not name anything to drop"):
        changes.add_drop("topik:orders")


def test_a_node_counts_with_its_gravest_effect() -> None:
    effects = ordered(
        [
            Affected(ORDERS, "amount", Verdict.CHANGES_TYPE, "INT becomes BIGINT"),
            Affected(ORDERS, "note", Verdict.LOSES_DATA, "it no longer arrives"),
        ]
    )
    found = Impact((), effects, (ImpactGap(None, "denied", matters=False),))
    assert [(effect.column, effect.verdict) for effect in found.by_node] == [("note", Verdict.LOSES_DATA)]
    assert list(found.at_least(Verdict.BREAKS)) == []
    assert not found.is_incomplete
    assert Impact((), (), (ImpactGap(ORDERS, "denied"),)).is_incomplete


def test_the_text_of_a_node_is_read_back() -> None:
    assert NodeRef.parse("topic : orders") == ORDERS
    with pytest.raises(LineageBridgeError, match="is not a node"):
        NodeRef.parse("planet : earth")
