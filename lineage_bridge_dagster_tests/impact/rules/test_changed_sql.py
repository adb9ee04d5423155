"""Statements whose SQL changes."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.impact.change import StatementChange
from lineage_bridge_dagster_tests.impact.conftest import Judge, avro, world

pytestmark = pytest.mark.xdist_group("flink")

BEFORE = "INSERT INTO `out` SELECT id, SUM(amount) AS total, COUNT(*) AS n FROM orders GROUP BY id"
LATEST = "orders /*+ OPTIONS('scan.startup.mode' = 'latest-offset') */"
SAMPLE = "orders TABLESAMPLE SYSTEM (5)"
SCHEMAS = {
    "orders": avro(id="string", amount="double", region="string", qty="int"),
    "other": avro(id="string", name="string"),
    "out": avro(id="string", total="double?", n="long?"),
    "totals": avro(total="double?"),
    "ids": avro(id="string"),
}
READERS = {
    "totals": "INSERT INTO totals SELECT total FROM `out`",
    "ids": "INSERT INTO ids SELECT id FROM `out`",
}


def changed(judge: Judge, sql: str, before: str = BEFORE, **others: Any) -> dict[str, Any]:
    lake = world(SCHEMAS, statements={"s": before, **READERS}, **others)
    return judge(lake, StatementChange("s", sql))


@pytest.mark.parametrize(
    ("sql", "column", "totals", "ids"),
    [
        (BEFORE.replace("SUM", "AVG"), "total", "changes_meaning", ""),
        (BEFORE.replace("FROM", "FROM /* as before */").replace("AS total", "AS t"), "", "", ""),
        (BEFORE.replace("GROUP", "WHERE region = 'EU' GROUP"), None, "changes_meaning", "changes_meaning"),
        (BEFORE.replace("SUM(amount)", "SUM(amount * 2)"), "total", "changes_meaning", ""),
        (BEFORE.replace("orders", LATEST), None, "changes_meaning", "changes_meaning"),
        (BEFORE.replace("orders", LATEST.replace("startup.mode", "parallelism")), "", "", ""),
        (BEFORE.replace("orders", SAMPLE), None, "changes_meaning", "changes_meaning"),
        ("INSERT INTO `out` (id, total) SELECT id, SUM(amount) FROM orders GROUP BY id", "n", "", ""),
    ],
)
def test_a_change_reaches_the_columns_that_it_concerns(
    judge: Judge, sql: str, column: Any, totals: str, ids: str
) -> None:
    found = changed(judge, sql)
    assert found.get("topic : out", ("", ""))[1] == column
    assert found.get("topic : totals", ("", None))[0] == totals
    assert found.get("topic : ids", ("", None))[0] == ids


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO `out` SELEC id FROM orders",
        "INSERT INTO `out` SELECT id, missing, 1 FROM orders",
        "INSERT INTO `out` SELECT id, amount, qty FROM orders WHERE missing = 1",
        "INSERT INTO `out` SELECT id FROM nowhere",
        "INSERT INTO `out` SELECT id, amount FROM orders",
        "INSERT INTO `out` (id, missing) SELECT id, amount FROM orders",
        "INSERT INTO `out` SELECT id, region, qty FROM orders",
        "INSERT INTO `out` SELECT id, amount, amount FROM orders",
        "INSERT INTO `out` (total, n) SELECT amount, qty FROM orders",
    ],
)
def test_sql_that_flink_refuses_breaks_the_statement(judge: Judge, sql: str) -> None:
    found = changed(judge, sql)
    assert found["statement : s"][0] == "breaks"
    assert found["topic : out"] == found["topic : ids"] == ("loses_data", None)


def test_a_smaller_number_fits_a_larger_one(judge: Judge) -> None:
    found = changed(judge, "INSERT INTO `out` SELECT id, qty, qty FROM orders")
    assert "statement : s" not in found


@pytest.mark.parametrize(
    ("config", "hit"),
    [
        ({"retention.ms": "604800000"}, True),
        ({}, False),
        ({"retention.ms": "-1"}, False),
        ({"retention.ms": "604800000", "cleanup.policy": "compact"}, False),
    ],
)
def test_state_that_cannot_be_computed_again(judge: Judge, config: dict[str, str], hit: bool) -> None:
    found = changed(judge, BEFORE, topic_configs={"orders": config})
    assert ("topic : out" in found) is hit
    assert "topic : ids" not in found


def test_a_sink_that_is_no_longer_written_loses_rows(judge: Judge) -> None:
    found = changed(judge, "INSERT INTO totals SELECT amount FROM orders")
    assert found["topic : out"] == ("loses_data", None)


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE orders MODIFY WATERMARK FOR ts AS ts",
        "ALTER TABLE orders SET ('kafka.retention.time' = '1 d')",
        "INSERT INTO fresh SELECT id FROM orders",
    ],
)
def test_a_statement_beside_the_others_leaves_them_alone(judge: Judge, sql: str) -> None:
    lake = world({**SCHEMAS, "fresh": avro(id="string")}, statements={"s": BEFORE, **READERS})
    assert judge(lake, StatementChange("new", sql)) == {}
