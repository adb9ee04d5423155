"""The columns of a schema for display: nested fields after their parents, with their doc strings.

Nested names are spelled as in the Iceberg table: `page.path`, `lines.element.sku` in a list,
`tags.value.text` in a map.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.graph.json_fields import json_fields, json_type, nested
from lineage_bridge_dagster.confluent.graph.schema_fields import avro_type, document_of, fields_of, record_of

#: Maximum columns of one schema; generated schemas have thousands of fields.
MAX_COLUMNS = 500
_MAX_DEPTH = 8

Column = dict[str, str]


def columns_of(schema: Schema) -> list[Column]:
    """Return at most `MAX_COLUMNS` columns as `[{name, type, comment?}]`.

    Protobuf has no nested columns, since only the first message's own fields are parsed.
    """
    kind = schema.schema_type.upper()
    if kind == "AVRO":
        found = _avro(record_of(document_of(schema.text)), "", {}, 0)
    elif kind == "JSON":
        found = _json(schema)
    else:
        found = iter(fields_of(schema))
    return list(islice(found, MAX_COLUMNS))


def _column(name: str, kind: str, comment: object) -> Column:
    text = " ".join(comment.split()) if isinstance(comment, str) else ""
    return {"name": name, "type": kind, **({"comment": text} if text else {})}


def _avro(record: Any, prefix: str, named: dict[str, Any], depth: int) -> Iterator[Column]:
    """The columns of a record. `named` holds the types declared so far, which later fields may refer to."""
    if not isinstance(record, dict) or depth > _MAX_DEPTH:
        return
    if record.get("name"):
        named[str(record["name"]).rsplit(".", 1)[-1]] = record
    fields = record.get("fields")
    for field in fields if isinstance(fields, list) else []:
        if isinstance(field, dict) and field.get("name") is not None:
            name = f"{prefix}{field['name']}"
            yield _column(name, avro_type(field.get("type")), field.get("doc"))
            yield from _avro_inner(field.get("type"), name, named, depth + 1)


def _avro_inner(kind: Any, name: str, named: dict[str, Any], depth: int) -> Iterator[Column]:
    """The columns nested in a field's type: its record's, within any unions, lists and maps."""
    if isinstance(kind, list):
        members = [member for member in kind if member != "null"]
        # A union of several types has no single set of fields.
        kind = members[0] if len(members) == 1 else None
    if isinstance(kind, str):
        kind = named.get(kind.rsplit(".", 1)[-1])
    if not isinstance(kind, dict) or depth > _MAX_DEPTH:
        return
    match kind.get("type"):
        case "record":
            yield from _avro(kind, f"{name}.", named, depth)
        case "array":
            yield from _avro_inner(kind.get("items"), f"{name}.element", named, depth + 1)
        case "map":
            yield from _avro_inner(kind.get("values"), f"{name}.value", named, depth + 1)
        case dict() | list() as inner:
            yield from _avro_inner(inner, name, named, depth + 1)


def _json(schema: Schema) -> Iterator[Column]:
    for top in json_fields(schema.text).properties:
        for name, each in ((top.name, top), *nested(top.node, top.name)):
            titles = (one.get("title") for one in each.schemas if isinstance(one, dict))
            yield _column(name, json_type(each.node, each.schemas), each.doc or next(titles, None))
