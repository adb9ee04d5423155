"""Columns of ksqlDB's texts, class by class.

`column_cases.jsonl` holds a text a line, in the format of the cases for Flink. Expectations are by ksqlDB's
documentation and grammar; names and sources of its own functional tests' statements were compared, too.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.sql.columns.derivation import TextColumns
from lineage_bridge_dagster.sql.columns.relations import KnownColumn
from lineage_bridge_dagster.sql.ksql.derivation import derive_columns
from lineage_bridge_dagster.sql.ksql.parser import parse_text
from lineage_bridge_dagster.sql.ksql.scopes import Table
from lineage_bridge_dagster.sql.ksql.syntax import ColumnPlace, KsqlColumn
from lineage_bridge_dagster_tests.sql.columns.judging import mistakes, name

CASES = [
    json.loads(line)
    for line in Path(__file__).with_name("column_cases.jsonl").read_text("utf-8").splitlines()
]


def derived(sql: str) -> TextColumns:
    return derive_columns(parse_text(sql))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['class']}: {case['id']}")
def test_text_has_the_columns_of_ksqldb(case: dict[str, Any]) -> None:
    assert mistakes(derived(case["sql"]), case) == []


def test_every_class_has_cases() -> None:
    assert len({(case["class"], case["id"]) for case in CASES}) == len(CASES) >= 120
    assert min(Counter(case["class"] for case in CASES).values()) >= 4


@pytest.mark.parametrize(
    ("sql", "reasons"),
    [
        ("CREATE STREAM d AS SELECT * FROM u;", {("D", None): "the columns of U are unknown"}),
        ("INSERT INTO d SELECT * FROM u;", {("D", None): "the columns of U are unknown"}),
        (
            "CREATE STREAM s (k INT KEY) WITH (VALUE_FORMAT='AVRO'); CREATE STREAM d AS SELECT * FROM s;",
            {("D", None): "the columns of S are unknown"},
        ),
        ("CREATE STREAM d AS SELECT u.x FROM u JOIN v ON u.k = v.k;", {("D", None): "names of some columns"}),
        ("CREATE STREAM d AS SELECT x FROM u JOIN v ON u.k = v.k;", {("D", "X"): "several tables"}),
        ("CREATE STREAM d AS SELECT a MATCHES b AS x FROM u;", {("D", "X"): "could not be parsed"}),
        ("CREATE STREAM d AS SELECT ${x} AS y FROM u;", {("D", "Y"): "variable ${x} is not defined"}),
        ("CREATE STREAM d AS SELECT z->* FROM u;", {("D", None): "the fields of Z are unknown"}),
        (
            "CREATE STREAM d (k INT KEY) WITH (VALUE_FORMAT='JSON'); INSERT INTO d SELECT a FROM u;",
            {("D", "K"): "the query's columns differ from those of D, which ksqlDB rejects"},
        ),
    ],
)
def test_what_cannot_be_derived_is_listed_with_the_reason(
    sql: str, reasons: dict[tuple[str, str | None], str]
) -> None:
    found = {(name(o.table), o.column): o.reason for o in derived(sql).open}
    assert found.keys() >= reasons.keys()
    for place, reason in reasons.items():
        assert reason in found[place]


def test_two_writers_of_one_stream_are_told_apart() -> None:
    text = derived(
        "CREATE STREAM d AS SELECT a AS x FROM s; INSERT INTO d SELECT b AS x FROM s;"
        "INSERT INTO d (x) VALUES (1);"
    )
    assert [
        [(w.kind, [s.column for c in w.columns for s in c.sources]) for w in ws] for ws in text.statements
    ] == [[("CREATE STREAM AS", ["A"])], [("INSERT", ["B"])], [("INSERT VALUES", [])]]
    (union,) = text.written
    assert [source.column for source in union.sources] == ["A", "B"]


def test_given_tables_are_used_where_the_text_does_not_tell() -> None:
    s = Table.of("S", [KsqlColumn("A"), KsqlColumn("ID", ColumnPlace.KEY)], windowed=True)
    text = derive_columns(parse_text("CREATE STREAM d AS SELECT * FROM s; SELECT * FROM s;"), {"S": s}.get)
    assert [column.column for column in text.written] == ["ID", "A"]
    names = [column.name for column in text.outputs[1] or () if isinstance(column, KnownColumn)]
    assert names == ["ID", "WINDOWSTART", "WINDOWEND", "A"]


def test_a_statement_without_flow_has_no_writer() -> None:
    text = derived("CREATE STREAM s (a INT) WITH (VALUE_FORMAT='JSON'); DROP STREAM s; SHOW STREAMS; SELEC;")
    assert text.statements == ((), (), (), ())
    assert "statement 4 was rejected" in text.open[0].reason


@pytest.mark.parametrize(
    "nest", ["({})", "UCASE({})", "CASE WHEN {} THEN 1 END", "ARRAY[{}]", "x[{}]", "NOT ({})"]
)
def test_a_deeply_nested_expression_costs_one_column(nest: str) -> None:
    expression = "a"
    for _ in range(3_000):
        expression = nest.format(expression)
    text = parse_text("CREATE STREAM d AS SELECT @ AS x, b FROM s;".replace("@", expression))
    assert (text.lineage.reads, text.lineage.error) == ((("S",),), None)
    (open_column, known) = derive_columns(text).written
    assert not open_column.complete
    assert known.complete


def test_a_long_chain_of_operators_is_no_nesting() -> None:
    text = derived("CREATE STREAM d AS SELECT @ AS x FROM s;".replace("@", " + ".join(["a", "b"] * 1_000)))
    assert [source.column for source in text.written[0].sources] == ["A", "B"]


_WORDS = st.sampled_from(
    [
        *(
            "a",
            "`b`",
            "'c'",
            "1",
            "${d}",
            "s.a",
            "CASE",
            "WHEN",
            "THEN",
            "END",
            "AS",
            "AND",
            "NOT",
            "IN",
            "IS",
        ),
        *(
            "BETWEEN",
            "LIKE",
            "NULL",
            "DAYS",
            "x =>",
            "->",
            ":=",
            "*",
            "+",
            "=",
            ",",
            ".",
            "<",
            ">",
            "||",
            "AT",
        ),
    ]
)
_GROUPS = st.sampled_from(["({})", "f({})", "ARRAY[{}]", "MAP({})", "STRUCT({})", "CAST({} AS INT)", "a[{}]"])
_EXPRESSIONS = st.recursive(
    st.lists(_WORDS, max_size=6).map(" ".join),
    lambda inner: st.tuples(_GROUPS, inner).map(lambda pair: pair[0].format(pair[1])),
)


@given(_EXPRESSIONS, _EXPRESSIONS, _EXPRESSIONS, _EXPRESSIONS)
def test_no_expression_loses_a_table(item: str, condition: str, group: str, partition: str) -> None:
    sql = "CREATE STREAM d AS SELECT @1, k AS known FROM s JOIN t ON @2 GROUP BY @3 PARTITION BY @4;"
    for number, expression in enumerate((item, condition, group, partition), 1):
        sql = sql.replace(f"@{number}", expression)
    text = parse_text(sql)
    assert text.lineage.error is None
    assert (text.lineage.reads, text.lineage.writes) == ((("S",), ("T",)), (("D",),))
    assert "KNOWN" in [column.column for column in derive_columns(text).written]


@given(st.data())
def test_no_damage_to_a_text_crashes(data: st.DataObject) -> None:
    sql = data.draw(st.sampled_from(CASES))["sql"]
    for _ in range(3):
        start, length = data.draw(st.integers(0, len(sql))), data.draw(st.integers(0, 12))
        sql = sql[:start] + data.draw(st.one_of(_WORDS, _EXPRESSIONS)) + sql[start + length :]
    text = derived(sql)
    assert len(text.statements) <= len(text.outputs)
