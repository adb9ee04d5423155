"""What each transform does to the fields of a record, as its documentation tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.connectors.columns.records import (
    ConnectRecord,
    RecordNode,
    anything,
    leaf,
    struct,
)
from lineage_bridge_dagster.confluent.connectors.columns.transforms import transformed
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.record import ExistingTopics

KAFKA = "org.apache.kafka.connect.transforms."
AIVEN = "io.aiven.kafka.connect.transforms."
COMMON = "com.github.jcustenborder.kafka.connect.transform.common."
DEBEZIUM = "io.debezium.transforms."
ICEBERG = "org.apache.iceberg.connect.transforms."
UNWRAP = f"{DEBEZIUM}ExtractNewRecordState"

#: Fields of records: nested ones by dots. Each is made of the field of its own name, `k.` in the key.
ORDER = "id customer.name customer.zip total"
EVENT = "before.id before.name after.id after.name source.table source.db op ts_ms"


def tree(names: str, prefix: str = "") -> RecordNode:
    node = struct({})
    for name in names.split():
        node = node.with_field(name.split("."), leaf(prefix + name))
    return node


def run(record: ConnectRecord, *transforms: Mapping[str, str], **others: str) -> ConnectRecord:
    labels = [f"t{number}" for number, _ in enumerate(transforms)]
    settings = {
        f"transforms.{label}.{key}": value
        for label, each in zip(labels, transforms, strict=True)
        for key, value in each.items()
    }
    config = Config({"transforms": ",".join(labels), **settings, **others})
    return transformed(record, config, "orders", ExistingTopics(("orders",)))


def shown(node: RecordNode | None) -> Any:
    """Field -> what it is made of, `-` for nothing, `?` where that is not known."""
    if node is None:
        return None
    if not node.is_struct:
        return made_of(node)
    return {".".join(path): made_of(each) for path, each in node.leaves()}


def made_of(node: RecordNode) -> str:
    return "?" if node.unknown else " ".join(sorted(node.sources)) or "-"


@pytest.mark.parametrize(
    ("fields", "transform", "value"),
    [
        (
            ORDER,
            {"type": f"{KAFKA}ReplaceField$Value", "include": "id,total", "renames": "id:order_id"},
            {"order_id": "id", "total": "total"},
        ),
        (
            ORDER,
            {"type": f"{KAFKA}ReplaceField$Value", "blacklist": "customer"},
            {"id": "id", "total": "total"},
        ),
        (
            ORDER,
            {"type": f"{KAFKA}Flatten$Value", "delimiter": "_"},
            {"id": "id", "customer_name": "customer.name", "customer_zip": "customer.zip", "total": "total"},
        ),
        ("a", {"type": f"{KAFKA}HoistField$Value", "field": "outer"}, {"outer.a": "a"}),
        (ORDER, {"type": f"{KAFKA}ExtractField$Value", "field": "total"}, "total"),
        (
            ORDER,
            {
                "type": f"{KAFKA}ExtractField$Value",
                "field": "customer.zip",
                "field.syntax.version": "V2",
            },
            "customer.zip",
        ),
        (ORDER, {"type": f"{KAFKA}ExtractField$Value", "field": "customer.zip"}, None),
        ("a", {"type": f"{KAFKA}MaskField$Value", "fields": "a"}, {"a": "a"}),
        (
            "a",
            {
                "type": f"{KAFKA}InsertField$Value",
                "topic.field": "topic!",
                "static.field": "origin?",
                "static.value": "eu",
            },
            {"a": "a", "topic": "-", "origin": "-"},
        ),
        ("a", {"type": f"{KAFKA}SetSchemaMetadata$Value", "schema.name": "x"}, {"a": "a"}),
        ("a", {"type": f"{AIVEN}Hash$Value", "field.name": "a"}, {"a": "a"}),
        (
            "a b",
            {"type": f"{AIVEN}ConcatFields$Value", "field.names": "a,b", "output.field.name": "c"},
            {"a": "a", "b": "b", "c": "a b"},
        ),
        ("a", {"type": f"{AIVEN}MakeTombstone"}, None),
        (
            ORDER,
            {
                "type": f"{COMMON}ExtractNestedField$Value",
                "input.outer.field.name": "customer",
                "input.inner.field.name": "zip",
                "output.field.name": "zip",
            },
            {
                "id": "id",
                "customer.name": "customer.name",
                "customer.zip": "customer.zip",
                "total": "total",
                "zip": "customer.zip",
            },
        ),
        (
            "order_id",
            {"type": f"{COMMON}ChangeCase$Value", "from": "LOWER_UNDERSCORE", "to": "LOWER_CAMEL"},
            {"orderId": "order_id"},
        ),
        (
            "prefixedFirst other",
            {
                "type": f"{COMMON}PatternRename$Value",
                "field.pattern": "^prefixed(.*)",
                "field.replacement": "$1_",
            },
            {"First_": "prefixedFirst", "other": "other"},
        ),
        ("a", {"type": f"{COMMON}ToJSON$Value"}, "a"),
        ("a b", {"type": f"{COMMON}SetNull$Value"}, None),
        ("a", {"type": f"{COMMON}TopicNameToField$Value", "field": "t"}, {"a": "a", "t": "-"}),
        (EVENT, {"type": UNWRAP}, {"id": "after.id", "name": "after.name"}),
        ("a", {"type": UNWRAP}, {"a": "a"}),
        (
            EVENT,
            {
                "type": UNWRAP,
                "delete.tombstone.handling.mode": "rewrite",
                "add.fields": "op,table:tab,source.db",
            },
            {
                "id": "after.id before.id",
                "name": "after.name before.name",
                "__op": "op",
                "__tab": "source.table",
                "__source_db": "source.db",
                "__deleted": "-",
            },
        ),
        (
            EVENT,
            {"type": UNWRAP, "add.fields": "op", "add.fields.prefix": "cdc."},
            {"id": "after.id", "name": "after.name", "cdc.op": "op"},
        ),
        (
            EVENT,
            {"type": UNWRAP, "add.fields": "source.db:origin", "add.fields.prefix": ""},
            {"id": "after.id", "name": "after.name", "origin": "source.db"},
        ),
        (
            EVENT,
            {"type": UNWRAP, "drop.fields.header.name": "gone"},
            {"id": "?", "name": "?"},
        ),
        (
            "after.id after.aggregateid after.payload after.kind op",
            {
                "type": f"{DEBEZIUM}outbox.EventRouter",
                "table.fields.additional.placement": "kind:envelope:eventType",
            },
            {"payload": "after.payload", "eventType": "after.kind"},
        ),
        (
            "after.id after.aggregateid after.payload op",
            {"type": f"{DEBEZIUM}outbox.EventRouter"},
            "after.payload",
        ),
        (
            "Name",
            {
                "type": "io.debezium.connector.jdbc.transforms.FieldNameTransformation",
                "column.naming.style": "upper_case",
                "column.naming.suffix": "_x",
            },
            {"NAME_x": "Name"},
        ),
        (
            "id source data",
            {
                "type": "io.debezium.connector.jdbc.transforms.ConvertCloudEventToSaveableForm",
                "fields.mapping": "id,data:payload",
            },
            {"id": "id", "payload": "data"},
        ),
        (
            "data.id metadata.operation metadata.timestamp metadata.schema-name metadata.table-name",
            {"type": f"{ICEBERG}DmsTransform"},
            {
                "id": "data.id",
                "_cdc.op": "metadata.operation",
                "_cdc.ts": "metadata.timestamp",
                "_cdc.source": "metadata.schema-name metadata.table-name",
            },
        ),
        (
            "a",
            {"type": f"{ICEBERG}KafkaMetadataTransform", "nested": "true", "external_field": "region,eu"},
            {
                "a": "a",
                "_kafka_metadata.topic": "-",
                "_kafka_metadata.partition": "-",
                "_kafka_metadata.offset": "-",
                "_kafka_metadata.timestamp": "-",
                "_kafka_metadata.region": "-",
            },
        ),
        (
            "a",
            {"type": f"{ICEBERG}CopyValue", "source.field": "a", "target.field": "b"},
            {"a": "a", "b": "a"},
        ),
        ("a b", {"type": "com.acme.Own$Value"}, {"a": "?", "b": "?", "": "?"}),
        ("a b", {"type": "com.acme.Own$Key"}, {"a": "a", "b": "b"}),
        ("a", {"type": f"{KAFKA}ReplaceField$Value", "renames": "${file:/s:x}"}, {"a": "?", "": "?"}),
    ],
)
def test_value_after_a_transform(fields: str, transform: dict[str, str], value: Any) -> None:
    assert shown(run(ConnectRecord(struct({}), tree(fields)), transform).value) == value


@pytest.mark.parametrize(
    ("transforms", "key", "value"),
    [
        (
            [
                {"type": f"{KAFKA}ValueToKey", "fields": "id"},
                {"type": f"{KAFKA}ExtractField$Key", "field": "id"},
            ],
            "id",
            {"id": "id", "a": "a"},
        ),
        (
            [{"type": f"{AIVEN}KeyToValue", "key.fields": "tenant", "value.fields": "tenant_id"}],
            {"tenant": "k.tenant"},
            {"id": "id", "a": "a", "tenant_id": "k.tenant"},
        ),
        (
            [{"type": "com.clickhouse.kafka.connect.transforms.KeyToValue", "field": "key"}],
            {"tenant": "k.tenant"},
            {"id": "id", "a": "a", "key.tenant": "k.tenant"},
        ),
        (
            [
                {
                    "type": f"{KAFKA}HeaderFrom$Value",
                    "fields": "a",
                    "headers": "h",
                    "operation": "move",
                },
                {
                    "type": f"{DEBEZIUM}HeaderToValue",
                    "headers": "h",
                    "fields": "from.header",
                    "operation": "copy",
                },
            ],
            {"tenant": "k.tenant"},
            {"id": "id", "from.header": "a"},
        ),
        (
            [{"type": "io.confluent.connect.transforms.Drop$Key"}],
            None,
            {"id": "id", "a": "a"},
        ),
        (
            [{"type": f"{DEBEZIUM}ByLogicalTableRouter", "topic.regex": "x", "key.field.name": "shard"}],
            {"tenant": "k.tenant", "shard": "-"},
            {"id": "id", "a": "a"},
        ),
        (
            [{"type": "com.github.jcustenborder.kafka.connect.archive.Archive"}],
            {"tenant": "k.tenant"},
            {"key.tenant": "k.tenant", "value.id": "id", "value.a": "a", "topic": "-", "timestamp": "-"},
        ),
    ],
)
def test_key_and_value_after_transforms(transforms: list[dict[str, str]], key: Any, value: Any) -> None:
    found = run(ConnectRecord(tree("tenant", "k."), tree("id a")), *transforms)
    assert (shown(found.key), shown(found.value)) == (key, value)


@pytest.mark.parametrize(
    ("predicate", "value"),
    [
        ({"type": f"{KAFKA}predicates.TopicNameMatches", "pattern": "ord.*"}, {"b": "b"}),
        ({"type": f"{KAFKA}predicates.TopicNameMatches", "pattern": "x"}, {"a": "a", "b": "b"}),
        ({"type": f"{KAFKA}predicates.HasHeaderKey", "name": "x"}, {"a": "?", "b": "b"}),
        ({"type": f"{KAFKA}predicates.RecordIsTombstone"}, {"a": "a", "b": "b"}),
    ],
)
def test_predicate_decides_on_which_records_a_transform_works(
    predicate: dict[str, str], value: dict[str, str]
) -> None:
    drop = {"type": f"{KAFKA}ReplaceField$Value", "exclude": "a", "predicate": "p"}
    settings = {f"predicates.p.{key}": text for key, text in predicate.items()}
    found = run(ConnectRecord(None, tree("a b")), drop, predicates="p", **settings)
    assert shown(found.value) == value


def test_fields_of_unknown_names_are_found_under_their_names_until_they_are_renamed() -> None:
    rename = {"type": f"{KAFKA}ReplaceField$Value", "renames": "a:b", "exclude": "c"}
    value = run(ConnectRecord(None, anything("topic:orders.value")), rename).value
    assert value is not None
    found = {name: node and made_of(node) for name in "abcd" for node in [value.at(name)]}
    assert found == {"a": None, "b": "topic:orders.value.a", "c": None, "d": "topic:orders.value.d"}


def test_joined_names_of_unknown_fields_are_taken_apart() -> None:
    event = struct({"after": anything("db.orders"), "op": leaf("op")})
    value = run(ConnectRecord(None, event), {"type": f"{KAFKA}Flatten$Value", "delimiter": "_"}).value
    assert value is not None
    found = {name: node and made_of(node) for name in ("after_id", "op", "id") for node in [value.at(name)]}
    assert found == {"after_id": "db.orders.id", "op": "op", "id": "?"}


def test_fields_of_a_parsed_text_are_made_of_the_text() -> None:
    expand = {"type": "com.redhat.insights.expandjsonsmt.ExpandJSON$Value", "sourceFields": "doc"}
    value = run(ConnectRecord(None, tree("doc")), expand).value
    node = value.at("doc", "any", "field") if value is not None else None
    assert node is not None
    assert made_of(node) == "doc"
