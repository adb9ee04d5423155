"""The fields of a schema, its columns for display, and the types of the columns of its table.

Fields are those of Avro and JSON Schema, and of one message of a Protobuf schema. Columns have nested fields
after their parents, with their doc strings, and are spelled as in the Iceberg table: `page.path`,
`lines.element.sku` in a list, `tags.value.text` in a map.

Types are by the mapping that creates tables, for schemas whose fields' spelling does not tell. An Avro
field's type names its column's. In JSON Schema, `connect.type`, titles and references decide, and in
Protobuf a name may be an enum or a message. So they are found while the text is at hand, and spelled in the
words of `type_mapping`. A type that depends on another schema's text is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.graph import protobuf_text
from lineage_bridge_dagster.confluent.graph.json_fields import json_fields, json_type, nested

if TYPE_CHECKING:
    from pyiceberg.types import IcebergType

    from lineage_bridge_dagster.schemas.json_nodes import JsonNode


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
        members = [
            member if isinstance(member, str) else avro_type(member, depth + 1)
            for member in value
            if member != "null"
        ]
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


#: Maximum columns of one schema; generated schemas have thousands of fields.
MAX_COLUMNS = 500
_MAX_NESTING = 8

Column = dict[str, str]


def columns_of(schema: Schema) -> list[Column]:
    """Return at most `MAX_COLUMNS` columns as `[{name, type, comment?}]`.

    Protobuf has no nested columns, since only the first message's own fields are parsed.
    """
    kind = schema.schema_type.upper()
    if kind == "AVRO":
        found = _avro_columns(record_of(document_of(schema.text)), "", {}, 0)
    elif kind == "JSON":
        found = _json_columns(schema)
    else:
        found = iter(fields_of(schema))
    return list(islice(found, MAX_COLUMNS))


def _column(name: str, kind: str, comment: object) -> Column:
    column = {"name": name, "type": kind}
    if isinstance(comment, str) and (text := " ".join(comment.split())):
        column["comment"] = text
    return column


def _avro_columns(record: Any, prefix: str, named: dict[str, Any], depth: int) -> Iterator[Column]:
    """The columns of a record. `named` holds the types declared so far, which later fields may refer to."""
    if not isinstance(record, dict) or depth > _MAX_NESTING:
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
    if not isinstance(kind, dict) or depth > _MAX_NESTING:
        return
    match kind.get("type"):
        case "record":
            yield from _avro_columns(kind, f"{name}.", named, depth)
        case "array":
            yield from _avro_inner(kind.get("items"), f"{name}.element", named, depth + 1)
        case "map":
            yield from _avro_inner(kind.get("values"), f"{name}.value", named, depth + 1)
        case dict() | list() as inner:
            yield from _avro_inner(inner, name, named, depth + 1)


def _json_columns(schema: Schema) -> Iterator[Column]:
    for top in json_fields(schema.text).properties:
        for name, each in ((top.name, top), *nested(top.node, top.name)):
            titles = (one.get("title") for one in each.schemas if isinstance(one, dict))
            yield _column(name, json_type(each.node, each.schemas), each.doc or next(titles, None))


#: A name in the spelling of a Protobuf field's type, unless it is that of a field or has arguments.
_PROTO_NAME = re.compile(r"[\w.]+(?![\w.:<])")
_SPECIAL = re.compile(r"[<>(),:]")
_UNKNOWN = "unknown"


def column_types(schema: Schema) -> dict[str, str]:
    """Field -> its column's type; empty for Avro, and without those that are not known."""
    kind = schema.schema_type.upper()
    if kind == "JSON":
        return {each.name: _spelled(each.node) for each in json_fields(schema.text).properties}
    return _protobuf(schema) if kind == "PROTOBUF" else {}


def _spelled(node: JsonNode) -> str:
    from lineage_bridge_dagster.schemas.json_nodes import JsonKind

    match node.kind:
        case JsonKind.OBJECT:
            return _record([(each.name, _spelled(each.node)) for each in node.properties])
        case JsonKind.ARRAY if node.inner:
            return f"array<{_spelled(node.inner)}>"
        case JsonKind.MAP if node.inner:
            return f"map<{_spelled(node.key) if node.key else 'string'},{_spelled(node.inner)}>"
        case JsonKind.UNION | JsonKind.UNKNOWN:
            # What writers name the alternatives differs.
            return _UNKNOWN
        case JsonKind.TIME:
            return "time-millis"
    return _iceberg(node.type())


def _record(fields: list[tuple[str, str]]) -> str:
    """A record; it has no fields if a name in it would break the spelling."""
    if any(_SPECIAL.search(name) for name, _ in fields):
        return "record"
    return f"record<{','.join(f'{name}:{kind}' for name, kind in fields)}>"


def _protobuf(schema: Schema) -> dict[str, str]:
    from lineage_bridge_dagster.schemas.protobuf import declared_type

    enums = protobuf_text.enums(schema.text)

    def named(found: re.Match[str]) -> str:
        name = found.group().removeprefix(".")
        if name == "google.type.TimeOfDay":
            return "time-micros"
        if (kind := declared_type(name)) is not None:
            return _iceberg(kind)
        return "enum" if name.rpartition(".")[2] in enums else _UNKNOWN

    return {
        # A `oneof` is a row of its alternatives.
        each["name"]: _PROTO_NAME.sub(named, each["type"].replace("oneof<", "record<"))
        for each in fields_of(schema)
    }


def _iceberg(kind: IcebergType) -> str:
    return str(kind).replace(" ", "")
