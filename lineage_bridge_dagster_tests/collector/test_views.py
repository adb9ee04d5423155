from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.collector.views import View, read_view
from lineage_bridge_dagster_tests.catalogs.glue.catalog import glue_table
from lineage_bridge_dagster_tests.collector.views import athena_view, spark_view


def view_of(database: str = "reports", **fields: Any) -> View:
    (view,) = read_view(glue_table("v", database, **fields))
    return view


def reads(view: View) -> set[str]:
    return {".".join(filter(None, (each.catalog, each.database, each.table))) for each in view.reads}


def test_athena_view_is_decoded_and_its_names_resolve_in_its_own_schema() -> None:
    sql = 'SELECT o.id, \'x\' FROM orders o JOIN "lkc-abc123"."orders.v1" v ON o.id = v.id'
    view = view_of(**athena_view(sql))
    assert (view.dialect, view.sql, view.problem) == ("athena", sql, "")
    assert reads(view) == {"sales.orders", "lkc-abc123.orders.v1"}


def test_names_of_common_table_expressions_are_not_read() -> None:
    sql = "WITH recent AS (SELECT * FROM orders) SELECT * FROM recent WHERE id IN (SELECT id FROM vip.ids)"
    assert reads(view_of(**athena_view(sql))) == {"sales.orders", "vip.ids"}


def test_spark_view_resolves_names_in_the_namespace_of_its_parameters() -> None:
    view = view_of(**spark_view("SELECT `order id` FROM `orders.v1` LATERAL VIEW explode(items) t AS item"))
    assert view.dialect == "spark"
    assert reads(view) == {"sales.orders.v1"}


@pytest.mark.parametrize("view", [athena_view, spark_view])
def test_names_are_read_in_lower_case_as_glue_has_them(view: Any) -> None:
    assert reads(view_of(**view("SELECT ID FROM Sales.Orders JOIN VIP USING (ID)"))) == {
        "sales.orders",
        "sales.vip",
    }


@pytest.mark.parametrize(
    ("view", "found"),
    [
        (athena_view('SELECT * FROM "orders$snapshots"'), {"sales.orders"}),
        (spark_view("SELECT * FROM lake.raw.orders.files"), {"lake.raw.orders"}),
        (spark_view("SELECT * FROM parquet.`s3://bucket/path/`"), set()),
        (spark_view("VALUES (1, 'a')"), set()),
        (spark_view("TABLE orders"), {"sales.orders"}),
        (spark_view("SELECT 'TABLE x' UNION ALL TABLE raw.a ORDER BY 1"), {"raw.a"}),
        (spark_view("WITH o AS (TABLE `orders.v1`) TABLE o"), {"sales.orders.v1"}),
        (athena_view("(TABLE raw.a) EXCEPT TABLE raw.b"), {"raw.a", "raw.b"}),
    ],
)
def test_names_of_tables_are_told_from_metadata_and_files(view: Any, found: set[str]) -> None:
    decoded = view_of(**view)
    assert (reads(decoded), decoded.problem) == (found, "")


def test_text_that_is_no_query_has_a_problem_and_not_only_no_tables() -> None:
    view = view_of(**spark_view("DESCRIBE orders"))
    assert view.reads == ()
    assert "it is not a query" in view.problem


def test_hive_view_is_read_from_its_expanded_text() -> None:
    view = view_of(
        TableType="VIRTUAL_VIEW",
        ViewOriginalText="select id from orders",
        ViewExpandedText="select `orders`.`id` from `sales`.`orders`",
    )
    assert (view.dialect, reads(view)) == ("hive", {"sales.orders"})


def test_multi_dialect_view_has_a_row_for_each_dialect() -> None:
    representations = [
        {"Dialect": "ATHENA", "DialectVersion": "3", "ViewOriginalText": "SELECT id FROM sales.orders"},
        {"Dialect": "SPARK", "DialectVersion": "4", "ViewOriginalText": "SELECT id FROM sales.orders"},
    ]
    table = glue_table("v", "reports", ViewDefinition={"Representations": representations})
    assert [(view.dialect, view.version, reads(view)) for view in read_view(table)] == [
        ("athena", "3", {"sales.orders"}),
        ("spark", "4", {"sales.orders"}),
    ]


@pytest.mark.parametrize(
    "text", ["/* Presto View: not base64 */", "/* Presto View: bm8gSlNPTg== */", "/* Presto View: e30= */"]
)
def test_text_that_is_no_view_document_is_a_problem_and_no_sql(text: str) -> None:
    view = view_of(TableType="VIRTUAL_VIEW", ViewOriginalText=text, ViewExpandedText="/* Presto View */")
    assert (view.sql, view.reads) == (None, ())
    assert view.problem == "Its text is not Base64 of a view's JSON document"


def test_sql_that_cannot_be_parsed_is_kept_with_the_problem_which_does_not_quote_it() -> None:
    view = view_of(**athena_view("SELECT FROM WHERE 'geheim' ((("))
    assert view.sql == "SELECT FROM WHERE 'geheim' ((("
    assert view.reads == ()
    assert view.problem.startswith("The SQL could not be parsed as athena")
    assert "geheim" not in view.problem


def test_table_has_no_view() -> None:
    assert list(read_view(glue_table())) == []
