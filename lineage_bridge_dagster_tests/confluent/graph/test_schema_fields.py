from __future__ import annotations

import json

import pytest

from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.graph.schema_fields import fields_of, record_name, record_names
from lineage_bridge_dagster.confluent.graph.subjects import SubjectIndex, role_of, split_context, strategy_of
from lineage_bridge_dagster_tests.confluent.fake import avro

VALUE_STRATEGY = "confluent.value.subject.name.strategy"
PACKAGE = "io.confluent.kafka.serializers.subject."


def schema(text: object, kind: str = "AVRO", subject: str = "orders-value") -> Schema:
    body = text if isinstance(text, str) else json.dumps(text)
    return Schema(subject=subject, version=1, id=1, schema_type=kind, text=body)


def types(text: object, kind: str = "AVRO") -> dict[str, str]:
    return {field["name"]: field["type"] for field in fields_of(schema(text, kind))}


def test_avro_types_in_words() -> None:
    record = {
        "type": "record",
        "name": "Order",
        "namespace": "com.acme",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "note", "type": ["null", "string"]},
            {"name": "either", "type": ["null", "int", "string"]},
            {
                "name": "price",
                "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
            },
            {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
            {"name": "counts", "type": {"type": "map", "values": "long"}},
            {
                "name": "to",
                "type": {"type": "record", "name": "A", "fields": [{"name": "zip", "type": "string"}]},
            },
            {"name": "status", "type": {"type": "enum", "name": "S", "symbols": ["A"]}},
            {"name": "customer", "type": "com.acme.Customer"},
        ],
    }
    assert types(record) == {
        "id": "long",
        "note": "string",
        "either": "union<int,string>",
        "price": "decimal(10,2)",
        "at": "timestamp-millis",
        "tags": "array<string>",
        "counts": "map<string,long>",
        "to": "record<zip:string>",
        "status": "enum",
        "customer": "com.acme.Customer",
    }
    assert record_name(schema(record)) == "com.acme.Order"


def test_json_schema_properties() -> None:
    document = {
        "title": "Order",
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "note": {"oneOf": [{"type": "null"}, {"type": "string"}]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "either": {"type": ["null", "number"]},
            "to": {"$ref": "#/definitions/Address"},
            "anything": True,
        },
    }
    assert types(document, "JSON") == {
        "id": "integer",
        "note": "string",
        "tags": "array<string>",
        "either": "number",
        "to": "Address",
        "anything": "unknown",
    }


def test_protobuf_fields_of_the_first_message() -> None:
    text = """
    syntax = "proto3";  // { not a block
    package com.acme;
    import "google/protobuf/timestamp.proto";
    option java_package = "x";
    /* message Commented { string no = 1; } */
    enum Kind { A = 0; }
    message Order {
      option deprecated = true;
      reserved 4, 5;
      message Line { string sku = 1; }
      enum State { NEW = 0; }
      int64 id = 1;
      repeated Line lines = 2 [deprecated = true];
      map<string, int32> counts = 3;
      oneof payment { string card = 6; string cash = 7; }
      optional google.protobuf.Timestamp at = 8;
    }
    message Other { string no = 1; }
    """
    assert types(text, "PROTOBUF") == {
        "id": "int64",
        "lines": "array<Line>",
        "counts": "map<string,int32>",
        "payment": "oneof<card:string,cash:string>",
        "at": "google.protobuf.Timestamp",
    }
    assert record_name(schema(text, "PROTOBUF")) == "com.acme.Order"


def test_a_group_of_proto2_is_a_field_and_a_message() -> None:
    text = """
    message Order {
      required int32 id = 1;
      repeated group Line = 2 { optional string sku = 3; optional group Box = 4 { optional int32 n = 5; } }
      optional string note = 6;
    }
    """
    assert types(text, "PROTOBUF") == {"id": "int32", "line": "array<Line>", "note": "string"}
    assert record_names(schema(text, "PROTOBUF")) == ("Order", "Order.Line", "Order.Line.Box")


@pytest.mark.parametrize("kind", ["AVRO", "JSON", "PROTOBUF", "SOMETHING_NEW"])
@pytest.mark.parametrize(
    "text", ["{", "[]", "null", "3", '"string"', "message", "message X {", '{"fields": 5}', "[" * 100_000]
)
def test_any_text_gives_a_list_without_error(kind: str, text: str) -> None:
    assert fields_of(schema(text, kind)) == []
    assert isinstance(record_name(schema(text, kind)), str)


def subjects_of(topic: str, configs: dict[str, str], *subjects: dict[str, object]) -> list[tuple[str, float]]:
    index = SubjectIndex.of(Schema.model_validate(subject) for subject in subjects)
    return [(match.schema.subject, match.confidence) for match in index.schemas_of(topic, configs)]


class TestSubjects:
    def test_topic_name_strategy_is_the_default(self) -> None:
        schemas = (avro("orders-key", "id"), avro("orders-value", "id"), avro("orders-v1-value", "id"))
        assert subjects_of("orders", {}, *schemas) == [("orders-value", 1.0), ("orders-key", 1.0)]

    def test_topic_record_strategy_finds_every_record_of_the_topic(self) -> None:
        configs = {VALUE_STRATEGY: PACKAGE + "TopicRecordNameStrategy"}
        schemas = (
            avro("orders-com.acme.Paid", "id", name="Paid"),
            avro("orders-com.acme.Sent", "id", name="Sent"),
            avro("orders-v1-com.acme.Paid", "id", name="Paid"),
            avro("orders-value", "id"),
        )
        found = subjects_of("orders", configs, *schemas)
        assert found == [("orders-com.acme.Paid", 1.0), ("orders-com.acme.Sent", 1.0)]
        assert subjects_of("orders-v1", configs, *schemas) == [("orders-v1-com.acme.Paid", 1.0)]

    def test_record_strategy_assigns_no_subject_to_a_topic(self) -> None:
        configs = {VALUE_STRATEGY: PACKAGE + "RecordNameStrategy"}
        schemas = (avro("com.acme.Order", "id"), avro("orders-value", "id"))
        assert subjects_of("orders", configs, *schemas) == []

    def test_topic_record_subject_is_recognized_by_its_name(self) -> None:
        (found,) = subjects_of("orders", {}, avro("orders-com.acme.Order", "id"))
        assert found[1] < 1

    def test_subject_of_another_context_has_lower_confidence(self) -> None:
        own, elsewhere = avro("orders-value", "id"), avro(":.eu:orders-value", "id")
        assert subjects_of("orders", {}, own, elsewhere) == [("orders-value", 1.0)]
        ((name, confidence),) = subjects_of("orders", {}, elsewhere)
        assert (name, confidence <= 0.5) == (":.eu:orders-value", True)
        assert subjects_of("orders", {}, elsewhere, avro(":.us:orders-value", "id")) == []

    @pytest.mark.parametrize(
        ("subject", "parts"),
        [
            ("orders-value", ("", "orders-value")),
            (":.eu:orders-value", (".eu", "orders-value")),
            (":.eu:a:b", (".eu", "a:b")),
            (":.broken", ("", ":.broken")),
        ],
    )
    def test_contexts(self, subject: str, parts: tuple[str, str]) -> None:
        assert split_context(subject) == parts

    def test_role_and_strategy(self) -> None:
        assert [role_of(s) for s in ("a-key", "a-value", "com.acme.Order")] == ["key", "value", None]
        assert strategy_of({VALUE_STRATEGY: PACKAGE + "RecordNameStrategy"}, "value") == "RecordNameStrategy"
        assert strategy_of({}, "key") == ""
