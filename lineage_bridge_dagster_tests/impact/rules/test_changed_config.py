"""Connectors that get another configuration, and tables at their ends that change."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.impact.change import ConnectorChange, DropColumn, DropNode
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef
from lineage_bridge_dagster_tests.impact.conftest import Judge, avro, sink, table, world

pytestmark = pytest.mark.xdist_group("flink")

CDC = {
    "connector.class": "PostgresCdcSourceV2",
    "database.hostname": "pg",
    "database.port": "5432",
    "database.dbname": "shop",
    "topic.prefix": "shop",
    "after.state.only": "true",
    "table.include.list": "public.c,public.o",
}
LOST, OTHER = ("loses_data", "email"), ("changes_meaning", "email")
CUSTOMERS = NodeRef(NodeKind.DATASET, "postgres://pg:5432/shop.public.c")


def captured(mode: str = "BACKWARD", **others: Any) -> dict[str, Any]:
    schemas = {
        "shop.public.c": avro(id="int", name="string", email="string?"),
        "shop.public.o": avro(id="int"),
        "mails": avro(email="string?"),
    }
    return world(
        schemas,
        mode,
        statements={"mails": "INSERT INTO mails SELECT email FROM `shop.public.c`"},
        connectors=[{"name": "cdc", "type": "source", "config": CDC}],
        **others,
    )


@pytest.mark.parametrize(
    ("settings", "topic", "mails"),
    [
        ({"tasks.max": "4", "snapshot.mode": "never"}, None, None),
        ({"column.exclude.list": "public.c.email"}, LOST, LOST),
        ({"column.include.list": "public.c.(id|name),public.o.id"}, LOST, LOST),
        ({"column.mask.with.5.chars": "public.c.email"}, OTHER, OTHER),
        ({"table.include.list": "public.o"}, ("loses_data", None), ("loses_data", None)),
        ({"topic.prefix": "new"}, ("loses_data", None), ("loses_data", None)),
    ],
)  # fmt: skip
def test_a_source_connector(judge: Judge, settings: dict[str, str], topic: Any, mails: Any) -> None:
    found = judge(captured(), ConnectorChange("cdc", {**CDC, **settings}))
    assert (found.get("topic : shop.public.c"), found.get("topic : mails")) == (topic, mails)


@pytest.mark.parametrize(
    ("mode", "before", "after", "verdict"),
    [
        ("APPEND", "false", "true", "breaks"),
        ("UPSERT", "false", "true", ""),
        ("UPSERT", "true", "false", "changes_meaning"),
        ("APPEND", "true", "false", ""),
    ],
)
def test_tombstones_reach_tables(judge: Judge, mode: str, before: str, after: str, verdict: str) -> None:
    lake = captured(tableflow={"shop.public.c": mode})
    lake["connectors"][0] = {
        "name": "cdc",
        "type": "source",
        "config": {**CDC, "tombstones.on.delete": before},
    }
    found = judge(lake, ConnectorChange("cdc", {**CDC, "tombstones.on.delete": after}))
    assert found.get("glue : lake.shop.public.c", ("", None))[0] == verdict


def test_a_dropped_column_is_registered_as_a_field_that_is_gone(judge: Judge) -> None:
    found = judge(captured(), DropColumn(CUSTOMERS, "email"))
    assert found == {
        "connector : cdc": ("loses_data", "email"),
        "topic : shop.public.c": ("loses_data", "email"),
        "statement : mails": ("loses_data", "email"),
        "topic : mails": ("loses_data", "email"),
    }


def test_a_dropped_table_is_silent(judge: Judge) -> None:
    found = judge(captured(), DropNode(CUSTOMERS))
    assert found["connector : cdc"] == found["topic : shop.public.c"] == ("loses_data", None)
    assert "topic : shop.public.o" not in found


SINK = {"auto_evolve": "true"}
ORDERS = {"id": "string", "note": "string?", "qty": "int"}


def transformed(name: str, **settings: str) -> dict[str, str]:
    """The sink's settings with a transform."""
    kind = f"org.apache.kafka.connect.transforms.{name}$Value"
    own = {f"transforms_t_{key}": value for key, value in settings.items()}
    return {**SINK, "transforms": "t", "transforms_t_type": kind, **own}


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (SINK, {**SINK, "tasks_max": "4"}, None),
        (SINK, transformed("ReplaceField", exclude="note"), ("loses_data", "note")),
        (SINK, transformed("ReplaceField", renames="note:remark"), ("loses_data", "note")),
        (SINK, transformed("MaskField", fields="note"), ("changes_meaning", "note")),
        (SINK, transformed("Cast", spec="qty:string"), ("changes_type", "qty")),
        (SINK, transformed("InsertField", static_field="new"), ("gains_column", "new")),
        (SINK, {**SINK, "insert_mode": "upsert", "pk_fields": "id"}, ("changes_meaning", None)),
        (SINK, {**SINK, "delete_enabled": "true"}, ("changes_meaning", None)),
        (SINK, {**SINK, "table_name_format": "orders_v2"}, ("loses_data", None)),
        ({**SINK, "fields_whitelist": "id,note"}, {**SINK, "fields_whitelist": "id"}, ("loses_data", "note")),
    ],
)  # fmt: skip
def test_a_sink_connector(judge: Judge, before: dict[str, str], after: dict[str, str], verdict: Any) -> None:
    lake = world({"orders": avro(**ORDERS)}, connectors=[sink("pg", ["orders"], **before)])
    found = judge(lake, ConnectorChange("pg", sink("pg", ["orders"], **after)["config"]))
    assert found.get(table("orders")) == verdict
    assert "topic : orders" not in found


def test_a_topic_that_is_no_longer_read(judge: Judge) -> None:
    lake = world({"a": avro(id="int"), "b": avro(id="int")}, connectors=[sink("pg", ["a", "b"])])
    found = judge(lake, ConnectorChange("pg", sink("pg", ["a"])["config"]))
    assert found == {table("b"): ("loses_data", None)}


def test_a_sink_that_reads_another_format_fails(judge: Judge) -> None:
    old = sink("pg", ["orders"], value_converter="io.confluent.connect.avro.AvroConverter")
    new = sink("pg", ["orders"], value_converter="org.apache.kafka.connect.json.JsonConverter")
    lake = world({"orders": avro(**ORDERS)}, connectors=[old])
    found = judge(lake, ConnectorChange("pg", new["config"]))
    assert found == {"connector : pg": ("breaks", None), table("orders"): ("loses_data", None)}


def test_a_column_that_a_sink_writes_is_dropped(judge: Judge) -> None:
    dropped = DropColumn(NodeRef(NodeKind.DATASET, table("orders").removeprefix("dataset : ")), "note")
    for evolves, connector in (("true", None), ("false", ("breaks", "note"))):
        lake = world({"orders": avro(**ORDERS)}, connectors=[sink("pg", ["orders"], auto_evolve=evolves)])
        assert judge(lake, dropped).get("connector : pg") == connector


@pytest.mark.parametrize(
    ("mode", "connector", "topic", "mails"),
    [
        ("BACKWARD", ("breaks", None), ("loses_data", None), ("loses_data", None)),
        ("NONE", None, None, ("loses_data", None)),
    ],
)
def test_a_source_that_writes_another_format(
    judge: Judge, mode: str, connector: Any, topic: Any, mails: Any
) -> None:
    lake = captured(mode)
    lake["connectors"][0]["config"] = {**CDC, "output.data.format": "AVRO"}
    found = judge(lake, ConnectorChange("cdc", {**CDC, "output.data.format": "PROTOBUF"}))
    assert found.get("connector : cdc") == connector
    assert found.get("topic : shop.public.c") == topic
    assert found["topic : mails"] == mails
    assert found["statement : mails"][0] == ("breaks" if mode == "NONE" else "loses_data")


def test_a_filter_that_is_added_changes_the_rows(judge: Judge) -> None:
    lake = world({"orders": avro(**ORDERS)}, connectors=[sink("pg", ["orders"])])
    package = "org.apache.kafka.connect.transforms"
    settings = {
        "transforms": "f",
        "transforms_f_type": f"{package}.Filter",
        "transforms_f_predicate": "p",
        "predicates": "p",
        "predicates_p_type": f"{package}.predicates.HasHeaderKey",
    }
    new = sink("pg", ["orders"], **settings)
    found = judge(lake, ConnectorChange("pg", new["config"]))
    assert found == {table("orders"): ("changes_meaning", None)}
