"""The fields of a schema: of Avro and JSON Schema, and of one message of a Protobuf schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.graph import protobuf_text
from lineage_bridge_dagster.confluent.graph.json_fields import json_fields, json_type

Field = dict[str, str]

_MAX_DEPTH = 12


@cache
def _logical_bases() -> Mapping[str, set[str]]:
    """Avro's logical types, and the types that they may annotate."""
    # Loading a project reads no schema, and must not import PyIceberg.
    from lineage_bridge_dagster.schemas.avro import LOGICAL

    bases = {"decimal": {"bytes", "fixed"}}
    for base, name in LOGICAL:
        bases.setdefault(name, set()).add(base)
    return bases


def fields_of(schema: Schema) -> list[Field]:
    """Return the top-level fields as `[{name, type}]`; empty if the text is not a record or malformed."""
    kind = schema.schema_type.upper()
    if kind == "PROTOBUF":
        message = message_of(schema)
        return [{"name": each.name, "type": str(each)} for each in message.fields] if message else []
    if kind == "JSON":
        found = json_fields(schema.text).properties
        return [{"name": each.name, "type": json_type(each.node, each.schemas)} for each in found]
    return _avro_fields(document_of(schema.text)) if kind == "AVRO" else []


def exceeds_limits(schema: Schema) -> bool:
    """Whether a schema is too deep or too large for its fields to be read."""
    kind = schema.schema_type.upper()
    if kind == "JSON":
        return json_fields(schema.text).exceeds_limits
    if kind != "AVRO" or document_of(schema.text) is not None:
        return False
    try:
        json.loads(schema.text)
    except RecursionError:
        return True
    except ValueError:
        pass
    return False


def record_names(schema: Schema) -> tuple[str, ...]:
    """Return the full names that RecordNameStrategy may use for the schema; none if it has no record.

    Avro: namespace and name; JSON Schema: the title; Protobuf: those of all messages, since the subject is
    named after the one that was sent.
    """
    kind = schema.schema_type.upper()
    if kind == "PROTOBUF":
        return tuple(message.full_name for message in protobuf_text.parsed(schema.text).all())
    document = document_of(schema.text)
    if not isinstance(document, dict):
        return ()
    if kind == "JSON":
        return (str(document["title"]),) if document.get("title") else ()
    name, namespace = str(document.get("name") or ""), str(document.get("namespace") or "")
    full = name if "." in name or not namespace else f"{namespace}.{name}"
    return (full,) if full else ()


def record_name(schema: Schema) -> str:
    """Return the first of the names that RecordNameStrategy may use; empty if there is none."""
    return next(iter(record_names(schema)), "")


def message_of(schema: Schema) -> protobuf_text.Message | None:
    """Return the message of a Protobuf schema that its subject is named after, else its first."""
    file = protobuf_text.parsed(schema.text)
    subject = schema.subject.rpartition(":")[2]
    named = [one for one in file.all() if subject == one.full_name or subject.endswith(f"-{one.full_name}")]
    return max(named, key=lambda one: len(one.full_name), default=next(iter(file.messages), None))


@lru_cache(maxsize=16)
def document_of(text: str) -> Any:
    """Parse an Avro or JSON Schema, of which several facts are read in turn; None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def record_of(document: Any) -> Mapping[str, Any] | None:
    """Return the record of an Avro schema: the schema itself, or the only record of a top-level union."""
    if isinstance(document, list):
        records = [
            member for member in document if isinstance(member, dict) and member.get("type") == "record"
        ]
        document = records[0] if len(records) == 1 else None
    return document if isinstance(document, dict) else None


def _avro_fields(document: Any) -> list[Field]:
    fields = (record_of(document) or {}).get("fields")
    return [
        {"name": str(field["name"]), "type": avro_type(field.get("type"))}
        for field in (fields if isinstance(fields, list) else [])
        if isinstance(field, dict) and field.get("name") is not None
    ]


def avro_type(value: Any, depth: int = 0) -> str:
    """Spell an Avro type: `string`, `decimal(10,2)`, `array<long>`; a nullable type as its other member."""
    if depth > _MAX_DEPTH:
        return "..."
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        members = [avro_type(member, depth + 1) for member in value if member != "null"]
        return members[0] if len(members) == 1 else f"union<{','.join(members)}>"
    if not isinstance(value, dict):
        return "unknown"
    logical, kind = value.get("logicalType"), value.get("type")
    # Avro ignores a logical type that does not belong to its type; an unknown one is worth its name.
    if logical and (not isinstance(kind, str) or kind in _logical_bases().get(str(logical), {kind})):
        if logical == "decimal":
            return f"decimal({value.get('precision', '?')},{value.get('scale', 0)})"
        return str(logical)
    if kind == "array":
        return f"array<{avro_type(value.get('items'), depth + 1)}>"
    if kind == "map":
        return f"map<string,{avro_type(value.get('values'), depth + 1)}>"
    if kind == "record":
        inner = _avro_record(value, depth)
        return f"record<{inner}>" if inner else "record"
    if isinstance(kind, dict | list):
        return avro_type(kind, depth + 1)
    return str(kind or "unknown")


def _avro_record(value: Mapping[str, Any], depth: int) -> str:
    fields = value.get("fields")
    return ",".join(
        f"{field.get('name')}:{avro_type(field.get('type'), depth + 1)}"
        for field in (fields if isinstance(fields, list) else [])
        if isinstance(field, dict)
    )
