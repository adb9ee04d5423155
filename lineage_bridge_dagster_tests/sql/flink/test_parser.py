# ruff: noqa: S608
"""The parser, with any input."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.sql.flink import parser as flink_parser
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser, error_message
from lineage_bridge_dagster.sql.statement import Position

pytestmark = pytest.mark.xdist_group("flink")

GOOD = "INSERT INTO d SELECT * FROM t"
WORDS = st.sampled_from(
    [
        *(
            "SELECT",
            "FROM",
            "INSERT",
            "INTO",
            "WITH",
            "AS",
            "JOIN",
            "ON",
            "UNION",
            "ALL",
            "CASE",
            "WHEN",
            "LATERAL",
        ),
        *(
            "BEGIN",
            "STATEMENT",
            "SET",
            "END",
            "EXECUTE",
            "TABLE",
            "CREATE",
            "VIEW",
            "OR",
            "ALTER",
            "MATERIALIZED",
        ),
        *("(", ")", ",", ";", ".", "*", "=", "a", "`b`", "'c'", "/*+", "*/", "/*", "--", "\n", "1", "1.5e"),
        *("\0", "\ud800", "😀", "'", "`", '"', "#", "$", "\\"),
    ]
)


@given(text=st.one_of(st.text(st.characters()), st.lists(WORDS, max_size=25).map(" ".join)))
@example(text="\0")
@example(text="\ud800 \udfff")
@example(text="SELECT '\ud800', '\0' FROM t")
@example(text=";" * 5000)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_has_a_result_and_does_not_affect_others(parser: FlinkSqlParser, text: str) -> None:
    before = parser.pid
    odd, good = parser.parse([text, GOOD])
    assert good.reads == (("t",),)
    assert odd.error is not None or odd.statements
    assert before in (None, parser.pid)


def test_identifiers_are_returned_as_written(parser: FlinkSqlParser) -> None:
    name = "a.b-C d\t😀\ud800é\\\"'"
    (lineage,) = parser.parse([f"INSERT INTO `{name}` SELECT * FROM `x``y`"])
    assert lineage.writes == ((name,),)
    assert lineage.reads == (("x`y",),)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("SELECT FROM t", Position(1, 8)),
        ("SELECT o.$rowtime,\to.$rowtime FROM t o WHERE p.$rowtime > , 1", Position(1, 57)),
        ("SELECT a FROM t;\n\n  SELECT '😀😀', $ FROM t", Position(3, 16)),
        ("CREATE OR ALTER MATERIALIZED TABLE m START_MODE = X AS\nSELECT * FORM t", Position(2, 15)),
        ("SELECT 'never closed", Position(1, 8)),
        ("", Position(1, 1)),
    ],
)
def test_error_of_a_rejected_text_has_its_position(
    parser: FlinkSqlParser, text: str, position: Position
) -> None:
    (lineage,) = parser.parse([text])
    assert lineage.error is not None
    assert lineage.position == position
    assert lineage.statements[-1].reads == ()


def test_rejected_statement_leaves_the_others_of_its_text(parser: FlinkSqlParser) -> None:
    (lineage,) = parser.parse(["INSERT INTO a SELECT * FROM x; INSERT INTO; INSERT INTO b SELECT * FROM y"])
    assert lineage.reads == (("x",), ("y",))
    assert lineage.writes == (("a",), ("b",))
    assert lineage.error is not None
    assert [s.error is None for s in lineage.statements] == [True, False, True]


def test_errors_contain_no_literal() -> None:
    for raw in (
        r'Encountered "\'hunter2\' \'x" at line 1, column 3.' + "\nWas expecting one of:\n 'hunter2'",
        "Illegal DATE literal 'hunter2': not in format at line 1, column 2",
        'Lexical error at line 1, column 20.  Encountered: <EOF> after : "\'hunter2"',
    ):
        assert "hunter2" not in error_message(raw)
        assert "line" not in error_message(raw)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM t WHERE " + " OR ".join(f"a = {i}" for i in range(3000)),
        "SELECT " + "(" * 3000 + "1" + ")" * 3000 + " FROM t",
        "SELECT * FROM " + "(SELECT * FROM " * 3000 + "t" + ")" * 3000,
        " UNION ALL ".join(["SELECT * FROM t"] * 3000),
        "SELECT '" + "x" * 300_000 + "' FROM t",
    ],
    ids=["or", "parentheses", "subqueries", "union", "literal"],
)
def test_long_and_deep_statements_are_parsed(parser: FlinkSqlParser, text: str) -> None:
    (lineage,) = parser.parse([text])
    assert lineage.error is None
    assert lineage.reads == (("t",),)


def test_overflow_affects_only_its_own_statement(parser: FlinkSqlParser) -> None:
    deep = "SELECT * FROM t WHERE " + "NOT (" * 400_000 + "a" + ")" * 400_000
    before, odd, after = parser.parse([GOOD, deep, GOOD])
    assert odd.error is not None
    assert before.reads == after.reads == (("t",),)


def test_text_over_the_limit_is_refused_with_the_limit(parser: FlinkSqlParser) -> None:
    odd, good = parser.parse(["-" * (flink_parser.MAX_CHARS + 1), GOOD])
    assert odd.error is not None
    assert f"{flink_parser.MAX_CHARS:,}" in odd.error
    assert good.error is None
