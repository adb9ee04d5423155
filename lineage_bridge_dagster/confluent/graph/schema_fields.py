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

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.graph import protobuf_text
from lineage_bridge_dagster.confluent.graph.json_fields import json_fields, json_type, nested
from lineage_bridge_dagster.json_text import json_value
from lineage_bridge_dagster.schemas.avro_tree import PRIMITIVE_KINDS, TOO_DEEP, AvroNode, avro_tree

if TYPE_CHECKING:
    from pyiceberg.types import IcebergType

    from lineage_bridge_dagster.schemas.json_nodes import JsonNode


Field = dict[str, str]

_MAX_DEPTH = 12


def fields_of(schema: Schema) -> list[Field]:
    """Return the top-level fields as `[{name, type}]`; empty if the text is not a record or malformed."""
    kind = schema.schema_type.upper()
    if kind == "PROTOBUF":
        message = message_of(schema)
        return [{"name": each.name, "type": str(each)} for each in message.fields] if message else []
    if kind == "JSON":
        found = json_fields(schema.text).properties
        return [{"name": each.name, "type": json_type(each.node, each.schemas)} for each in found]
    if kind == "AVRO":
        fields = _avro_record(schema).fields
        return [{"name": name, "type": node.plain or avro_word(node)} for name, node, _ in fields if name]
    return []


def exceeds_limits(schema: Schema) -> bool:
    """Whether a schema is too deep or too large for its fields to be read."""
    kind = schema.schema_type.upper()
    if kind == "JSON":
        return json_fields(schema.text).exceeds_limits
    return kind == "AVRO" and avro_tree(schema.text).problem == TOO_DEEP


def record_names(schema: Schema) -> tuple[str, ...]:
    """Return the full names that RecordNameStrategy may use for the schema; none if it has no record.

    Avro: namespace and name; JSON Schema: the title; Protobuf: those of all messages, since the subject is
    named after the one that was sent.
    """
    kind = schema.schema_type.upper()
    if kind == "PROTOBUF":
        return tuple(message.full_name for message in protobuf_text.parsed(schema.text).all())
    if kind == "JSON":
        document = document_of(schema.text)
        title = document.get("title") if isinstance(document, dict) else None
        return (str(title),) if title else ()
    root = avro_tree(schema.text)
    return (root.name,) if root.kind and root.name else ()


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
    """Parse a JSON Schema, of which several facts are read in turn; None if it is not JSON."""
    try:
        return json_value(text)
    except ValueError:
        return None


def _avro_record(schema: Schema) -> AvroNode:
    """The record of an Avro schema: the schema itself, or the only record of a top-level union."""
    root = avro_tree(schema.text).resolved
    records = [each for each in root.inner if each.kind == "record"] if root.kind == "union" else ()
    return records[0] if len(records) == 1 else root


def avro_word(node: AvroNode, depth: int = 0) -> str:
    """Spell an Avro type: `string`, `decimal(10,2)`, `array<long>`; a nullable type as its other member.

    A type is spelled in full where it is defined, and is a name where it is used again. A logical type that
    Avro does not define is worth its name.
    """
    if node.plain:
        return node.plain
    if depth > _MAX_DEPTH:
        return "..."
    kind = node.kind
    if kind == "union":
        members = [avro_word(each, depth + 1) for each in node.present]
        return members[0] if len(members) == 1 else f"union<{','.join(members)}>"
    if not kind:
        if node.name:
            return str(node.schema if isinstance(node.schema, str) else node.schema["type"])
        return avro_word(node.target, depth + 1) if node.target else "unknown"
    if node.decimal:
        return "decimal({},{})".format(*node.decimal)
    if node.logical:
        return node.logical
    if kind in ("array", "map"):
        inner = avro_word(node.inner[0], depth + 1)
        return f"array<{inner}>" if kind == "array" else f"map<string,{inner}>"
    if node.fields:
        inner = ",".join(f"{e.name}:{avro_word(e.type, depth + 1)}" for e in node.fields if e.name)
        return f"record<{inner}>"
    return kind


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
        found = _avro_columns(_avro_record(schema), "", 0)
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


def _avro_columns(record: AvroNode, prefix: str, depth: int) -> Iterator[Column]:
    """The columns of a record."""
    for field, node, schema in record.fields if depth <= _MAX_NESTING else ():
        if field:
            name = f"{prefix}{field}"
            yield _column(name, node.plain or avro_word(node), schema.get("doc"))
            # A union of several types has no single set of fields.
            if not node.plain and (inner := node.only).kind not in PRIMITIVE_KINDS:
                yield from _avro_inner(inner, name, depth + 1)


def _avro_inner(node: AvroNode, name: str, depth: int) -> Iterator[Column]:
    """The columns nested in a field's type: its record's, within any lists and maps."""
    if depth <= _MAX_NESTING and node.kind in ("array", "map"):
        part = "element" if node.kind == "array" else "value"
        yield from _avro_inner(node.inner[0].only, f"{name}.{part}", depth + 1)
    else:
        yield from _avro_columns(node, f"{name}.", depth)


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
