"""Avro schemas -> Iceberg types.

Sources: the appendix on Avro of the Iceberg specification for primitive and logical types; Confluent's page
on data types for Flink, whose tables Tableflow shares, and Connect's Avro converter for unions of several
types, numbers among them, as a row of nullable alternatives, and for maps whose keys are no text. The
deviations are Spark's, which writes the rows: it has no time of day (the number stays), no `uuid` (a string)
and no `fixed` (binary). What is only ever null is an optional string. A nested record without fields is a
boolean that is true where it is set, as no file has a row without columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    PrimitiveType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from lineage_bridge_dagster.schemas import types
from lineage_bridge_dagster.schemas.avro_tree import TOO_DEEP, AvroNode, avro_tree
from lineage_bridge_dagster.schemas.errors import SchemaError
from lineage_bridge_dagster.schemas.types import joined, spelled

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


def avro_type(text: str, *, entries: bool = False) -> tuple[IcebergType, bool]:
    """The type of an Avro schema without references, and whether it is required: no union with null.

    Args:
        entries: whether maps that Connect writes as arrays stay such, as they are read.

    Raises:
        SchemaError: a field cannot be a column.
    """
    return _AvroColumns(entries=entries).type(avro_tree(text), "")


class _AvroColumns:
    """One schema: the types that enclose the current one, and the number of types so far."""

    def __init__(self, *, entries: bool) -> None:
        self._entries = entries
        self._enclosing: list[AvroNode] = []
        self._size = 0

    def type(self, node: AvroNode, path: str) -> tuple[IcebergType, bool]:
        """The type, and whether it is required."""
        self._size += 1
        types.check_size(self._size, path)
        node = node.resolved
        if node.problem == TOO_DEEP:
            raise types.too_deep("The schema")
        if node.problem:
            raise SchemaError.at(path, node.problem, _HINT)
        if node.kind == "union":
            return self._union(node, path), not node.nullable
        if node.kind == "null":
            return StringType(), False
        if node.kind not in ("record", "array", "map"):
            return self._single(node, path), True
        types.check_depth(self._enclosing, path)
        if node in self._enclosing:
            raise types.recursive(path, node.name)
        self._enclosing.append(node)
        found = self._nested(node, path)
        self._enclosing.pop()
        return found, True

    def _single(self, node: AvroNode, path: str) -> IcebergType:
        if node.decimal is not None:
            return types.decimal(*node.decimal, path)
        kind = LOGICAL.get((node.kind, node.logical))
        return kind or PRIMITIVES.get(node.kind) or DECLARED[node.kind]

    def _nested(self, node: AvroNode, path: str) -> IcebergType:
        if node.kind == "record":
            return self._record(node, path) if node.fields or not path else types.NoFields()
        if not self._entries and (entry := node.entry):
            key = self.type(entry[0], joined(path, "key"))[0]
            if "map<" not in spelled(key):  # Spark has no maps whose keys contain maps.
                value, required = self.type(entry[1], joined(path, "value"))
                return types.mapping(value, key=key, value_required=required)
        part = "element" if node.kind == "array" else "value"
        inner, required = self.type(node.inner[0], joined(path, part))
        if node.kind == "array":
            return types.listing(inner, element_required=required)
        return types.mapping(inner, value_required=required)

    def _record(self, node: AvroNode, path: str) -> StructType:
        fields = []
        for each in node.fields:
            found, required = self.type(each.type, joined(path, each.name))
            doc = str(each.schema.get("doc") or "")
            fields.append(types.field(each.name, found, required=required, doc=doc))
        return types.struct(fields, path)

    def _union(self, node: AvroNode, path: str) -> IcebergType:
        members = [each.resolved for each in node.present]
        if len(members) < 2:
            return self.type(members[0], path)[0] if members else StringType()
        labels = Counter(each.label.lower() for each in members)
        fields = []
        for each in members:
            label = each.label if labels[each.label.lower()] == 1 else each.name or each.kind
            fields.append(types.field(label, self.type(each, joined(path, label))[0]))
        return types.struct(fields, path, types.Alternatives)
