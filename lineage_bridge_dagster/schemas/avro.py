"""Avro schemas -> Iceberg types.

Sources: the appendix on Avro of the Iceberg specification for primitive and logical types; Confluent's page
on data types for Flink, whose tables Tableflow shares, and Connect's Avro converter for unions of several
types, numbers among them, as a row of nullable alternatives. The deviations are Spark's, which writes the
rows: it has no time of day (the number stays), no `uuid` (a string) and no `fixed` (binary). What is only
ever null is an optional string. A nested record without fields is a boolean that is true where it is set, as
no file has a row without columns.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    PrimitiveType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from lineage_bridge_dagster.schemas import types
from lineage_bridge_dagster.schemas.errors import SchemaError
from lineage_bridge_dagster.schemas.types import joined

PRIMITIVES: Mapping[str, PrimitiveType] = {
    "boolean": BooleanType(),
    "int": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "bytes": BinaryType(),
    "string": StringType(),
}

#: Types that a schema declares with a name and no fields.
DECLARED: Mapping[str, PrimitiveType] = {"enum": StringType(), "fixed": BinaryType()}

#: (Avro type, logical type) -> type; a pair that is not here has the type of the Avro type, as Avro demands.
LOGICAL: Mapping[tuple[str, str], PrimitiveType] = {
    ("int", "date"): DateType(),
    ("int", "time-millis"): IntegerType(),
    ("long", "time-micros"): LongType(),
    ("long", "timestamp-millis"): TimestamptzType(),
    ("long", "timestamp-micros"): TimestamptzType(),
    ("long", "local-timestamp-millis"): TimestampType(),
    ("long", "local-timestamp-micros"): TimestampType(),
    ("string", "uuid"): StringType(),
    ("fixed", "uuid"): BinaryType(),
}

_HINT = "Correct the schema in the Schema Registry."


@dataclass
class _AvroScope:
    """The named types seen so far, those that enclose the current one, and the number of types so far."""

    named: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    enclosing: list[str] = field(default_factory=list)
    size: int = 0


def avro_type(text: str) -> tuple[IcebergType, bool]:
    """The type of an Avro schema without references, and whether it is required: no union with null.

    Raises:
        SchemaError: a field cannot be a column.
    """
    try:
        parsed = json.loads(text)
        return _type(parsed, "", "", _AvroScope())
    except RecursionError as error:
        raise types.too_deep("The schema") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SchemaError.at("", f"is not an Avro schema: {text[:80]!r} ({error!r})", _HINT) from error


def _type(schema: Any, path: str, namespace: str, scope: _AvroScope) -> tuple[IcebergType, bool]:
    """The type, and whether it is required."""
    scope.size += 1
    types.check_size(scope.size, path)
    if isinstance(schema, list):
        return _union(schema, path, namespace, scope)
    if isinstance(schema, str):
        return _named(schema, path, namespace, scope)
    kind = schema["type"]
    if not isinstance(kind, str):
        return _type(kind, path, namespace, scope)
    types.check_depth(scope.enclosing, path)
    if kind in ("record", "error", "enum", "fixed"):
        name, namespace = _full_name(schema, namespace)
        scope.named[name] = {**schema, "namespace": namespace}
        if kind in ("record", "error"):
            if path and not schema["fields"]:
                return types.NoFields(), True
            return _record(schema, name, path, namespace, scope), True
    if kind == "array":
        element, required = _inner(schema["items"], joined(path, "element"), namespace, scope)
        return types.listing(element, element_required=required), True
    if kind == "map":
        value, required = _inner(schema["values"], joined(path, "value"), namespace, scope)
        return types.mapping(value, value_required=required), True
    logical = schema.get("logicalType")
    if (found := decimal_digits(schema)) is not None:
        return types.decimal(*found, path), True
    if (kind, logical) in LOGICAL:
        return LOGICAL[kind, str(logical)], True
    if kind in DECLARED:
        return DECLARED[kind], True
    return _named(kind, path, namespace, scope)


def decimal_digits(schema: Mapping[str, Any]) -> tuple[int, int] | None:
    """The precision and scale of a schema that is a decimal; None for any other.

    Avro's specification has readers ignore a logical type that is invalid: without a precision, with a scale
    beyond it, or of a `fixed` that is too small.
    """
    if schema.get("logicalType") != "decimal" or schema["type"] not in ("bytes", "fixed"):
        return None
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int) or precision < 1 or scale < 0:
        return None
    # Connect writes a NUMBER without a scale with scale 127 and precision 64: still a decimal.
    if scale > precision and scale <= types.MAX_PRECISION:
        return None
    return (precision, scale) if precision <= decimal_capacity(schema) else None


def decimal_capacity(schema: Mapping[str, Any]) -> int:
    """The most digits that the bytes of a decimal hold: those of a `fixed` are limited by its size."""
    if schema["type"] == "bytes":
        return sys.maxsize
    return len(str(2 ** (8 * int(schema["size"]) - 1) - 1)) - 1


def _inner(schema: Any, path: str, namespace: str, scope: _AvroScope) -> tuple[IcebergType, bool]:
    """The type of an element or a value."""
    scope.enclosing.append("")
    found = _type(schema, path, namespace, scope)
    scope.enclosing.pop()
    return found


def _named(name: str, path: str, namespace: str, scope: _AvroScope) -> tuple[IcebergType, bool]:
    if name == "null":
        return StringType(), False
    if name in PRIMITIVES:
        return PRIMITIVES[name], True
    full = name if "." in name or not namespace else f"{namespace}.{name}"
    full = full if full in scope.named else name
    if full in scope.enclosing:
        raise types.recursive(path, full)
    if full not in scope.named:
        raise SchemaError.at(path, f"has the type {name}, which the schema does not define", _HINT)
    return _type(scope.named[full], path, str(scope.named[full]["namespace"]), scope)


def _record(schema: Mapping[str, Any], name: str, path: str, namespace: str, scope: _AvroScope) -> StructType:
    scope.enclosing.append(name)
    fields: list[NestedField] = []
    for each in schema["fields"]:
        inner = joined(path, each["name"])
        found, required = _type(each["type"], inner, namespace, scope)
        doc = str(each.get("doc") or "")
        fields.append(types.field(each["name"], found, required=required, doc=doc))
    scope.enclosing.pop()
    return types.struct(fields, path)


def _union(members: list[Any], path: str, namespace: str, scope: _AvroScope) -> tuple[IcebergType, bool]:
    present = [member for member in members if _kind(member) != "null"]
    required = len(present) == len(members)
    if not present:
        return StringType(), False
    if len(present) == 1:
        return _type(present[0], path, namespace, scope)[0], required
    fields = []
    names = [_member_name(member) for member in present]
    for member, name in zip(present, names, strict=True):
        label = name.rpartition(".")[2]
        if sum(other.rpartition(".")[2].lower() == label.lower() for other in names) > 1:
            label = name
        found, _ = _type(member, joined(path, label), namespace, scope)
        fields.append(types.field(label, found))
    return types.struct(fields, path, types.Alternatives), required


def _kind(schema: Any) -> str:
    return str(schema.get("type")) if isinstance(schema, dict) else str(schema)


def _member_name(member: Any) -> str:
    """What tells an alternative from the others: a named type's name, or the type."""
    if isinstance(member, str):
        return member
    if name := member.get("name"):
        space = member.get("namespace")
        return str(name) if "." in name or not space else f"{space}.{name}"
    return str(member["type"])


def _full_name(schema: Mapping[str, Any], namespace: str) -> tuple[str, str]:
    """The full name of a named type, and the namespace of the names within it."""
    name = str(schema["name"])
    if "." in name:
        return name, name.rpartition(".")[0]
    namespace = str(schema.get("namespace", namespace) or "")
    return (f"{namespace}.{name}" if namespace else name), namespace


#: Where a schema stands within another one.
_INNER = ("type", "items", "values", "fields")
_NAMED = ("record", "error", "enum", "fixed")


def inlined_avro(text: str, references: Sequence[tuple[str, str]]) -> str:
    """Put each type that a schema takes from its references where the schema first uses it.

    Args:
        text: The schema, as JSON.
        references: The name under which a schema is referred to -> its text, in any order. Texts define the
            types; the names are those of the registry alone.

    Raises:
        SchemaError: A text is not JSON, or they are nested too deeply.
    """
    if not references:
        return text
    scope = _References()
    try:
        for _, each in references:
            scope.define(json.loads(each), "")
        return json.dumps(scope.resolved(json.loads(text), ""), ensure_ascii=False)
    except ValueError as error:
        raise SchemaError(
            f"A schema or one that it refers to is not JSON: {error}.", hint="Correct the schema."
        ) from error
    except RecursionError:
        raise SchemaError("The schema is nested too deeply.", hint="Make it flatter.") from None


class _References:
    """The types that references define, and those that the schema has so far."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, Any]] = {}
        self._placed: set[str] = set()

    def define(self, node: Any, namespace: str) -> None:
        """Learn the named types of a schema, at any depth."""
        if isinstance(node, list):
            for each in node:
                self.define(each, namespace)
        elif isinstance(node, dict):
            if node.get("type") in _NAMED and isinstance(node.get("name"), str):
                name = _referred_name(node["name"], node.get("namespace", namespace))
                namespace = name.rpartition(".")[0]
                self._known.setdefault(name, {**node, "namespace": namespace})
            for key in _INNER:
                self.define(node.get(key), namespace)

    def resolved(self, node: Any, namespace: str) -> Any:
        """The same schema, with types of the references in place of their names."""
        if isinstance(node, str):
            return self._type(node, namespace)
        if isinstance(node, list):
            return [self.resolved(each, namespace) for each in node]
        if not isinstance(node, dict):
            return node
        if node.get("type") in _NAMED and isinstance(node.get("name"), str):
            name = _referred_name(node["name"], node.get("namespace", namespace))
            namespace = name.rpartition(".")[0]
            self._placed.add(name)
        # A field is a node with a type, as a schema is.
        return {
            key: self.resolved(value, namespace) if key in _INNER else value for key, value in node.items()
        }

    def _type(self, name: str, namespace: str) -> Any:
        full = _referred_name(name, namespace)
        full = full if full in self._known else name
        if full not in self._known or full in self._placed:
            return name
        return self.resolved(self._known[full], "")


def _referred_name(name: str, namespace: str | None) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"
