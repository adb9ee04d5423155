"""Apache Iceberg's transforms, which Tabular's sink shares.

Source: "SMTs for the Apache Iceberg Sink Connector" and the classes' code.
"""

from __future__ import annotations

from dataclasses import replace

from lineage_bridge_dagster.confluent.connectors.columns.records import (
    MADE_UP,
    ConnectRecord,
    RecordNode,
    either,
    merged,
    parsed,
    struct,
)
from lineage_bridge_dagster.confluent.connectors.columns.transforms.settings import FieldSettings, transform

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
    names = _names(event, ("schema", "table") if event.at("source", "schema") else ("db", "table"))
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


def _names(event: RecordNode, parts: tuple[str, ...]) -> RecordNode:
    return merged(_of(event, "source", part) for part in parts)
