"""Transforms of Confluent, Aiven, Jeremy Custenborder, Lenses, ClickHouse, Apache Iceberg and others.

Sources: their documentation and code: https://docs.confluent.io/platform/current/connect/transforms,
https://github.com/Aiven-Open/transforms-for-apache-kafka-connect,
https://github.com/jcustenborder/kafka-connect-transform-common,
https://docs.lenses.io/latest/connectors/single-message-transforms,
https://iceberg.apache.org/docs/latest/kafka-connect.
"""

from __future__ import annotations

import re
from dataclasses import replace

from lineage_bridge_dagster.confluent.connectors.columns.records import (
    MADE_UP,
    ConnectRecord,
    RecordNode,
    either,
    leaf,
    merged,
    parsed,
    struct,
)
from lineage_bridge_dagster.confluent.connectors.columns.transforms.settings import (
    FieldSettings,
    UnknownChangeError,
    side_of,
    side_transform,
    transform,
    with_side,
)
from lineage_bridge_dagster.confluent.connectors.transforms.cases import CASE_FORMATS

_CONFLUENT = "io.confluent.connect.transforms"
_AIVEN = "io.aiven.kafka.connect.transforms"
_COMMON = "com.github.jcustenborder.kafka.connect.transform.common"


@side_transform(f"{_CONFLUENT}.Drop", f"{_COMMON}.SetNull")
def drop(_node: RecordNode, _settings: FieldSettings) -> RecordNode | None:
    return None


@transform(f"{_AIVEN}.MakeTombstone")
def make_tombstone(record: ConnectRecord, _settings: FieldSettings) -> ConnectRecord:
    return replace(record, value=None)


@transform(f"{_AIVEN}.KeyToValue")
def key_to_value(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    """Fields of the key become fields of the value, under their own names unless others are given."""
    key, value = record.key, record.value
    if key is None or value is None:
        return record
    names = settings.items("value.fields")
    fields = settings.items("key.fields")
    if fields in ([], ["*"]):
        return replace(record, value=value.with_field((names[0] if names else "_key",), key))
    for position, name in enumerate(fields):
        target = names[position] if position < len(names) else name
        value = value.with_field((target,), key.at(name) or MADE_UP)
    return replace(record, value=value)


@transform("com.clickhouse.kafka.connect.transforms.KeyToValue")
def whole_key_to_value(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    if record.key is None or record.value is None:
        return record
    name = settings.get("field", default="_key")
    return replace(record, value=record.value.with_field((name,), record.key))


@transform("com.github.eladleev.kafka.connect.transform.keytofield.KeyToFieldTransform")
def key_to_text(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    """The key becomes one text of the value."""
    if record.key is None or record.value is None:
        return record
    name = settings.get("field.name", default="kafkaKey")
    return replace(record, value=record.value.with_field((name,), record.key.whole()))


@side_transform(f"{_AIVEN}.ConcatFields")
def concat_fields(node: RecordNode, settings: FieldSettings) -> RecordNode:
    parts = [found for name in settings.items("field.names") if (found := node.at(name)) is not None]
    return node.with_field((settings.get("output.field.name"),), merged(parts))


@side_transform(f"{_COMMON}.ExtractNestedField")
def extract_nested_field(node: RecordNode, settings: FieldSettings) -> RecordNode:
    """A copy of a nested field at the top."""
    found = node.at(settings.get("input.outer.field.name"), settings.get("input.inner.field.name"))
    return node.with_field((settings.get("output.field.name"),), found or MADE_UP)


@side_transform(f"{_COMMON}.ExtractXPath")
def extract_xpath(node: RecordNode, settings: FieldSettings) -> RecordNode:
    found = node.at(settings.get("input.field"))
    return node.with_field((settings.get("output.field"),), (found or MADE_UP).whole())


@side_transform(f"{_COMMON}.ChangeCase")
def change_case(node: RecordNode, settings: FieldSettings) -> RecordNode:
    """The names of its own fields in another case."""
    old, new = CASE_FORMATS.get(settings.get("from")), CASE_FORMATS.get(settings.get("to"))
    if old is None or new is None:
        raise UnknownChangeError("the cases that it changes are not known")
    return node.renamed(lambda name: old.to(new, name))


@side_transform(f"{_COMMON}.PatternRename")
def pattern_rename(node: RecordNode, settings: FieldSettings) -> RecordNode:
    try:
        pattern = re.compile(settings.get("field.pattern"), re.IGNORECASE)
    except re.error:
        raise UnknownChangeError("its pattern is not understood") from None
    replacement = re.sub(r"\$(\d+)", r"\\\1", settings.get("field.replacement"))
    return node.renamed(lambda name: pattern.sub(replacement, name))


@side_transform(f"{_COMMON}.PatternMapString")
def pattern_map_string(node: RecordNode, settings: FieldSettings) -> RecordNode:
    """A field is written with the text of another one, changed by a pattern."""
    found = node.at(settings.get("src.field.name"))
    return node.with_field((settings.get("dest.field.name"),), (found or MADE_UP).whole())


@side_transform(f"{_COMMON}.TimestampNowField")
def now_fields(node: RecordNode, settings: FieldSettings) -> RecordNode:
    for name in settings.items("fields"):
        node = node.with_field((name,), MADE_UP)
    return node


@side_transform(f"{_COMMON}.TopicNameToField")
def topic_name_field(node: RecordNode, settings: FieldSettings) -> RecordNode:
    return node.with_field((settings.get("field"),), MADE_UP)


@transform(f"{_COMMON}.HeaderToField")
def header_to_field(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    """Headers become fields: `name:TYPE` or `name:TYPE:field`."""
    node = side_of(record, settings)
    if node is None:
        return record
    for item in settings.items("header.mappings"):
        name, _, rest = item.partition(":")
        field = rest.rpartition(":")[2] if rest.count(":") else name
        node = node.with_field((field,), record.headers.get(name, MADE_UP))
    return with_side(record, settings, node)


@side_transform(
    f"{_COMMON}.ToJSON",
    "org.apache.camel.kafkaconnector.transforms.SchemaAndStructToJsonTransform",
    "com.github.cedelsb.kafka.connect.smt.Record2JsonStringConverter",
)
def to_text(node: RecordNode, _settings: FieldSettings) -> RecordNode:
    return node.whole()


@side_transform(
    "com.github.jcustenborder.kafka.connect.transform.xml.FromXml",
    "io.confluent.connect.cloud.transforms.xml.FromXml",
    "com.couchbase.connect.kafka.transform.DeserializeJson",
)
def from_text(node: RecordNode, _settings: FieldSettings) -> RecordNode:
    """A text becomes a struct, whose fields are parts of it."""
    return parsed(node) or node


@transform("com.github.jcustenborder.kafka.connect.archive.Archive")
def archive(record: ConnectRecord, _settings: FieldSettings) -> ConnectRecord:
    """A struct of key and value with the topic and the time; the key becomes null."""
    parts = {"key": record.key, "value": record.value, "topic": MADE_UP, "timestamp": MADE_UP}
    return replace(record, value=struct({name: node for name, node in parts.items() if node is not None}))


@transform("com.github.cjmatta.kafka.connect.smt.InsertUuid")
def insert_uuid(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    node = side_of(record, settings)
    name = settings.get("uuid.field.name", default="uuid")
    return record if node is None else with_side(record, settings, node.with_field((name,), MADE_UP))


@side_transform("com.redhat.insights.expandjsonsmt.ExpandJSON", "io.debezium.aggregation.smt.ExpandJsonSmt")
def expand_json(node: RecordNode, settings: FieldSettings) -> RecordNode:
    """Texts of JSON become structs."""
    for name in settings.items("sourceFields", "expand.fields"):
        found = parsed(node.at(*name.split(".")))
        if found is not None:
            node = node.with_field(name.split("."), found)
    return node


@side_transform("com.redhat.insights.kafka.connect.transforms.FieldToJson")
def field_to_json(node: RecordNode, settings: FieldSettings) -> RecordNode:
    found = node.at(*settings.get("originalField", "sourceField").split("."))
    return node.with_field((settings.get("destinationField"),), (found or MADE_UP).whole())


@side_transform("com.datamountaineer.streamreactor.connect.transforms.NestingFields")
def nesting_fields(node: RecordNode, settings: FieldSettings) -> RecordNode:
    """Copies of fields in a struct of their own."""
    found = {name: each for name in settings.items("fields") if (each := node.at(name)) is not None}
    return node.with_field((settings.get("nested.name"),), struct(found))


@transform("org.apache.camel.kafkaconnector.transforms.FieldsToHeadersTransform")
def fields_to_headers(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    node = side_of(record, settings)
    if node is None:
        return record
    names = zip(settings.items("fields"), settings.items("headers"), strict=False)
    found = {header: node.at(name) or MADE_UP for name, header in names}
    return replace(record, headers={**record.headers, **found})


@transform("io.lenses.connect.smt.header.RenameHeader")
def rename_header(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    old, new = settings.get("header.name.old"), settings.get("header.name.new")
    headers = {new if name == old else name: node for name, node in record.headers.items()}
    return replace(record, headers=headers)


@transform("com.starrocks.connector.kafka.transforms.AddOpFieldForDebeziumRecord")
def add_op_field(record: ConnectRecord, _settings: FieldSettings) -> ConnectRecord:
    """The row of an event gets the kind of its change."""
    event = record.value
    if event is None or event.at("after") is None:
        return record
    row = (event.at("after") or struct({})).with_field(("__op",), (event.at("op") or leaf()).whole())
    return replace(record, value=event.with_field(("after",), row))


_PACKAGES = ("org.apache.iceberg.connect.transforms", "io.tabular.iceberg.connect.transforms")


def _classes(name: str) -> tuple[str, ...]:
    return tuple(f"{package}.{name}" for package in _PACKAGES)


@transform(*_classes("DebeziumTransform"))
def debezium(record: ConnectRecord, _settings: FieldSettings) -> ConnectRecord:
    """The row of a change event, that of before for a delete, with what the sink needs to know in `_cdc`."""
    event = record.value
    after = event.at("after") if event is not None else None
    if event is None or after is None:
        return record
    row = either(after, event.at("before"), "it comes from before or after the change") or after
    parts = ("schema", "table") if event.at("source", "schema") else ("db", "table")
    names = merged(_of(event, "source", part) for part in parts)
    change = {
        "op": _of(event, "op"),
        "ts": _of(event, "ts_ms"),
        "offset": MADE_UP,
        "source": names,
        "target": names,
    }
    if record.key is not None:
        change["key"] = record.key
    return replace(record, value=row.with_field(("_cdc",), struct(change)))


@transform(*_classes("DmsTransform"))
def dms(record: ConnectRecord, _settings: FieldSettings) -> ConnectRecord:
    """The row of an event of AWS DMS, whose metadata go to `_cdc`."""
    event = record.value
    row = event.at("data") if event is not None else None
    if event is None or row is None:
        return record
    names = merged([_of(event, "metadata", "schema-name"), _of(event, "metadata", "table-name")])
    operation, time = _of(event, "metadata", "operation"), _of(event, "metadata", "timestamp")
    change = {"op": operation, "ts": time, "source": names}
    return replace(record, value=row.with_field(("_cdc",), struct(change)))


@transform(*_classes("CopyValue"))
def copy_value(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    if record.value is None:
        return record
    found = record.value.at(settings.get("source.field"))
    return replace(record, value=record.value.with_field((settings.get("target.field"),), found or MADE_UP))


@transform(*_classes("KafkaMetadataTransform"))
def kafka_metadata(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    """Coordinates of the record, in a struct or as fields that begin with its name."""
    if record.value is None:
        return record
    name = settings.get("field_name", default="_kafka_metadata")
    parts = ["topic", "partition", "offset", "timestamp"]
    external = settings.get("external_field").partition(",")[0].strip()
    parts += [external] if external else []
    value = record.value
    if settings.flag("nested"):
        value = value.with_field((name,), struct(dict.fromkeys(parts, MADE_UP)))
    else:
        for part in parts:
            value = value.with_field((f"{name}_{part}",), MADE_UP)
    return replace(record, value=value)


@transform(*_classes("JsonToMapTransform"))
def json_to_map(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    """A text of JSON becomes a struct, or with `json.root` a struct of one map."""
    if record.value is None:
        return record
    if settings.flag("json.root"):
        return replace(record, value=struct({"payload": record.value.whole()}))
    return replace(record, value=parsed(record.value))


@transform(*_classes("MongoDebeziumTransform"))
def mongo_debezium(record: ConnectRecord, _settings: FieldSettings) -> ConnectRecord:
    """The documents of before and after a change, texts of JSON, become structs."""
    value = record.value
    if value is None:
        return record
    for side in ("before", "after"):
        document = parsed(value.at(side))
        value = value.with_field((side,), document) if document is not None else value
    return replace(record, value=value)


def _of(event: RecordNode, *path: str) -> RecordNode:
    return (event.at(*path) or MADE_UP).whole()
