"""The types of columns by the mapping that creates tables, for schemas whose fields' spelling does not tell.

An Avro field's type names its column's. In JSON Schema, `connect.type`, titles and references decide, and in
Protobuf a name may be an enum or a message. So their columns' types are found while the text is at hand, and
spelled in the words of `type_mapping`. A type that depends on another schema's text is left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.graph import protobuf_text
from lineage_bridge_dagster.confluent.graph.json_fields import json_fields
from lineage_bridge_dagster.confluent.graph.schema_fields import fields_of

if TYPE_CHECKING:
    from pyiceberg.types import IcebergType

    from lineage_bridge_dagster.schemas.json_nodes import JsonNode

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
