"""The fields of a JSON Schema: those of the mapping that creates tables, in the schema's own words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.errors import LineageBridgeError

if TYPE_CHECKING:
    from lineage_bridge_dagster.schemas.json_nodes import JsonNode, Property


@dataclass(frozen=True)
class JsonFields:
    """What a JSON Schema says of the fields of a record.

    Attributes:
        properties: the fields; none if the values are not objects. A part that cannot be read, such as a
            reference whose text is not here or a type that contains itself, is of an unknown kind.
        exceeds_limits: whether parts are unknown because the schema is too deep or too large.
    """

    properties: tuple[Property, ...] = ()
    exceeds_limits: bool = False


@lru_cache(maxsize=16)
def json_fields(text: str) -> JsonFields:
    """The fields of a JSON Schema."""
    # Loading a project reads no schema, and must not import PyIceberg.
    from lineage_bridge_dagster.schemas.errors import LimitError
    from lineage_bridge_dagster.schemas.json_nodes import JsonKind
    from lineage_bridge_dagster.schemas.json_schema import json_node
    from lineage_bridge_dagster.schemas.schemas import JSON, RegisteredSchema

    errors: list[LineageBridgeError] = []
    try:
        node = json_node(RegisteredSchema(0, text, JSON), errors.append)
    except LineageBridgeError as error:
        return JsonFields((), isinstance(error, LimitError))
    # What writers name the alternatives of a union differs.
    properties = node.properties if node.kind is JsonKind.OBJECT else ()
    return JsonFields(properties, any(isinstance(each, LimitError) for each in errors))


def json_type(node: JsonNode, schemas: Iterable[Any]) -> str:
    """Spell a type as `avro_type` does; a type that is referred to by its name."""
    from lineage_bridge_dagster.schemas.json_nodes import JsonKind

    declared = [each for each in map(_present, schemas) if isinstance(each, Mapping)]
    for each in declared:
        if isinstance(each.get("$ref"), str):
            return str(each["$ref"]).rsplit("/", 1)[-1]
    match node.kind:
        case JsonKind.ARRAY if node.inner:
            return f"array<{json_type(node.inner, (each.get('items') for each in declared))}>"
        case JsonKind.MAP if node.inner and node.key:
            return f"map<{json_type(node.key, ())},{json_type(node.inner, ())}>"
        case JsonKind.UNION:
            members = (json_type(each.node, each.schemas) for each in node.properties)
            return f"union<{','.join(members)}>"
        case JsonKind.OBJECT | JsonKind.MAP:
            return "object"
        case JsonKind.ANY | JsonKind.UNKNOWN:
            kinds = (each.get("type") for each in declared)
            return next((kind for kind in kinds if isinstance(kind, str)), "unknown")
        case JsonKind.STRING | JsonKind.BINARY | JsonKind.DECIMAL_BASE64:
            return "string"
        case JsonKind.BOOLEAN:
            return "boolean"
        case JsonKind.FLOAT | JsonKind.DOUBLE | JsonKind.DECIMAL_NUMBER:
            return "number"
    return "integer"


def nested(node: JsonNode, name: str) -> Iterator[tuple[str, Property]]:
    """The properties within a value of a name: `lines.element.sku` in a list, `tags.value.text` in a map."""
    from lineage_bridge_dagster.schemas.json_nodes import JsonKind

    match node.kind:
        case JsonKind.OBJECT:
            for each in node.properties:
                inner = f"{name}.{each.name}" if name else each.name
                yield inner, each
                yield from nested(each.node, inner)
        case JsonKind.ARRAY if node.inner:
            yield from nested(node.inner, f"{name}.element")
        case JsonKind.MAP if node.inner:
            yield from nested(node.inner, f"{name}.value")


def _present(schema: Any) -> Any:
    """The schema, or the only alternative to null."""
    while isinstance(schema, Mapping):
        choices = schema.get("oneOf") or schema.get("anyOf") or ()
        present = [each for each in choices if isinstance(each, Mapping) and each.get("type") != "null"]
        if len(present) != 1 or "type" in schema:
            break
        schema = present[0]
    return schema
