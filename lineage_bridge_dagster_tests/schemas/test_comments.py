"""The documentation of a schema's fields is the comment of its columns, but for what people wrote there."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyiceberg.types import IntegerType, StructType

from lineage_bridge_dagster.schemas.columns import row_columns
from lineage_bridge_dagster.schemas.comments import comments
from lineage_bridge_dagster.schemas.evolution import SetComment, plan_evolution
from lineage_bridge_dagster.schemas.schemas import AVRO, JSON, PROTOBUF, RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.schemas.types import MAX_COMMENT, comment, field

NONE = SubjectSchemas("none")


def subject(*texts: str, kind: str = AVRO) -> SubjectSchemas:
    return SubjectSchemas("s", tuple(RegisteredSchema(n, text, kind) for n, text in enumerate(texts, 1)))


def record(*fields: dict[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def test_avro_documents_fields_at_every_level() -> None:
    line = record({"name": "sku", "type": "string", "doc": "Article number."}, name="Line")
    value = record(
        {"name": "id", "type": "long", "doc": "Order number."},
        {"name": "lines", "type": {"type": "array", "items": line}, "doc": "What was ordered."},
        {"name": "by_shop", "type": {"type": "map", "values": "Line"}},
        {"name": "first", "type": ["null", "Line"]},
    )
    assert comments(NONE, subject(json.dumps(value))).latest == {
        ("id",): "Order number.",
        ("lines",): "What was ordered.",
        ("lines", "element", "sku"): "Article number.",
        ("by_shop", "value", "sku"): "Article number.",
        ("first", "sku"): "Article number.",
    }


def test_json_schema_describes_properties_and_alternatives() -> None:
    card = {"title": "card", "type": "object", "description": "By card.", "properties": {"number": {}}}
    value = {
        "type": "object",
        "properties": {
            "id": {"type": "integer", "description": "Order number."},
            "note": {"oneOf": [{"type": "null"}, {"type": "string", "description": "As Connect has it."}]},
            "home": {
                "$ref": "#/definitions/Address",
                "description": "Where it goes.",
            },
            "paid": {"oneOf": [card, {"title": "cash", "type": "string"}], "description": "How."},
        },
        "definitions": {
            "Address": {"type": "object", "properties": {"zip": {"type": "string", "description": "ZIP."}}}
        },
    }
    assert comments(NONE, subject(json.dumps(value), kind=JSON)).latest == {
        ("id",): "Order number.",
        ("note",): "As Connect has it.",
        ("home",): "Where it goes.",
        ("home", "zip"): "ZIP.",
        ("paid",): "How.",
        ("paid", "connect_union_field_0"): "By card.",
    }


def test_protobuf_comments_fields_and_oneofs_and_confluents_option_wins() -> None:
    text = """
        syntax = "proto3";
        import "confluent/meta.proto";
        message Order {
          // Order number,
          // unique in a shop.
          int64 id = 1;
          int32 cents = 2;  // Price.
          // Not this.
          string note = 3 [(confluent.field_meta).doc = "A note."];
          // How it was paid.
          oneof paid {
            // By card.
            Card card = 4;
            string cash = 5;
          }
          message Card {
            /* Last digits. */
            string number = 1;
          }
        }
    """
    assert comments(NONE, subject(text, kind=PROTOBUF)).latest == {
        ("id",): "Order number, unique in a shop.",
        ("cents",): "Price.",
        ("note",): "A note.",
        ("paid",): "How it was paid.",
        ("paid", "card"): "By card.",
        ("paid", "card", "number"): "Last digits.",
    }


def test_value_says_what_a_column_of_both_is() -> None:
    key = subject(
        json.dumps(
            record({"name": "id", "type": "int", "doc": "K."}, {"name": "k", "type": "int", "doc": "k"})
        )
    )
    value = subject(json.dumps(record({"name": "id", "type": "int", "doc": "V."})))
    found = comments(key, value)
    assert found.latest == {("id",): "V.", ("k",): "k"}
    assert found.known[("id",)] == {"K.", "V."}
    assert {each.name: each.doc for each in row_columns(key, value).fields} == {"id": "V.", "k": "k"}


@pytest.mark.parametrize("inner", [("before", "after"), ("after",)])
def test_rows_of_envelopes_have_the_comments_of_the_state_after(inner: tuple[str, ...]) -> None:
    row = record({"name": "id", "type": "int", "doc": "Number."}, name="Row")
    fields = [
        {"name": name, "type": row if n == 0 else "Row", "doc": "State."} for n, name in enumerate(inner)
    ]
    value = subject(json.dumps(record(*fields, {"name": "op", "type": "string", "doc": "What."})))
    assert comments(NONE, value, envelopes=True).latest == {("id",): "Number."}


def test_comment_of_an_earlier_version_follows_the_latest_and_a_persons_stays() -> None:
    texts = [
        json.dumps(record(*({"name": name, "type": "int", "doc": doc} for name in "abc")))
        for doc in ("Old.", "New.")
    ]
    value = subject(*texts)
    current = StructType(
        field("a", IntegerType(), doc="Old."),
        field("b", IntegerType(), doc="Written by hand."),
        field("c", IntegerType()),
    )
    wanted = StructType(*(each for each in row_columns(NONE, value).fields if each.name != "key"))
    changes = plan_evolution(current, wanted, comments(NONE, value).known)
    assert changes == (SetComment(("a",), "New."), SetComment(("c",), "New."))
    # Nobody knows whose the others are.
    assert plan_evolution(current, wanted) == (SetComment(("c",), "New."),)


def test_field_that_lost_its_documentation_keeps_its_comment() -> None:
    texts = [json.dumps(record({"name": "a", "type": "int", **doc})) for doc in ({"doc": "Old."}, {})]
    assert comments(NONE, subject(*texts)).latest == {("a",): "Old."}


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ("  Net price,\r\n\tin cents. ", "Net price, in cents."),
        ("a\x00b", "a b"),
        ("x" * MAX_COMMENT, "x" * MAX_COMMENT),
        ("x" * (MAX_COMMENT + 1), "x" * (MAX_COMMENT - 3) + "..."),
        # Two bytes each; half a letter is none.
        ("\u00e9" * 200, "\u00e9" * 126 + "..."),
        ("", ""),
    ],
)
def test_comment_is_a_line_that_glue_takes(doc: str, expected: str) -> None:
    assert comment(doc) == expected
