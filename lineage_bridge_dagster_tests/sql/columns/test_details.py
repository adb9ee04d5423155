"""What decides on a column besides its own expression, and which changes of a statement make a difference."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lineage_bridge_dagster.sql.columns.derivation import derive_columns
from lineage_bridge_dagster.sql.columns.statement import ColumnLineage
from lineage_bridge_dagster.sql.columns.tables import Registered, TableColumn
from lineage_bridge_dagster.sql.columns.types import SCALAR, SqlType, array_of
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser

pytestmark = pytest.mark.xdist_group("flink")

_ITEM = SqlType("ROW", (("sku", SCALAR), ("qty", SCALAR)))
TABLES = {
    "orders": ["id", "customer_id", "other_id", "region", "amount", "ts"],
    "customers": ["customer_id", "name"],
    "out": ["x", "y"],
}

Details = Callable[[str], dict[str, ColumnLineage]]


@pytest.fixture
def details(parser: FlinkSqlParser) -> Details:
    tables = {name: Registered([TableColumn(column) for column in of]) for name, of in TABLES.items()}
    nested = [TableColumn("items", type=array_of(_ITEM)), TableColumn("first", type=_ITEM)]
    tables["carts"] = Registered([TableColumn("id"), *nested])

    def derive(query: str) -> dict[str, ColumnLineage]:
        texts = parser.parse_trees([f"INSERT INTO `out` {query}"])
        (found,) = derive_columns(
            texts, registry=lambda path, _: tables.get(path[-1]), details=True, fields=True
        )
        return {column.column: column for column in found.statements[-1][0].columns}

    return derive


def roles(column: ColumnLineage) -> set[tuple[str, str]]:
    return {(use.role, source.column) for use in column.uses for source in use.sources}


def test_filters_groups_and_windows_decide_on_all_columns_and_joins_on_those_of_the_joined_table(
    details: Details,
) -> None:
    joined = details(
        "SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer_id = c.customer_id "
        "WHERE o.region = 'EU'"
    )
    rows = {("filter", "region"), ("match", "customer_id")}
    assert roles(joined["x"]) == rows
    assert roles(joined["y"]) == {*rows, ("join", "customer_id")}
    counted = details("SELECT region, COUNT(*) FROM orders GROUP BY region")
    assert roles(counted["y"]) == {("group", "region")}
    windowed = details(
        "SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) "
        "GROUP BY window_start, window_end"
    )
    assert ("window", "ts") in roles(windowed["y"])
    inner = details("SELECT id, amount FROM (SELECT * FROM orders WHERE region = 'EU')")
    assert roles(inner["x"]) == {("filter", "region")}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, i.sku FROM carts CROSS JOIN UNNEST(items) AS i (sku, qty)",
        "SELECT id, items[1].sku FROM carts",
    ],
)
def test_fields_of_rows_are_told_apart(details: Details, query: str) -> None:
    assert [source.column for source in details(query)["y"].sources] == ["items.sku"]
    assert [s.column for s in details("SELECT id, carts.first.qty FROM carts")["y"].sources] == ["first.qty"]


def formulas(columns: dict[str, ColumnLineage]) -> dict[str, tuple[str, frozenset[tuple[str, str]]]]:
    return {
        name: (column.formula, frozenset((use.role, use.formula) for use in column.uses))
        for name, column in columns.items()
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SELECT id, amount FROM orders", "SELECT o.id AS a, o.amount AS b FROM orders AS o"),
        ("SELECT id, amount FROM orders", "SELECT id, amount FROM (SELECT amount, id FROM orders)"),
        ("SELECT id, sum(amount) FROM orders GROUP BY id", "SELECT id, SUM(amount) FROM orders GROUP BY id"),
        (
            "SELECT id, amount FROM orders WHERE amount > 5 AND region = 'EU'",
            "WITH e AS (SELECT * FROM orders WHERE 'EU' = region) SELECT id, amount FROM e WHERE amount > 5",
        ),
    ],
)
def test_another_spelling_makes_no_difference(details: Details, before: str, after: str) -> None:
    assert formulas(details(before)) == formulas(details(after))


@pytest.mark.parametrize(
    ("before", "after", "columns"),
    [
        ("SELECT id, amount FROM orders", "SELECT amount, id FROM orders", "xy"),
        (
            "SELECT id, SUM(amount) FROM orders GROUP BY id",
            "SELECT id, AVG(amount) FROM orders GROUP BY id",
            "y",
        ),
        (
            "SELECT id, COUNT(id) FROM orders GROUP BY id",
            "SELECT id, COUNT(DISTINCT id) FROM orders GROUP BY id",
            "y",
        ),
        ("SELECT id, amount * 2 FROM orders", "SELECT id, amount * 3 FROM orders", "y"),
        ("SELECT id, 'a' FROM orders", "SELECT id, 'b' FROM orders", "y"),
        ("SELECT id, CAST(amount AS INT) FROM orders", "SELECT id, CAST(amount AS BIGINT) FROM orders", "y"),
        (
            "SELECT id, amount FROM orders WHERE amount > 5",
            "SELECT id, amount FROM orders WHERE amount > 50",
            "xy",
        ),
        ("SELECT id, amount FROM orders", "SELECT DISTINCT id, amount FROM orders", "xy"),
        (
            "SELECT id, name FROM orders o JOIN customers c ON o.customer_id = c.customer_id",
            "SELECT id, name FROM orders o JOIN customers c ON o.other_id = c.customer_id",
            "y",
        ),
        (
            "SELECT id, name FROM orders o JOIN customers c ON o.customer_id = c.customer_id",
            "SELECT id, name FROM orders o LEFT JOIN customers c ON o.customer_id = c.customer_id",
            "xy",
        ),
    ],
)
def test_a_change_shows_in_the_columns_that_it_reaches(
    details: Details, before: str, after: str, columns: str
) -> None:
    old, new = formulas(details(before)), formulas(details(after))
    assert {name for name in old if old[name] != new[name]} == set(columns)


def test_the_column_of_a_watermark_is_in_the_tree(parser: FlinkSqlParser) -> None:
    (text,) = parser.parse_trees(["ALTER TABLE clicks MODIFY WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"])
    (tree,) = text.trees
    assert tree is not None
    assert tree.path(tree.child(tree.statement, 2)) == ("ts",)
