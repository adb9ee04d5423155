"""Tables that Tableflow writes, over topics that change."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.impact.change import (
    Change,
    SchemaChange,
    TableflowChange,
    TableflowDrop,
    TopicChange,
)
from lineage_bridge_dagster_tests.impact.conftest import Judge, avro, register, world

MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
FIXED = {"type": "fixed", "name": "F", "size": 8}
ADDRESS: dict[str, Any] = {"type": "record", "name": "A", "fields": [{"name": "zip", "type": "string"}]}
CITY = {"name": "city", "type": ["null", "string"], "default": None}
WITH_CITY = {**ADDRESS, "fields": [*ADDRESS["fields"], CITY]}
VIEWS = {"v": "SELECT id FROM lake.orders"}


def judged(judge: Judge, before: Any, after: Any) -> tuple[Any, Any]:
    """The verdicts on the table and on a view that does not show the field."""
    old = {} if before is None else {"x": before}
    new = {} if after is None else {"x": after}
    lake = world({"orders": avro(id="string", **old)}, tableflow={"orders": "APPEND"}, views=VIEWS)
    found = judge(lake, register("orders", id="string", **new))
    return found.get("glue : lake.orders", ("", None))[0], found.get("view : lake.v", ("", None))[0]


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (None, "string?", "gains_column"),
        (None, ("string", ""), "breaks"),
        (None, ({"type": "array", "items": "string"}, []), "gains_column"),
        ("string?", None, "breaks"),
        ("int", "long", "changes_type"),
        ("float", "double", "changes_type"),
        (MONEY, {**MONEY, "precision": 12}, "changes_type"),
        (MONEY, {**MONEY, "scale": 3}, "breaks"),
        ("long", "int", "breaks"),
        ("int", "double", "breaks"),
        ("string", "bytes", "breaks"),
        ("string?", "string", "breaks"),
        ("string", "string?", ""),
        (
            {"type": "enum", "name": "E", "symbols": ["A", "B"]},
            {"type": "enum", "name": "E", "symbols": ["A"]},
            "",
        ),
        (["null", "int", "string"], ["null", "int", "string", "boolean"], "changes_type"),
        (["null", "int", "string"], ["null", "long", "string"], "breaks"),
        (["null", "int", ADDRESS], ["null", "int", WITH_CITY], "gains_column"),
        (["null", "int", "string"], ["null", "int", "string", ADDRESS], "changes_type"),
        ("int", ["null", "int", "string"], "breaks"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "string", ""),
        (
            {"type": "long", "logicalType": "timestamp-millis"},
            {"type": "long", "logicalType": "timestamp-micros"},
            "",
        ),
        (ADDRESS, WITH_CITY, "gains_column"),
        ({"type": "array", "items": "int"}, {"type": "array", "items": "long"}, "changes_type"),
        (FIXED, {**FIXED, "size": 16}, "breaks"),
        ("bytes", FIXED, "breaks"),
        ({"type": "map", "values": FIXED}, {"type": "map", "values": {**FIXED, "size": 4}}, "breaks"),
    ],
)  # fmt: skip
def test_what_a_table_takes(judge: Judge, before: Any, after: Any, verdict: str) -> None:
    assert judged(judge, before, after) == (verdict, "loses_data" if verdict == "breaks" else "")


@pytest.mark.parametrize(
    ("mode", "verdict"), [("APPEND", ("changes_type", "id")), ("UPSERT", ("breaks", "id"))]
)
def test_a_key_identifies_the_rows_of_an_upsert_table(judge: Judge, mode: str, verdict: Any) -> None:
    lake = world({"t-key": avro(id="int"), "t-value": avro(name="string?")}, tableflow={"t": mode})
    found = judge(lake, SchemaChange("t-key", avro(id="long")))
    assert found["glue : lake.t"] == verdict


@pytest.mark.parametrize(
    ("change", "table", "view"),
    [
        (TableflowDrop("t"), "breaks", "loses_data"),
        (TableflowChange("t", suspended=True), "loses_data", "loses_data"),
        (TableflowChange("t", mode="APPEND"), "changes_meaning", "changes_meaning"),
        (TableflowChange("t", on_error="SKIP"), "", ""),
        (TopicChange("t", {"partitions": 12}), "changes_meaning", "changes_meaning"),
        (TopicChange("t", {"partitions": 6, "retention.ms": "1"}), "", ""),
        (TopicChange("t", recreated=True), "loses_data", "loses_data"),
    ],
)
def test_settings_of_tableflow_and_of_the_topic(judge: Judge, change: Change, table: str, view: str) -> None:
    lake = world(
        {"t-key": avro(id="int"), "t-value": avro(name="string?")},
        tableflow={"t": "UPSERT"},
        views={"v": "SELECT id FROM lake.t"},
        topic_configs={"t": {"partitions": 6}},
    )
    found = judge(lake, change)
    assert found.get("glue : lake.t", ("", None))[0] == table
    assert found.get("view : lake.v", ("", None))[0] == view
