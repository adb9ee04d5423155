"""Sink connectors over topics that change."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.impact.change import Change, ConnectorPause, DropNode
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef
from lineage_bridge_dagster_tests.impact.conftest import Judge, avro, register, sink, table, world

ORDERS = {"id": "string", "note": "string?"}
S3 = {"connector.class": "S3_SINK", "s3.bucket.name": "lake", "output.data.format": "PARQUET"}


def over(connector: dict[str, Any], fields: dict[str, Any] = ORDERS) -> dict[str, Any]:
    return world({"orders": avro(**fields), "other": avro(id="string")}, connectors=[connector])


@pytest.mark.parametrize(
    ("settings", "added", "connector", "dataset"),
    [
        ({"auto_evolve": "true"}, "string?", None, ("gains_column", "new")),
        ({"auto_evolve": "true"}, ("string", "EUR"), None, ("gains_column", "new")),
        ({"auto_evolve": "true"}, "string", ("breaks", "new"), ("loses_data", None)),
        ({}, "string?", ("breaks", "new"), ("loses_data", None)),
        ({"fields_whitelist": "id,note"}, "string?", None, None),
        (
            {"errors_tolerance": "all", "errors_deadletterqueue_topic_name": "dlq"},
            "string?",
            ("loses_data", "new"),
            ("loses_data", None),
        ),
    ],
)
def test_a_new_field_over_jdbc(
    judge: Judge, settings: dict[str, str], added: Any, connector: Any, dataset: Any
) -> None:
    found = judge(over(sink("pg", ["orders"], **settings)), register("orders", **ORDERS, new=added))
    assert (found.get("connector : pg"), found.get(table("orders"))) == (connector, dataset)


def test_a_connector_that_fails_starves_all_its_tables(judge: Judge) -> None:
    found = judge(over(sink("pg", ["orders", "other"])), register("orders", **ORDERS, new="string?"))
    assert found[table("other")] == ("loses_data", None)


@pytest.mark.parametrize(
    ("lost", "settings", "connector"),
    [
        ("note", {}, ("loses_data", "note")),
        ("id", {}, ("breaks", "id")),
        ("note", {"pk_mode": "record_value", "pk_fields": "note"}, ("breaks", "note")),
    ],
)
def test_a_lost_field_over_jdbc(judge: Judge, lost: str, settings: dict[str, str], connector: Any) -> None:
    left = {name: kind for name, kind in ORDERS.items() if name != lost}
    found = judge(over(sink("pg", ["orders"], **settings)), register("orders", **left))
    assert found["connector : pg"] == connector


def test_a_table_keeps_its_types_and_files_do_not(judge: Judge) -> None:
    files = {"name": "s3", "type": "sink", "config": {**S3, "topics": "orders"}}
    before = {**over(sink("pg", ["orders"])), "connectors": [sink("pg", ["orders"]), files]}
    found = judge(before, register("orders", id="string", note="long?"))
    assert found["connector : pg"] == ("breaks", "note")
    assert found["dataset : s3://lake/topics/orders"] == ("changes_type", "note")
    assert "connector : s3" not in found


@pytest.mark.parametrize(
    ("settings", "gains"),
    [({}, True), ({"schema.compatibility": "FORWARD"}, False), ({"output.data.format": "BYTES"}, False)],
)
def test_files_get_new_fields_unless_records_are_projected(
    judge: Judge, settings: dict[str, str], gains: bool
) -> None:
    files = {"name": "s3", "type": "sink", "config": {**S3, "topics": "orders", **settings}}
    found = judge(over(files), register("orders", **ORDERS, new="string?"))
    assert ("dataset : s3://lake/topics/orders" in found) is gains


def test_a_partitioner_needs_its_field(judge: Judge) -> None:
    config = {**S3, "topics": "orders", "partition.field.name": "note", "errors.tolerance": "none"}
    found = judge(over({"name": "s3", "type": "sink", "config": config}), register("orders", id="string"))
    assert found["connector : s3"] == ("breaks", "note")


@pytest.mark.parametrize(
    ("change", "connector"),
    [
        (DropNode(NodeRef(NodeKind.TOPIC, "orders")), ("loses_data", None)),
        (DropNode(NodeRef(NodeKind.CONNECTOR, "pg")), None),
        (ConnectorPause("pg"), None),
    ],
)
def test_a_sink_without_input_and_a_table_without_a_sink(
    judge: Judge, change: Change, connector: Any
) -> None:
    found = judge(over(sink("pg", ["orders"])), change)
    assert found[table("orders")] == ("loses_data", None)
    assert found.get("connector : pg") == connector
