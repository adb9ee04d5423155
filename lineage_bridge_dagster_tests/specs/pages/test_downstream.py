"""*Downstream* in the metadata of definitions."""

from __future__ import annotations

import itertools

import pytest

from lineage_bridge_dagster.assets.inventory import build_inventory
from lineage_bridge_dagster.lineage.columns import (
    COLUMN_LINEAGE,
    Column,
    ColumnFlow,
    ColumnInput,
    How,
    to_attribute,
)
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.specs.metadata import LineageMetadata
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster_tests.assets.world import EAST, REGION, WEST, World

DOWNSTREAM = LineageMetadata.key("downstream")


def pages(w: World) -> dict[str, str]:
    """What each asset that feeds another says, by its key."""
    inventory = build_inventory(w.discovery(), LineageTranslator().get_asset_spec)
    specs = [asset.spec for asset in (*inventory.materializable, *inventory.external)]
    return {
        spec.key.to_user_string(): spec.metadata[DOWNSTREAM].value
        for spec in specs
        if DOWNSTREAM in spec.metadata
    }


def rows(page: str) -> list[list[str]]:
    """The cells of the table's rows, without the links' targets."""
    lines = [line for line in page.splitlines() if line.startswith("| [")]
    return [[cell.partition("](")[0].strip(" []") for cell in line.strip("|").split("|")] for line in lines]


def cleaned() -> World:
    """Orders are cleaned by a statement that computes `amount`, and Tableflow writes both topics' tables."""
    w = World()
    orders, clean = w.topic(EAST, "orders"), w.topic(EAST, "clean")
    job = w.statement("cleaning", "INSERT INTO clean SELECT ...", [orders], [clean])
    flows = [
        ColumnFlow(Column(clean, "id"), (ColumnInput(Column(orders, "id"), How.IDENTITY),)),
        ColumnFlow(
            Column(clean, "amount"),
            tuple(ColumnInput(Column(orders, name), How.EXPRESSION) for name in ("price", "quantity")),
        ),
        ColumnFlow(Column(clean, "currency")),
    ]
    lineage, _ = to_attribute(flows)
    w.graph.nodes[job] = w.graph.nodes[job].with_attributes(**{COLUMN_LINEAGE: lineage})
    w.glue(EAST, "clean")
    return w


def test_topic_names_all_that_it_feeds_the_nearest_first_with_the_columns_made_of_its_own() -> None:
    page = pages(cleaned())[f"kafka/{EAST}/orders"]
    assert page.splitlines()[0] == "Feeds 1 Flink statement, 1 topic, 1 table"
    assert rows(page) == [
        ["cleaning", "Flink statement", ""],
        ["clean", "topic", "id, amount (of price, quantity)"],
        ["clean", "table", "id, amount (of price, quantity)"],
    ]
    assert f"[cleaning](/assets/flink/env-abc123/{REGION}/cleaning)" in page


def test_statement_names_the_columns_that_it_writes_and_those_further_down() -> None:
    page = pages(cleaned())[f"flink/env-abc123/{REGION}/cleaning"]
    assert rows(page) == [["clean", "topic", "id, amount, currency"], ["clean", "table", "id, amount"]]


def test_table_that_feeds_nothing_has_no_downstream() -> None:
    assert not [key for key in pages(cleaned()) if key.startswith(("glue/", "upstream_chain/"))]


def test_input_of_a_connector_leads_only_to_what_is_made_of_it() -> None:
    w = World()
    copier = w.connector(EAST, "cdc", "PostgresCdcSourceV2")
    for name in ("orders", "customers"):
        dataset = w.dataset(f"postgres://pg:5432/shop.public.{name}")
        w.edge(dataset, copier, EdgeType.CONSUMES)
        w.edge(copier, w.topic(EAST, name), EdgeType.PRODUCES, inputs=[dataset])
    found = pages(w)
    orders = next(page for key, page in found.items() if key.endswith("shop.public.orders"))
    assert [name for name, *_ in rows(orders)] == ["cdc", "orders"]
    assert [name for name, *_ in rows(found[f"connect/{EAST}/cdc"])] == ["orders", "customers"]


def test_of_many_the_nearest_are_listed_and_the_graph_shows_the_rest() -> None:
    w = World()
    topics = [w.topic(EAST, f"t{i:03}") for i in range(240)]
    for i, (source, target) in enumerate(itertools.pairwise(topics)):
        w.statement(f"s{i}", "INSERT INTO t SELECT 1", [source], [target])
    w.statement("back", "INSERT INTO t SELECT 1", [topics[2]], [topics[0]])
    page = pages(w)[f"kafka/{EAST}/t000"]
    assert page.startswith("Feeds at least 101 Flink statements, 99 topics")
    assert [name for name, *_ in rows(page)][:3] == ["s0", "t001", "s1"]
    assert len(rows(page)) == 25
    assert "lineageScope=downstream" in page


@pytest.mark.parametrize(
    ("api", "place", "hidden"),
    [
        ("connect", EAST, True),
        ("connect", WEST, False),
        ("flink", f"aws.{REGION}", True),
        ("tableflow", EAST, True),
        ("schema_registry", "lsrc-1", False),
    ],
)
def test_api_that_could_not_be_read_may_hide_readers(api: str, place: str, hidden: bool) -> None:
    w = World()
    w.topic(EAST, "orders")
    w.report(api, place, Status.DENIED, "403")
    page = pages(w).get(f"kafka/{EAST}/orders")
    assert page == (
        "Feeds nothing that is known\n\n"
        f"There may be more: `{api}:env-abc123:{place}` could not be fully read."
        if hidden
        else None
    )
