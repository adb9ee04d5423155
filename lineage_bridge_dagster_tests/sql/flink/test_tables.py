"""Tables read and written, in entire collections of statements."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster.sql.flink.split import _TOKEN
from lineage_bridge_dagster.sql.report.jsonl import lineage_records
from lineage_bridge_dagster_tests.conftest import shared
from lineage_bridge_dagster_tests.sql.conftest import cases

pytestmark = pytest.mark.xdist_group("flink")

SETS = ("reads", "writes", "reads_fq", "writes_fq")
BLANKS = st.sampled_from(
    [" ", "\n", "\t \r\n", " /* FROM x; ' */ ", " -- INSERT INTO `y\n", " // JOIN z '\r\n", " /**/ /****/ "]
)
REFERENCE = ("flink_hard", "flink_planner", "flink_real")


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["id"])
def test_reads_and_writes_match_those_determined_by_hand(
    parser: FlinkSqlParser, case: dict[str, Any]
) -> None:
    (lineage,) = parser.parse([case["sql"]])
    assert lineage.error is None
    assert sorted(map(list, lineage.reads)) == case["reads_fq"]
    assert sorted(map(list, lineage.writes)) == case["writes_fq"]


@pytest.mark.shared
@pytest.mark.parametrize("name", REFERENCE)
def test_every_reference_statement_matches_exactly(parser: FlinkSqlParser, name: str) -> None:
    rows = [json.loads(line) for line in shared("sql", f"{name}.jsonl").read_text("utf-8").splitlines()]
    wrong = [
        (row["id"], {k: record[k] for k in SETS}, record["error"])
        for row, record in zip(rows, lineage_records(rows, parser.parse), strict=True)
        if any(record[k] != row[k] for k in SETS) or record["error"]
    ]
    assert rows
    assert wrong == []


@pytest.mark.shared
def test_any_text_has_a_result_and_valid_ones_have_no_error(parser: FlinkSqlParser) -> None:
    text = shared("sql", "flink_robustness.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    records = list(lineage_records(rows, parser.parse))
    assert [record["id"] for record in records] == [row["id"] for row in rows]
    # Everything that Flink itself accepts is accepted.
    assert [
        record["id"]
        for record, row in zip(records, rows, strict=True)
        if record["error"] and not row["oss_parser_error"]
    ] == []


@given(case=st.sampled_from(cases()), blanks=st.lists(BLANKS, min_size=1, max_size=12))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_comments_and_blanks_change_nothing(
    parser: FlinkSqlParser, case: dict[str, Any], blanks: list[str]
) -> None:
    parts = []
    for i, match in enumerate(_TOKEN.finditer(case["sql"])):
        parts.append(blanks[i % len(blanks)] if match.lastgroup == "skip" else match.group())
    (lineage,) = parser.parse(["".join(["/* ; */\n", *parts, "\n-- end"])])
    assert lineage.error is None
    assert sorted(map(list, lineage.reads)) == case["reads_fq"]
    assert sorted(map(list, lineage.writes)) == case["writes_fq"]


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("INSERT INTO a SELECT * FROM b", "INSERT"),
        ("EXECUTE INSERT INTO a SELECT * FROM b", "INSERT"),
        ("(SELECT 1) UNION SELECT 2", "SELECT"),
        ("WITH a AS (SELECT 1) SELECT * FROM a ORDER BY 1", "SELECT"),
        ("VALUES (1)", "SELECT"),
        ("CREATE TABLE a AS SELECT 1 AS x", "CREATE TABLE AS"),
        ("CREATE TABLE a (x INT)", "CREATE TABLE"),
        ("CREATE TABLE a LIKE b", "CREATE TABLE LIKE"),
        ("CREATE OR REPLACE TABLE a AS SELECT 1 AS x", "REPLACE TABLE AS"),
        ("CREATE OR ALTER MATERIALIZED TABLE m AS SELECT 1 AS x", "CREATE MATERIALIZED TABLE"),
        ("CREATE VIEW v AS SELECT 1", "CREATE VIEW"),
        ("ALTER TABLE a RENAME TO b", "ALTER TABLE RENAME"),
        ("SHOW CREATE TABLE a", "SHOW CREATE TABLE"),
        ("EXPLAIN SELECT 1", "EXPLAIN"),
        ("CREATE OR REPLACE TOOL t USING CONNECTION c", "CREATE TOOL"),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO a TABLE b; END", "STATEMENT SET"),
        ("BEGIN STATEMENT SET; INSERT INTO a TABLE b; END", "STATEMENT SET"),
        ("SET 'a' = 'b'; INSERT INTO a TABLE b", "INSERT"),
        ("USE CATALOG c", "USE CATALOG"),
        ("CREATE VIEW v AS SELECT 1; INSERT INTO a TABLE v", "SCRIPT"),
        ("SELEC 1", "UNKNOWN"),
    ],
)
def test_kind_of_a_text(parser: FlinkSqlParser, sql: str, kind: str) -> None:
    (lineage,) = parser.parse([sql])
    assert lineage.kind == kind


def test_table_of_a_search_function_is_not_among_the_reads(parser: FlinkSqlParser) -> None:
    (lineage,) = parser.parse(
        ["SELECT * FROM q, LATERAL TABLE(vector_search_agg(`e`.`c`.`store.v1`, DESCRIPTOR(x), q.x, 3))"]
    )
    assert lineage.reads == (("q",),)
    assert lineage.statements[0].searches == (("e", "c", "store.v1"),)


def test_reads_are_in_the_order_of_the_text(parser: FlinkSqlParser) -> None:
    (lineage,) = parser.parse(["SELECT (SELECT 1 FROM z), a FROM y JOIN x ON y.i IN (SELECT i FROM w), v, y"])
    assert lineage.reads == (("z",), ("y",), ("x",), ("w",), ("v",))
