# ruff: noqa: S608
"""Column lineage of statements and texts."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.sql.columns.derivation import derive_columns
from lineage_bridge_dagster.sql.columns.statement import ColumnLineage, StatementContext, written_columns
from lineage_bridge_dagster.sql.flink.names import ClusterName, NameIndex
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster.sql.flink.tree import ParsedText, Tree
from lineage_bridge_dagster.sql.flink.views import expand_views
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

Written = Callable[..., list[tuple[ColumnLineage, ...]]]


@pytest.fixture
def written(parser: FlinkSqlParser) -> Written:
    """Returns the columns that each text writes."""

    def derive(
        texts: Sequence[str],
        schemas: Callable[[TablePath], Sequence[str] | None] | None = None,
        *,
        catalog: str = "",
        database: str = "",
        index: NameIndex | None = None,
    ) -> list[tuple[ColumnLineage, ...]]:
        in_session = (replace(text, catalog=catalog, database=database) for text in parser.parse_trees(texts))
        return [text.written for text in derive_columns(in_session, schemas, index)]

    return derive


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
    """The form of the cases: `?` marks incomplete sources."""
    return {
        column(c.table, c.column): {
            **{column(s.table, s.column): s.how.value for s in c.sources},
            **({} if c.complete else {"?": ""}),
        }
        for c in columns
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_columns_of_a_statement_match_those_determined_by_hand(
    parser: FlinkSqlParser, written: Written, case: dict[str, Any]
) -> None:
    schemas = {tuple(name.split(".")): columns for name, columns in case["schemas"].items()}
    assert parsed(parser, case["sql"]).lineage.error is None
    (columns,) = written([case["sql"]], schemas.get)
    assert readable(columns) == case["columns"]


def test_at_least_60_cases_are_checked_by_hand() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES) >= 60


def check(texts: Sequence[ParsedText], schema: Sequence[str] | None) -> int:
    """Check the columns of each text against its tables. Returns the number of columns."""
    count = 0
    for text in texts:
        (columns,) = derive_columns([text], lambda _: schema)
        (tables,) = expand_views([text])
        for lineage in columns.written:
            assert lineage.table in (*tables.writes, *tables.defines)
            assert {s.table for s in lineage.sources} <= set(tables.reads)
            assert len({(s.table, s.column) for s in lineage.sources}) == len(lineage.sources)
        open_columns = [(c.table, c.column, c.open) for c in columns.written if c.open]
        assert open_columns == [(o.table, o.column, o.reason) for o in columns.open if o.column is not None]
        count += len(columns.written)
    return count


@pytest.mark.shared
@pytest.mark.parametrize("name", REFERENCE)
def test_columns_belong_to_the_tables_read_and_written(parser: FlinkSqlParser, name: str) -> None:
    lines = shared("sql", f"{name}.jsonl").read_text("utf-8").splitlines()
    texts = list(parser.parse_trees([json.loads(line)["sql"] for line in lines]))
    assert check(texts, None) > 0
    assert check(texts, NAMES) > 0


def test_columns_of_our_own_cases_belong_to_their_tables(parser: FlinkSqlParser) -> None:
    texts = list(parser.parse_trees([case["sql"] for case in (*cases(), *CASES)]))
    check(texts, None)
    check(texts, NAMES)


@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_schema_gives_consistent_columns(parser: FlinkSqlParser, data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(CASES))
    schema = data.draw(st.none() | st.lists(st.sampled_from([*NAMES, "k", "x", ""]), max_size=6))
    check([parsed(parser, case["sql"])], schema)


def test_columns_without_schemas_are_a_subset_of_those_with_schemas(written: Written) -> None:
    for case in CASES:
        schemas = {tuple(name.split(".")): columns for name, columns in case["schemas"].items()}
        (with_schemas,) = map(readable, written([case["sql"]], schemas.get))
        (without,) = map(readable, written([case["sql"]]))
        for name, sources in without.items():
            assert name in with_schemas, case["id"]
            assert set(sources) - {"?"} <= set(with_schemas[name]), case["id"]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO d (x) SELECT " + " + ".join(["a"] * 4000) + " FROM t",
        "INSERT INTO d (x) " + " UNION ALL ".join(["SELECT a FROM t"] * 800),
        "INSERT INTO d (x) SELECT t0.a FROM " + ", ".join(f"t t{i}" for i in range(800)),
    ],
    ids=["operators", "unions", "joins"],
)
def test_long_chain_is_derived(written: Written, sql: str) -> None:
    (columns,) = written([sql])
    assert [(c.column, {(s.table, s.column) for s in c.sources}) for c in columns] == [("x", {(("t",), "a")})]


@pytest.mark.parametrize("depth", [20, 300])
def test_queries_nested_too_deeply_are_open(written: Written, depth: int) -> None:
    sql = "INSERT INTO d (x) " + "SELECT a FROM (" * depth + "SELECT a FROM t" + ")" * depth
    (columns,) = written([sql])
    assert readable(columns) == {"d.x": {"t.a": "identity"} if depth == 20 else {"?": ""}}


def test_subqueries_within_expressions_are_derived_once(written: Written) -> None:
    nested = "(SELECT " * 60 + "a" + " FROM t)" * 60
    ((column,),) = written([f"INSERT INTO x (c) SELECT {nested} FROM t"], lambda _: ["a"])
    assert [(source.column, source.how.value) for source in column.sources] == [("a", "identity")]
    assert column.complete


def test_columns_that_double_with_every_level_are_given_up(written: Written) -> None:
    ctes = ", ".join(f"c{i + 1} AS (SELECT l.* , r.* FROM c{i} l, c{i} r)" for i in range(40))
    sql = f"CREATE TABLE d AS WITH c0 AS (SELECT a FROM t), {ctes} SELECT * FROM c40"
    (columns,) = written([sql])
    assert columns == ()


NO_CONTEXT = StatementContext(
    lambda _: None, lambda _: None, lambda _: None, lambda _: None, lambda path: path
)


def columns_of(statement: Tree) -> tuple[ColumnLineage, ...]:
    return tuple(column for writer in written_columns(statement, NO_CONTEXT) for column in writer.columns)


def test_nearly_full_stack_leaves_columns_open(parser: FlinkSqlParser) -> None:
    sql = "INSERT INTO d (x) " + "SELECT a FROM (" * 30 + "SELECT a FROM t" + ")" * 30
    inner = tree(parser, sql)

    def at(depth: int) -> tuple[ColumnLineage, ...]:
        return at(depth - 1) if depth else columns_of(inner)

    frames = sys.getrecursionlimit() - _frames() - 60
    assert readable(at(frames)) == {"d.x": {"?": ""}}
    assert readable(at(1)) == {"d.x": {"t.a": "identity"}}


def _frames() -> int:
    frame, count = sys._getframe(), 0
    while frame is not None:
        frame, count = frame.f_back, count + 1  # type: ignore[assignment]
    return count


def test_views_nest_to_any_depth_when_defined_in_order(written: Written) -> None:
    texts = ["CREATE VIEW v0 AS SELECT a FROM t"]
    texts += [f"CREATE VIEW v{i + 1} AS SELECT * FROM v{i}" for i in range(200)]
    *_, last = written([*texts, "INSERT INTO d (x) SELECT a FROM v200"])
    assert readable(last) == {"d.x": {"t.a": "identity"}}


def test_view_read_before_its_first_known_definition_has_that_definition(written: Written) -> None:
    first, _ = written(["INSERT INTO d (x) SELECT a FROM v", "CREATE VIEW v AS SELECT b AS a FROM t"])
    assert readable(first) == {"d.x": {"t.b": "identity"}}


def test_views_that_read_each_other_are_open(written: Written) -> None:
    texts = [
        "CREATE VIEW v AS SELECT a FROM w",
        "CREATE VIEW w AS SELECT a FROM v",
        "INSERT INTO d (x) SELECT a FROM v",
    ]
    assert readable(written(texts)[-1]) == {"d.x": {"?": ""}}


def test_view_is_found_by_display_name_and_by_id(written: Written) -> None:
    index = NameIndex([ClusterName("env-1", "prod", "lkc-1", "main")])
    schemas = {("env-1", "lkc-1", "t"): ["a", "b"], ("env-1", "lkc-1", "d"): ["x", "y"]}
    *_, last = written(
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


@pytest.mark.parametrize(
    "text",
    [
        "EXECUTE STATEMENT SET BEGIN INSERT INTO d (x) SELECT a FROM t; INSERT INTO e (y) VALUES (1); END",
        "EXPLAIN PLAN FOR INSERT INTO d (x) SELECT a FROM t",
        "DROP FUNCTION f",
        "USE CATALOG c",
    ],
)
def test_schemas_are_asked_for_tables_only(written: Written, text: str) -> None:
    asked: set[TablePath] = set()
    written([text], lambda path: asked.add(path))
    assert () not in asked


def test_plain_query_writes_no_column(parser: FlinkSqlParser) -> None:
    assert columns_of(tree(parser, "SELECT a FROM t")) == ()


def test_a_derivation_leaves_nothing_to_the_garbage_collector(parser: FlinkSqlParser) -> None:
    texts = parser.parse_trees(["INSERT INTO t SELECT a, (SELECT MAX(b) FROM u) AS m FROM s WHERE c > 1"])
    gc.collect()
    derive_columns(texts, details=True)
    assert gc.collect() == 0
