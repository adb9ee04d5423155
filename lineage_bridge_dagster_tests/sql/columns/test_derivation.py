# ruff: noqa: S608
"""Columns: what each that a statement writes is made of."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.sql.columns.derivation import ColumnText, derive_columns
from lineage_bridge_dagster.sql.columns.statement import ColumnLineage, column_lineage
from lineage_bridge_dagster.sql.flink.names import ClusterName, NameIndex
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser, ParsedText
from lineage_bridge_dagster.sql.flink.tree import Tree
from lineage_bridge_dagster.sql.flink.views import SourceText, expand_views
from lineage_bridge_dagster.sql.statement import TablePath
from lineage_bridge_dagster_tests.conftest import shared
from lineage_bridge_dagster_tests.sql.conftest import cases

pytestmark = pytest.mark.xdist_group("flink")

CASES = [
    json.loads(line)
    for line in Path(__file__).with_name("column_cases.jsonl").read_text("utf-8").splitlines()
]
REFERENCE = ("flink_hard", "flink_planner", "flink_real", "flink_robustness")
NAMES = ["id", "a", "b", "c", "name", "price", "rowtime", "proctime"]


def parsed(parser: FlinkSqlParser, text: str) -> ParsedText:
    (one,) = parser.parse_trees([text])
    return one


def tree(parser: FlinkSqlParser, text: str) -> Tree:
    (tree,) = parsed(parser, text).trees
    assert tree is not None
    return tree


def column(path: TablePath, name: str) -> str:
    return ".".join((*path, name))


def readable(columns: Sequence[ColumnLineage]) -> dict[str, dict[str, str]]:
    """The form of the cases: `?` stands for what is missing."""
    return {
        column(c.table, c.column): {
            **{column(s.table, s.column): s.how.value for s in c.sources},
            **({} if c.complete else {"?": ""}),
        }
        for c in columns
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_columns_of_a_statement_are_those_found_by_hand(parser: FlinkSqlParser, case: dict[str, Any]) -> None:
    schemas = {tuple(name.split(".")): columns for name, columns in case["schemas"].items()}
    assert parsed(parser, case["sql"]).lineage.error is None
    (got,) = parser.columns([case["sql"]], schemas.get)
    assert readable(got) == case["columns"]


def test_the_hand_checked_set_is_as_large_as_promised() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES) >= 60


def check(texts: Sequence[ParsedText], schema: Sequence[str] | None) -> int:
    """Holds the columns of each text against its tables; how many columns there were."""
    count = 0
    for text in texts:
        (got,) = derive_columns([ColumnText(text.lineage.statements, text.trees)], lambda _: schema)
        (tables,) = expand_views([SourceText(text.lineage)])
        for one in got.written:
            assert one.table in (*tables.writes, *tables.defines)
            assert {s.table for s in one.sources} <= set(tables.reads)
            assert len({(s.table, s.column) for s in one.sources}) == len(one.sources)
            assert one.sources or one.complete
        count += len(got.written)
    return count


@pytest.mark.shared
@pytest.mark.parametrize("name", REFERENCE)
def test_columns_are_of_the_tables_read_and_written(parser: FlinkSqlParser, name: str) -> None:
    lines = shared("sql", f"{name}.jsonl").read_text("utf-8").splitlines()
    texts = list(parser.parse_trees([json.loads(line)["sql"] for line in lines]))
    assert check(texts, None) > 0
    assert check(texts, NAMES) > 0


def test_columns_of_our_own_cases_are_of_their_tables(parser: FlinkSqlParser) -> None:
    texts = list(parser.parse_trees([case["sql"] for case in (*cases(), *CASES)]))
    check(texts, None)
    check(texts, NAMES)


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_schema_makes_it_fail_or_lie(parser: FlinkSqlParser, data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(CASES))
    schema = data.draw(st.none() | st.lists(st.sampled_from([*NAMES, "k", "x", ""]), max_size=6))
    check([parsed(parser, case["sql"])], schema)


def test_less_known_never_means_other_columns(parser: FlinkSqlParser) -> None:
    # Without the schemas there may be less, but nothing that the schemas would not give.
    for case in CASES:
        schemas = {tuple(name.split(".")): columns for name, columns in case["schemas"].items()}
        (full,) = parser.columns([case["sql"]], schemas.get)
        (blind,) = parser.columns([case["sql"]])
        told = readable(full)
        for name, sources in readable(blind).items():
            assert name in told, case["id"]
            assert set(sources) - {"?"} <= set(told[name]), case["id"]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO d (x) SELECT " + " + ".join(["a"] * 4000) + " FROM t",
        "INSERT INTO d (x) " + " UNION ALL ".join(["SELECT a FROM t"] * 800),
        "INSERT INTO d (x) SELECT t0.a FROM " + ", ".join(f"t t{i}" for i in range(800)),
    ],
    ids=["operators", "unions", "joins"],
)
def test_a_long_chain_is_derived(parser: FlinkSqlParser, sql: str) -> None:
    (got,) = parser.columns([sql])
    assert [(c.column, {(s.table, s.column) for s in c.sources}) for c in got] == [("x", {(("t",), "a")})]


@pytest.mark.parametrize("depth", [20, 300])
def test_nested_queries_are_derived_or_absent(parser: FlinkSqlParser, depth: int) -> None:
    sql = "INSERT INTO d (x) " + "SELECT a FROM (" * depth + "SELECT a FROM t" + ")" * depth
    (got,) = parser.columns([sql])
    assert readable(got) == ({"d.x": {"t.a": "identity"}} if depth == 20 else {})


def test_columns_that_double_with_every_level_end(parser: FlinkSqlParser) -> None:
    ctes = ", ".join(f"c{i + 1} AS (SELECT l.* , r.* FROM c{i} l, c{i} r)" for i in range(40))
    sql = f"CREATE TABLE d AS WITH c0 AS (SELECT a FROM t), {ctes} SELECT * FROM c40"
    (got,) = parser.columns([sql])
    assert got == ()


def test_nearly_full_stack_leaves_columns_out(parser: FlinkSqlParser) -> None:
    sql = "INSERT INTO d (x) " + "SELECT a FROM (" * 30 + "SELECT a FROM t" + ")" * 30
    inner = tree(parser, sql)

    def at(depth: int) -> tuple[ColumnLineage, ...]:
        return at(depth - 1) if depth else column_lineage(inner)

    frames = sys.getrecursionlimit() - _frames() - 60
    assert at(frames) == ()
    assert readable(at(1)) == {"d.x": {"t.a": "identity"}}


def _frames() -> int:
    frame, count = sys._getframe(), 0
    while frame is not None:
        frame, count = frame.f_back, count + 1  # type: ignore[assignment]
    return count


def test_views_nest_through_as_many_texts_as_there_are(parser: FlinkSqlParser) -> None:
    texts = ["CREATE VIEW v0 AS SELECT a FROM t"]
    texts += [f"CREATE VIEW v{i + 1} AS SELECT * FROM v{i}" for i in range(200)]
    *_, last = parser.columns([*texts, "INSERT INTO d (x) SELECT a FROM v200"])
    assert readable(last) == {"d.x": {"t.a": "identity"}}


def test_view_defined_later_is_the_one_that_stood(parser: FlinkSqlParser) -> None:
    first, _ = parser.columns(["INSERT INTO d (x) SELECT a FROM v", "CREATE VIEW v AS SELECT b AS a FROM t"])
    assert readable(first) == {"d.x": {"t.b": "identity"}}


def test_views_that_read_each_other_are_absent(parser: FlinkSqlParser) -> None:
    texts = [
        "CREATE VIEW v AS SELECT a FROM w",
        "CREATE VIEW w AS SELECT a FROM v",
        "INSERT INTO d (x) SELECT a FROM v",
    ]
    assert readable(parser.columns(texts)[-1]) == {}


def test_view_is_found_under_each_of_its_names(parser: FlinkSqlParser) -> None:
    index = NameIndex([ClusterName("env-1", "prod", "lkc-1", "main")])
    schemas = {("env-1", "lkc-1", "t"): ["a", "b"], ("env-1", "lkc-1", "d"): ["x", "y"]}
    *_, last = parser.columns(
        ["CREATE VIEW `prod`.`main`.v AS SELECT * FROM t", "INSERT INTO `lkc-1`.d SELECT b, a FROM v"],
        schemas.get,
        catalog="env-1",
        database="main",
        index=index,
    )
    assert readable(last) == {
        "env-1.lkc-1.d.x": {"env-1.lkc-1.t.b": "identity"},
        "env-1.lkc-1.d.y": {"env-1.lkc-1.t.a": "identity"},
    }


def test_plain_query_writes_no_column(parser: FlinkSqlParser) -> None:
    assert column_lineage(tree(parser, "SELECT a FROM t")) == ()
