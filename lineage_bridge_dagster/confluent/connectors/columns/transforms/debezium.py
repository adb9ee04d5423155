"""Debezium's transforms, and those that others derived from them.

Sources: "Transformations" of Debezium's documentation, and the classes' code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lineage_bridge_dagster.confluent.connectors.columns.records import (
    MADE_UP,
    ConnectRecord,
    RecordNode,
    either,
    parsed,
    struct,
)
from lineage_bridge_dagster.confluent.connectors.columns.transforms.kafka import joined_names
from lineage_bridge_dagster.confluent.connectors.columns.transforms.settings import (
    FieldSettings,
    UnknownChangeError,
    transform,
)
from lineage_bridge_dagster.confluent.connectors.transforms.cases import NAMING_STYLES

_PACKAGE = "io.debezium.transforms"
_MONGODB = "io.debezium.connector.mongodb.transforms"
_EVENT = ("op", "ts_ms", "ts_us", "ts_ns", "transaction", "before", "after", "source")
#: Settings of deletes, newer and older, by which the row of before follows with a mark.
_REWRITES = ("rewrite", "rewrite-with-tombstone")


@transform(
    f"{_PACKAGE}.ExtractNewRecordState",
    f"{_PACKAGE}.UnwrapFromEnvelope",
    "io.debezium.connector.postgresql.transforms.yugabytedb.YBExtractNewRecordState",
    "io.debezium.connector.yugabytedb.transforms.YBExtractNewRecordState",
)
def extract_new_record_state(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    """The row after a change, and before a delete that is rewritten; with fields of metadata."""
    return _unwrapped(record, settings, lambda node: node)


@transform(f"{_MONGODB}.ExtractNewDocumentState")
def extract_new_document_state(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    """The document after a change, which is a text of JSON, as a struct."""

    def document(node: RecordNode | None) -> RecordNode | None:
        found = parsed(node)
        if found is not None and settings.flag("flatten.struct"):
            return joined_names(
                found, settings.config.get(f"{settings.prefix}flatten.struct.delimiter", default="_")
            )
        return found

    return _unwrapped(record, settings, document)


@transform(
    "com.scylladb.cdc.debezium.connector.transforms.ScyllaExtractNewRecordState",
    "com.scylladb.cdc.debezium.connector.transforms.ScyllaExtractFlattenedNewRecordState",
)
def scylla_extract(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    """The row after a change, each column its value instead of a struct that holds it."""

    def values(node: RecordNode | None) -> RecordNode | None:
        if node is None or not node.known:
            return node
        return replace(node, fields={name: cell.at("value") or cell for name, cell in node.known.items()})

    return _unwrapped(record, settings, values)


def _unwrapped(
    record: ConnectRecord,
    settings: FieldSettings,
    document: Callable[[RecordNode | None], RecordNode | None],
) -> ConnectRecord:
    event = record.value
    after = event.at("after") if event is not None else None
    if event is None or after is None:
        return record  # It is not an event, and passes.
    row = document(after)
    mode = settings.get("delete.tombstone.handling.mode", "delete.handling.mode")
    rewrites = mode in _REWRITES
    if rewrites:
        row = either(row, document(event.at("before")), "it comes from before or after the change")
    value = row if row is not None else struct({})
    if settings.get("drop.fields.header.name"):
        value = value.not_known("fields that a header of each record names are dropped")
    headers = dict(record.headers)
    for name, place in _listed(settings, "add.fields", "add.source.fields"):
        value = value.with_field((name,), _metadata(event, place))
    for name, place in _listed(settings, "add.headers"):
        headers[name] = _metadata(event, place)
    if settings.flag("operation.header"):
        headers["__op"] = event.at("op") or MADE_UP
    if rewrites:
        value = value.with_field(("__deleted",), MADE_UP)
    return replace(record, value=value, headers=headers)


def _listed(settings: FieldSettings, setting: str, *others: str) -> list[tuple[str, list[str]]]:
    """Names and places of metadata: `op`, `source.ts_ms`, `op:operation`; the prefix is `__` by default."""
    prefix = settings.config.given(f"{settings.prefix}{setting}.prefix", "__")
    found = []
    for item in settings.items(setting, *others):
        place, _, name = item.partition(":")
        found.append((prefix + (name or place.replace(".", "_")), place.split(".")))
    return found


def _metadata(event: RecordNode, place: list[str]) -> RecordNode:
    """A field of an event. One without a struct is the event's own, else its source's."""
    if len(place) == 1 and place[0] not in _EVENT:
        place = ["source", *place]
    return (event.at(*place) or MADE_UP).whole()


@transform(f"{_PACKAGE}.ByLogicalTableRouter", f"{_PACKAGE}.ToLogicalTopicRouter")
def by_logical_table(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    """The key gets the name of the physical table, unless its keys are unique without."""
    if record.key is None or not settings.flag("key.enforce.uniqueness", default=True):
        return record
    name = settings.get("key.field.name", default="__dbz__physicalTableIdentifier")
    return replace(record, key=record.key.with_field((name,), MADE_UP))


@transform(f"{_PACKAGE}.outbox.EventRouter")
def event_router(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    """The payload of an outbox's row becomes the value, and other columns the key, headers and fields."""
    row = record.value.at("after") if record.value is not None else None
    return _routed(record, row, settings, "table", "id")


@transform(f"{_MONGODB}.outbox.MongoEventRouter")
def mongo_event_router(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    row = parsed(record.value.at("after")) if record.value is not None else None
    return _routed(record, row, settings, "collection", "_id")


def _routed(
    record: ConnectRecord, row: RecordNode | None, settings: FieldSettings, prefix: str, event_id: str
) -> ConnectRecord:
    if row is None:
        return record

    def column(setting: str, default: str) -> RecordNode:
        name = settings.get(f"{prefix}.field.event.{setting}", default=default)
        return row.at(name) or MADE_UP

    payload = column("payload", "payload")
    expands = settings.flag(f"{prefix}.expand.json.payload")
    payload = (parsed(payload) or payload) if expands else payload.whole()
    fields: dict[str, RecordNode] = {}
    headers = {**record.headers, "id": column("id", event_id)}
    for item in settings.items(f"{prefix}.fields.additional.placement"):
        name, _, rest = item.partition(":")
        place, _, alias = rest.partition(":")
        node = row.at(name) or MADE_UP
        if place == "envelope":
            fields[alias or name] = node
        elif place == "header":
            headers[alias or name] = node
    value = struct({"payload": payload, **fields}) if fields else payload
    return ConnectRecord(column("key", "aggregateid").whole(), value, headers)


@transform(f"{_PACKAGE}.HeaderToValue")
def header_to_value(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    """Headers are copied or moved to fields of the value, which dots place within structs."""
    value, headers = record.value, dict(record.headers)
    if value is None:
        return record
    for name, field in zip(settings.items("headers"), settings.items("fields"), strict=False):
        node = headers.get(name, MADE_UP)
        value = value.with_field(field.split("."), node)
        if settings.get("operation").lower() == "move":
            headers.pop(name, None)
    return replace(record, value=value, headers=headers)


@transform("io.debezium.connector.jdbc.transforms.FieldNameTransformation")
def field_names(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    """The fields of key and value in another style, then with a prefix and a suffix."""
    prefix, suffix = settings.get("column.naming.prefix"), settings.get("column.naming.suffix")
    style = NAMING_STYLES.get(settings.get("column.naming.style", default="default").lower())
    if style is None:
        raise UnknownChangeError("its naming style is not known")

    def named(node: RecordNode | None) -> RecordNode | None:
        if node is None:
            return None
        if {"after", "op"} <= node.known.keys():
            rows = {side: named(node.known.get(side)) for side in ("before", "after")}
            return replace(node, fields={**node.known, **{k: v for k, v in rows.items() if v is not None}})
        return node.renamed(lambda name: prefix + style(name) + suffix)

    return replace(record, key=named(record.key), value=named(record.value))


@transform("io.debezium.connector.jdbc.transforms.ConvertCloudEventToSaveableForm")
def cloud_event(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    """Fields of a CloudEvent under names of columns: `id,source:created_by`."""
    if record.value is None:
        return record
    fields = {}
    for item in settings.items("fields.mapping"):
        name, _, column = item.partition(":")
        fields[column or name] = record.value.at(name) or MADE_UP
    return replace(record, value=struct(fields))


@transform("io.debezium.ai.embeddings.FieldToEmbedding", "io.debezium.ai.docling.FieldToDocling")
def computed_field(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    """A field is computed from another one, by a model or a converter."""
    value = record.value
    source = settings.get("embeddings.field.source", "field.source", "docling.field.source")
    target = settings.get(
        "embeddings.field.embedding", "field.embedding", "docling.field.target", "field.target"
    )
    if value is None or not source or not target:
        return record
    node = (value.at(*source.split(".")) or MADE_UP).whole()
    return replace(record, value=value.with_field(target.split("."), node))


@transform("io.debezium.connector.vitess.transforms.RemoveField")
def remove_field(record: ConnectRecord, settings: FieldSettings) -> ConnectRecord:
    value = record.value
    for name in settings.items("field_names"):
        value = value.with_field(name.split("."), None) if value is not None else None
    return replace(record, value=value)
