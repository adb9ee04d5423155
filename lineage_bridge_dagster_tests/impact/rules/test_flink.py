"""Running statements over topics that change."""

from __future__ import annotations

import json

import pytest

from lineage_bridge_dagster.impact.change import DropNode, SchemaChange, StatementStop
from lineage_bridge_dagster.impact.world import NodeKind, NodeRef
from lineage_bridge_dagster_tests.impact.conftest import Judge, avro, register, world

pytestmark = pytest.mark.xdist_group("flink")

ORDERS = {"id": "string", "amount": "double?", "note": "string?", "region": "string?"}


def without(name: str) -> dict[str, str]:
    return {key: kind for key, kind in ORDERS.items() if key != name}


def test_a_lost_field_reaches_what_is_made_of_it_and_nothing_else(judge: Judge) -> None:
    found = judge(
        world(
            {"orders": avro(**ORDERS), "notes": avro(text="string?"), "ids": avro(id="string")},
            statements={
                "notes": "INSERT INTO notes SELECT UPPER(note) FROM orders",
                "ids": "INSERT INTO ids SELECT id FROM orders",
            },
        ),
        register("orders", **without("note")),
    )
    assert found == {
        "topic : orders": ("loses_data", "note"),
        "statement : notes": ("loses_data", "note"),
        "topic : notes": ("loses_data", "text"),
    }


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id FROM orders WHERE region = 'EU'",
        "SELECT region FROM orders GROUP BY region",
        "SELECT o.id FROM orders AS o JOIN other AS i ON o.region = i.id",
        "SELECT id FROM (SELECT id FROM orders WHERE region = 'EU')",
        "SELECT id FROM other WHERE EXISTS (SELECT 1 FROM orders WHERE orders.region = other.id)",
        "SELECT id FROM other WHERE id IN (SELECT id FROM orders WHERE region = 'EU')",
        "SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY region ORDER BY id) AS n FROM orders) "
        "WHERE n = 1",
    ],
)
def test_a_lost_field_that_selects_or_groups_rows_costs_rows(judge: Judge, query: str) -> None:
    found = judge(
        world(
            {"orders": avro(**ORDERS), "out": avro(id="string?"), "other": avro(id="string")},
            statements={"s": f"INSERT INTO `out` {query}"},
        ),
        register("orders", **without("region")),
    )
    assert found["statement : s"] == ("loses_data", "region")
    assert found["topic : out"] == ("loses_data", None)


def test_a_left_join_loses_the_columns_of_the_other_side(judge: Judge) -> None:
    found = judge(
        world(
            {
                "orders": avro(**ORDERS),
                "out": avro(id="string", name="string?"),
                "ids": avro(id="string"),
                "names": avro(name="string?"),
                "other": avro(id="string", name="string"),
            },
            statements={
                "s": "INSERT INTO `out` SELECT o.id, name FROM orders o LEFT JOIN other i ON region = i.id",
                "ids": "INSERT INTO ids SELECT id FROM `out`",
                "names": "INSERT INTO names SELECT name FROM `out`",
            },
        ),
        register("orders", **without("region")),
    )
    assert found["topic : out"] == ("loses_data", "name")
    assert "statement : ids" not in found
    assert found["topic : names"] == ("loses_data", "name")


def test_a_view_of_the_past_is_followed_and_a_star_is_fixed(judge: Judge) -> None:
    statements = [
        {"name": "v", "sql": "CREATE VIEW eu AS SELECT id, note FROM orders", "phase": "COMPLETED"},
        {"name": "s", "sql": "INSERT INTO notes SELECT note FROM eu", "phase": "RUNNING"},
        {"name": "all", "sql": "INSERT INTO copy SELECT * FROM orders", "phase": "RUNNING"},
    ]
    schemas = {"orders": avro(**ORDERS), "notes": avro(text="string?"), "copy": avro(**ORDERS)}
    before = {**world(schemas), "statements": statements}
    lost = judge(before, register("orders", **without("note")))
    assert lost["topic : notes"] == ("loses_data", "text")
    assert lost["topic : copy"] == ("loses_data", "note")
    gained = judge(before, register("orders", **ORDERS, new="string?"))
    assert gained == {"topic : orders": ("gains_column", "new")}


def test_the_column_of_a_watermark_that_goes_breaks_its_readers(judge: Judge) -> None:
    statements = [
        {
            "name": "wm",
            "sql": "ALTER TABLE clicks MODIFY WATERMARK FOR ts AS ts - INTERVAL '5' SECOND",
            "phase": "COMPLETED",
        },
        {"name": "s", "sql": "INSERT INTO users SELECT id FROM clicks", "phase": "RUNNING"},
    ]
    before = world({"clicks": avro(id="string", ts="long?"), "users": avro(id="string")})
    found = judge({**before, "statements": statements}, register("clicks", id="string"))
    assert found["statement : s"] == ("breaks", "ts")
    assert found["topic : users"] == ("loses_data", None)


def test_a_statement_set_is_one_job(judge: Judge) -> None:
    found = judge(
        world(
            {"a": avro(id="string"), "b": avro(id="string"), "x": avro(id="string"), "y": avro(id="string")},
            statements={
                "both": "EXECUTE STATEMENT SET BEGIN INSERT INTO x SELECT id FROM a; "
                "INSERT INTO y SELECT id FROM b; END;"
            },
        ),
        DropNode(NodeRef(NodeKind.TOPIC, "a")),
    )
    assert found["statement : both"][0] == "breaks"
    assert found["topic : x"] == found["topic : y"] == ("loses_data", None)


def test_a_cycle_of_statements_ends(judge: Judge) -> None:
    found = judge(
        world(
            {"a": avro(id="string"), "b": avro(id="string"), "c": avro(id="string")},
            statements={
                "ab": "INSERT INTO b SELECT id FROM a",
                "ba": "INSERT INTO a SELECT id FROM b",
                "feed": "INSERT INTO a SELECT id FROM c",
            },
        ),
        StatementStop("feed"),
    )
    assert {node for node, (verdict, _) in found.items() if verdict == "loses_data"} == {
        *("topic : a", "statement : ab", "topic : b", "statement : ba")
    }


def test_a_protobuf_field_with_another_name_is_still_read_by_its_number(judge: Judge) -> None:
    text = 'syntax = "proto3"; message M {{ string id = 1; optional string {name} = 2; }}'
    before = world(
        {"orders": "", "notes": avro(note="string?")},
        statements={"s": "INSERT INTO notes SELECT note FROM orders"},
    )
    before["schemas"][0] |= {"type": "PROTOBUF", "schema": text.format(name="note")}
    found = judge(before, SchemaChange("orders-value", text.format(name="remark"), "PROTOBUF"))
    assert found == {"topic : orders": ("loses_data", "note")}


def test_the_record_of_a_protobuf_schema_is_the_message_that_no_other_holds(judge: Judge) -> None:
    text = (
        'syntax = "proto3"; message Address {{ {zip} string city = 2; }} '
        "message Order {{ string id = 1; Address address = 2; }}"
    )
    statements = {
        "zips": "INSERT INTO zips SELECT o.address.zip FROM orders AS o",
        "cities": "INSERT INTO cities SELECT o.address.city FROM orders AS o",
    }
    schemas = {"orders": "", "zips": avro(zip="string?"), "cities": avro(city="string?")}
    before = world(schemas, statements=statements)
    before["schemas"][0] |= {"type": "PROTOBUF", "schema": text.format(zip="string zip = 1;")}
    found = judge(before, SchemaChange("orders-value", text.format(zip=""), "PROTOBUF"))
    assert found == {
        "topic : orders": ("loses_data", "address.zip"),
        "statement : zips": ("loses_data", "zip"),
        "topic : zips": ("loses_data", "zip"),
    }


def test_the_fields_of_an_envelope_are_the_columns_of_its_row(judge: Judge) -> None:
    def envelope(**fields: str) -> str:
        row = json.loads(avro(**fields)) | {"name": "Value"}
        after = {"name": "after", "type": ["null", "Value"], "default": None}
        before = {"name": "before", "type": ["null", row], "default": None}
        op = {"name": "op", "type": "string"}
        return json.dumps({"type": "record", "name": "Envelope", "fields": [before, after, op]})

    found = judge(
        world(
            {"c": envelope(id="int", mail="string?"), "mails": avro(mail="string?"), "ids": avro(id="int")},
            statements={
                "mails": "INSERT INTO mails SELECT mail FROM c",
                "ids": "INSERT INTO ids SELECT id FROM c",
            },
        ),
        SchemaChange("c-value", envelope(id="int")),
    )
    assert found["topic : mails"] == ("loses_data", "mail")
    assert "topic : ids" not in found
