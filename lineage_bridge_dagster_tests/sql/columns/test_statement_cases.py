"""Columns of whole texts, class by class.

`statement_cases.jsonl` holds a text a line. `columns` are the columns written and their sources, `kind` is
how a column derives from them (the strongest step), `incomplete` lists the columns that must say so.
Expectations are by Flink's documentation; names, order and sources were compared with Flink 2.2.0's planner
where that accepts the text.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster.sql.columns.derivation import TextColumns, derive_columns
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.conftest import shared
from lineage_bridge_dagster_tests.sql.columns.judging import mistakes, name

pytestmark = pytest.mark.xdist_group("flink")

CASES = [
    json.loads(line)
    for line in Path(__file__).with_name("statement_cases.jsonl").read_text("utf-8").splitlines()
]


def derived(parser: FlinkSqlParser, sql: str) -> TextColumns:
    (parsed,) = parser.parse_trees([sql])
    assert parsed.lineage.error is None
    return derive_columns([parsed])[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['class']}: {case['id']}")
def test_text_has_the_columns_of_flink(parser: FlinkSqlParser, case: dict[str, Any]) -> None:
    assert mistakes(derived(parser, case["sql"]), case) == []


def test_every_class_has_cases() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES) >= 120
    assert min(Counter(case["class"] for case in CASES).values()) >= 4


@pytest.mark.shared
def test_reference_texts_are_exact(parser: FlinkSqlParser) -> None:
    lines = shared("sql", "flink_columns.jsonl").read_text("utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    found = {case["id"]: mistakes(derived(parser, case["sql"]), case) for case in cases}
    assert {case: wrong for case, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize(
    ("sql", "reasons"),
    [
        ("INSERT INTO d SELECT a FROM s", {("d", None): "the columns of d are unknown"}),
        ("CREATE TABLE d AS SELECT a, t.* FROM t", {("d", None): "the columns of t are unknown"}),
        ("INSERT INTO d (x) SELECT * FROM t", {("d", "x"): "the columns of t are unknown"}),
        (
            "INSERT INTO d (x) SELECT w FROM LATERAL TABLE(split_words('a b')) AS s (w)",
            {("d", "x"): "outputs of function split_words are not declared"},
        ),
        ("INSERT INTO d (x, y) SELECT a FROM t", {("d", "x"): "has 1 column", ("d", "y"): "has 1 column"}),
        (
            "INSERT INTO d (x) SELECT a FROM t; INSERT INTO d SELECT b FROM t",
            {("d", "x"): "another statement writes unknown columns", ("d", None): "columns of d are unknown"},
        ),
    ],
)
def test_what_cannot_be_derived_is_listed_with_the_reason(
    parser: FlinkSqlParser, sql: str, reasons: dict[tuple[str, str | None], str]
) -> None:
    found = {(name(o.table), o.column): o.reason for o in derived(parser, sql).open}
    assert found.keys() == reasons.keys()
    for place, reason in reasons.items():
        assert reason in found[place]


def test_two_writers_of_one_table_are_told_apart(parser: FlinkSqlParser) -> None:
    insert = "INSERT INTO d (x) SELECT {} FROM s"
    sql = f"EXECUTE STATEMENT SET BEGIN {insert.format('a')}; {insert.format('b')}; END; {insert.format('c')}"
    text = derived(parser, sql)
    per_statement = [
        [[source.column for column in writer.columns for source in column.sources] for writer in writers]
        for writers in text.statements
    ]
    assert per_statement == [[["a"], ["b"]], [["c"]]]
    (union,) = text.written
    assert [source.column for source in union.sources] == ["a", "b", "c"]


def test_rejected_statement_leaves_nothing_complete(parser: FlinkSqlParser) -> None:
    (parsed,) = parser.parse_trees(["INSERT INTO d (x) SELECT a FROM t; INSERT INTO d SELEC"])
    (text,) = derive_columns([parsed])
    assert [column.complete for column in text.written] == [False]
    assert "statement 2 was rejected" in text.open[-1].reason
