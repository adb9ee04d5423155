"""Column lineage of assets: from a Glue table's columns through topics to the first ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.client import BaseClient
from dagster import AssetKey, DagsterInstance

from lineage_bridge_dagster.assets.column_lineage import column_metadata
from lineage_bridge_dagster.assets.inventory import Inventory, build_inventory
from lineage_bridge_dagster.lineage.columns import (
    COLUMN_LINEAGE,
    Column,
    ColumnFlow,
    ColumnInput,
    to_attribute,
)
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster_tests.assets.location import Location, create_tables
from lineage_bridge_dagster_tests.assets.world import EAST, WEST, World

Deps = dict[str, set[tuple[str, str]]]


def change(world: World, node_id: str, **attributes: Any) -> None:
    world.graph.nodes[node_id] = world.graph.nodes[node_id].with_attributes(**attributes)


def fields(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "type": "string"} for name in names]


def flow(target: str, name: str, *sources: tuple[str, str, str], complete: bool = True) -> ColumnFlow:
    parts = tuple(ColumnInput(Column(topic, column), how) for topic, column, how in sources)
    return ColumnFlow(Column(target, name), parts, complete)


def shop() -> tuple[World, dict[str, str]]:
    """raw (west) -> its mirror raw (east) -> Flink -> clean -> Flink -> totals -> Glue."""
    w = World()
    at = {
        "raw": w.topic(WEST, "raw"),
        "mirror": w.topic(EAST, "raw"),
        "clean": w.topic(EAST, "clean"),
        "totals": w.topic(EAST, "totals"),
    }
    w.edge(at["raw"], at["mirror"], EdgeType.TRANSFORMS)
    change(w, at["raw"], schema_fields=fields("id", "price"))
    first = w.statement("cleanse", "INSERT ...", [at["mirror"]], [at["clean"]])
    second = w.statement("sum", "INSERT ...", [at["clean"], at["totals"]], [at["totals"]])
    at |= {"cleanse": first, "sum": second}
    cleaned, _ = to_attribute(
        [
            flow(at["clean"], "orderId", (at["mirror"], "id", "identity")),
            flow(at["clean"], "amount", (at["mirror"], "price", "expression")),
        ]
    )
    summed, _ = to_attribute(
        [
            flow(at["totals"], "orderId", (at["clean"], "orderId", "identity")),
            flow(
                at["totals"],
                "amount",
                (at["clean"], "amount", "aggregate"),
                (at["totals"], "amount", "expression"),
                complete=False,
            ),
            flow(at["totals"], "source"),
        ]
    )
    change(w, first, **{COLUMN_LINEAGE: cleaned})
    change(w, second, **{COLUMN_LINEAGE: summed})
    at["glue"] = w.glue(EAST, "totals")
    change(w, at["totals"], key_columns=["orderId"], schema_fields=fields("amount", "source"))
    change(w, at["glue"], columns=fields("orderid", "amount", "source", "$$topic", "$$raw-key"))
    return w, at


def inventory(world: World) -> Inventory:
    return build_inventory(world.discovery(), LineageTranslator().get_asset_spec)


def lineage(shown: Inventory, node_id: str) -> Deps:
    metadata = column_metadata(shown, shown.view.graph.nodes[node_id])
    if "dagster/column_lineage" not in metadata:
        return {}
    return deps(metadata["dagster/column_lineage"].value)


def deps(value: Any) -> Deps:
    return {
        column: {(dep.asset_key.to_user_string(), dep.column_name) for dep in found}
        for column, found in value.deps_by_column.items()
    }


def test_columns_of_a_table_come_from_its_topics_fields_in_lower_case() -> None:
    w, at = shop()
    totals = "kafka/lkc-east1/totals"
    assert lineage(inventory(w), at["glue"]) == {
        "orderid": {(totals, "orderId")},
        "amount": {(totals, "amount")},
        "source": {(totals, "source")},
    }


def test_column_lineage_follows_flink_and_mirrors_to_the_first_topic() -> None:
    w, at = shop()
    shown = inventory(w)
    assert lineage(shown, at["totals"])["orderId"] == {("kafka/lkc-east1/clean", "orderId")}
    assert lineage(shown, at["clean"])["amount"] == {("kafka/lkc-east1/raw", "price")}
    assert lineage(shown, at["mirror"]) == {name: {("kafka/lkc-west1/raw", name)} for name in ("id", "price")}
    assert column_metadata(shown, shown.view.graph.nodes[at["raw"]]) == {}


def test_columns_of_ksqldb_queries_show_on_topics_tables_and_the_query() -> None:
    w = World()
    orders, big = w.topic(EAST, "orders"), w.topic(EAST, "big")
    query = w.query("CSAS_BIG_1", "CREATE STREAM BIG ...", [orders], [big])
    attribute, _ = to_attribute(
        [flow(big, "ID", (orders, "id", "identity")), flow(big, "N", complete=False)],
        {big: "the columns of ORDERS are unknown"},
    )
    change(w, query, **{COLUMN_LINEAGE: attribute})
    change(w, big, schema_fields=fields("ID", "N"))
    glue = w.glue(EAST, "big")
    change(w, glue, columns=fields("id", "n"))
    shown = inventory(w)
    assert lineage(shown, big) == {"ID": {("kafka/lkc-east1/orders", "id")}, "N": set()}
    assert lineage(shown, glue)["id"] == {("kafka/lkc-east1/big", "ID")}
    origins = column_metadata(shown, shown.view.graph.nodes[glue])["lineage_bridge/column_lineage"].value
    assert "orders.id" in origins
    (asset,) = [asset for asset in shown.external if asset.node.node_id == query]
    text = asset.spec.metadata["lineage_bridge/column_lineage"].value
    assert "orders.id (identity)" in text
    assert "Further columns of big could not be determined: the columns of ORDERS are unknown" in text


def test_a_topic_that_a_statement_reads_and_writes_does_not_depend_on_itself() -> None:
    w, at = shop()
    shown = inventory(w)
    assert lineage(shown, at["totals"])["amount"] == {("kafka/lkc-east1/clean", "amount")}
    text = column_metadata(shown, shown.view.graph.nodes[at["totals"]])["lineage_bridge/column_lineage"].value
    assert "clean.amount (aggregate), totals.amount (expression), others that could not be determined" in text


def test_two_way_mirrors_make_no_cycle_of_columns() -> None:
    w = World()
    east, west = w.topic(EAST, "o"), w.topic(WEST, "o")
    w.edge(east, west, EdgeType.TRANSFORMS)
    w.edge(west, east, EdgeType.TRANSFORMS)
    change(w, east, schema_fields=fields("id"))
    shown = inventory(w)
    assert sorted([bool(lineage(shown, east)), bool(lineage(shown, west))]) == [False, True]
    assert column_metadata(shown, shown.view.graph.nodes[east])


def test_the_readable_table_shows_sources_and_origins() -> None:
    w, at = shop()
    shown = inventory(w)
    lines = column_metadata(shown, shown.view.graph.nodes[at["glue"]])["lineage_bridge/column_lineage"].value
    assert lines.splitlines() == [
        "3 columns, derived from 1 table",
        "",
        "| column | derived from |",
        "| --- | --- |",
        "| orderid | totals.orderId (identity) |",
        "| amount | totals.amount (identity) |",
        "| source | totals.source (identity) |",
        "",
        "Farthest upstream",
        "",
        "| column | comes from |",
        "| --- | --- |",
        "| orderid | raw.id on cluster west1 |",
        "| amount | raw.price on cluster west1 |",
    ]


def test_a_statement_shows_its_columns_in_its_definition() -> None:
    w, at = shop()
    (asset,) = [asset for asset in inventory(w).external if asset.node.node_id == at["cleanse"]]
    text = asset.spec.metadata["lineage_bridge/column_lineage"].value
    assert "| amount | raw.price (expression) |" in text
    assert "column_lineage" not in asset.spec.metadata["lineage_bridge/details"].value


def test_a_topic_with_several_writers_has_incomplete_column_lineage() -> None:
    w, at = shop()
    w.edge(w.connector(EAST, "datagen", "DatagenSource"), at["clean"], EdgeType.PRODUCES)
    found = inventory(w).view.columns.topic(at["clean"])
    assert not any(one.complete for one in found.values())
    assert inventory(shop()[0]).view.columns.topic(at["clean"])["amount"].complete


def test_a_column_has_no_source_outside_the_inputs_of_its_topic() -> None:
    w, at = shop()
    other = w.topic(EAST, "other")
    flows = [flow(other, "price", (at["mirror"], "price", "identity"), (at["clean"], "amount", "identity"))]
    change(w, at["cleanse"], **{COLUMN_LINEAGE: to_attribute(flows)[0]})
    w.edge(at["clean"], at["cleanse"], EdgeType.CONSUMES)
    w.edge(at["cleanse"], other, EdgeType.PRODUCES, inputs=[at["clean"]])
    assert inventory(w).view.columns.topic(other)["price"] == flow(
        other, "price", (at["clean"], "amount", "identity"), complete=False
    )


@pytest.mark.parametrize("names", [("ID", "Id"), ("Id", "iD", "other")])
def test_fields_that_fold_to_one_name_have_no_column_lineage(names: tuple[str, ...]) -> None:
    w = World()
    topic = w.topic(EAST, "t")
    change(w, topic, schema_fields=fields(*names))
    glue = w.glue(EAST, "t")
    change(w, glue, columns=fields("id"))
    assert lineage(inventory(w), glue) == {}


@pytest.mark.parametrize(
    "broken", ["text", {"topics": 1, "columns": 2}, {"topics": ["a"], "columns": [1, ["x"], [9, "c", []]]}]
)
def test_a_malformed_attribute_is_ignored(broken: object) -> None:
    w, at = shop()
    change(w, at["sum"], **{COLUMN_LINEAGE: broken})
    assert column_metadata(inventory(w), w.graph.nodes[at["totals"]]) == {}


def test_materializations_have_column_lineage(
    location: Callable[..., Location], glue: BaseClient, instance: DagsterInstance
) -> None:
    w, _ = shop()
    create_tables(glue, w)
    built = location(w)
    keys = ["kafka/lkc-east1/totals", "glue/lkc-east1/totals"]
    assert built.materialize(instance, *keys).success
    found = []
    for key in keys:
        event = instance.get_latest_materialization_event(AssetKey.from_user_string(key))
        assert event
        assert event.asset_materialization
        found.append(deps(event.asset_materialization.metadata["dagster/column_lineage"].value))
    assert found[0]["orderId"] == {("kafka/lkc-east1/clean", "orderId")}
    assert found[1]["orderid"] == {("kafka/lkc-east1/totals", "orderId")}
