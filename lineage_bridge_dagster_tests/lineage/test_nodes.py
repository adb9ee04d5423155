from __future__ import annotations

import inspect
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.lineage import nodes
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.model import Graph, Node
from lineage_bridge_dagster.lineage.nodes import (
    Attribute,
    CatalogSync,
    Field,
    FormatError,
    GlueTableNode,
    TableflowNode,
    TopicNode,
)
from lineage_bridge_dagster_tests.lineage.graphs import CLUSTER, node, shop


def glue_table(name: str, **attributes: Any) -> GlueTableNode:
    return GlueTableNode.of(node("table", "catalog_table", name, **attributes))


def tableflow(name: str = f"{CLUSTER}.Orders", **attributes: Any) -> TableflowNode:
    return TableflowNode.of(node("tableflow", "tableflow_table", name, **attributes))


def topic(**attributes: Any) -> TopicNode:
    return TopicNode.of(node("topic", "kafka_topic", **attributes))


def properties() -> list[tuple[type[Node], str]]:
    views = [view for _, view in inspect.getmembers(nodes, inspect.isclass) if issubclass(view, Node)]
    return [
        (view, name)
        for view in views
        for name, _ in inspect.getmembers_static(view, lambda p: isinstance(p, property | Attribute))
    ]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(value=_JSON)
def test_no_property_raises_whatever_its_attribute_holds(value: object) -> None:
    names = {name for _, name in properties()} | {"database", "table_name", "glue_database", "topic"}
    subject = node("x", "kafka_topic", **dict.fromkeys(names, value))
    assert (TopicNode, "partitions") in properties()
    for view, name in properties():
        getattr(view.of(subject), name)


@pytest.mark.parametrize("wrong", [None, 7, True, ["x", 1], {"a": 1}])
def test_text_of_the_wrong_type_reads_as_absent(wrong: object) -> None:
    assert topic(schema_subject=wrong).schema_subject == ""


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3), (-1, -1), ("604800000", 604_800_000), ("x", None), (None, None), (True, None), ([3], None)],
)
def test_number_is_an_integer_or_a_text_that_holds_one(value: object, number: int | None) -> None:
    assert topic(partitions=value).partitions == number


def test_list_keeps_only_entries_of_the_right_type() -> None:
    assert topic(key_columns=["id", 7, None]).key_columns == ("id",)
    assert topic(key_columns="id").key_columns == ("id",)
    assert tableflow(catalog_types="AWS_GLUE").catalog_types == ("AWS_GLUE",)
    assert topic(
        schema_fields=[{"name": "a", "type": "long"}, "b", {"type": "int"}, {"name": ""}]
    ).schema_fields == [Field("a", "long")]


def test_comment_of_a_field_may_be_called_its_description() -> None:
    fields = [
        {"name": "a", "comment": "of a", "description": "other"},
        {"name": "b", "type": "int", "comment": "", "description": "of b"},
        {"name": "c", "comment": None},
        MappingProxyType({"name": "d", "description": 7}),
    ]
    assert topic(schema_fields=fields).schema_fields == [
        Field("a", "", "of a"),
        Field("b", "int", "of b"),
        Field("c", ""),
        Field("d", "", "7"),
    ]


def test_nested_type_of_a_field_is_shown_as_json() -> None:
    assert topic(schema_fields=[{"name": "a", "type": {"array": "é"}}]).schema_fields == [
        Field("a", '{"array":"é"}')
    ]


def test_retention_and_cleanup_policy_fall_back_to_the_broker_settings() -> None:
    configs = {"retention.ms": "1000", "retention.bytes": "-1", "cleanup.policy": "compact"}
    bare, own = topic(configs=configs), topic(configs=configs, retention_ms=7, cleanup_policy="delete")
    assert (bare.retention_ms, bare.retention_bytes, bare.cleanup_policy) == (1000, -1, "compact")
    assert (own.retention_ms, own.cleanup_policy) == (7, "delete")
    assert topic().retention_ms is None


def test_tableflow_state_is_read_from_its_lists() -> None:
    view = tableflow(
        catalog_sync=[{"type": "AWS_GLUE", "status": "FAILED", "error": "denied"}, 7],
        failing_table_formats=[{"format": "DELTA"}],
    )
    assert view.catalog_sync == [CatalogSync("AWS_GLUE", "FAILED", "denied")]
    assert view.failing_table_formats == [FormatError("DELTA", "")]


class TestGluePlaceOfATable:
    def test_attributes_name_it(self) -> None:
        table = glue_table("glue://lkc/orders", database="Sales", table_name="Orders.v1")
        assert table.place == GluePlace("Sales", "Orders.v1")
        assert table.home_place == GluePlace("sales", "orders.v1")

    def test_qualified_name_stands_in_for_missing_attributes(self) -> None:
        assert glue_table("glue://lkc/Orders", database="Sales").place == GluePlace("lkc", "Orders")

    def test_qualified_name_gives_the_account_and_region(self) -> None:
        table = glue_table("glue://1.eu/db/t", database="db", table_name="t.v1")
        assert table.place == GluePlace("db", "t.v1", "1.eu")
        assert table.home_place is None

    def test_slash_in_a_table_name_is_not_an_account(self) -> None:
        assert glue_table("glue://db/a/b", database="db", table_name="a/b").place == GluePlace("db", "a/b")

    def test_unknown_place_still_has_names_to_show(self) -> None:
        table = glue_table("orders")
        assert table.place is None
        assert table.home_place is None
        assert table.shown_place == GluePlace("orders", "orders")


class TestExpectedGluePlace:
    def test_is_the_database_and_the_topic_in_lower_case(self) -> None:
        assert tableflow(topic="Shop.Orders", glue_database="Sales").expected_place == GluePlace(
            "sales", "shop.orders"
        )
        assert tableflow(glue_database="sales", glue_table="Other").expected_place == GluePlace(
            "sales", "other"
        )

    def test_database_is_never_assumed(self) -> None:
        assert tableflow(topic="orders").expected_place is None

    def test_topic_is_the_qualified_name_without_the_cluster(self) -> None:
        assert tableflow().topic == "Orders"
        assert tableflow(topic="x").topic == "x"


def test_glue_tables_are_the_catalog_tables_of_glue() -> None:
    graph = Graph([*shop().nodes.values(), node("t", "kafka_topic")])
    assert [table.node_id for table in graph.of_kind(GlueTableNode)] == ["table"]
