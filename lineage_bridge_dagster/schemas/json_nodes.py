"""What a JSON Schema says of a value, as far as a table and a decoder must know it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from pyiceberg import types as iceberg

from lineage_bridge_dagster.schemas import types


class JsonKind(StrEnum):
    """How a value is written in JSON, and what it means."""

    STRING = "string"
    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    #: Days since 1970; milliseconds since 1970 of an instant and of a local time.
    DATE = "date"
    TIMESTAMPTZ = "timestamptz"
    TIMESTAMP = "timestamp"
    #: Milliseconds of a day.
    TIME = "time"
    #: Base64.
    BINARY = "binary"
    #: Base64 of the unscaled value's bytes.
    DECIMAL_BASE64 = "decimal_base64"
    #: A number or that Base64, which Connect's converter writes by default for what it registers as a number.
    DECIMAL_NUMBER = "decimal_number"
    OBJECT = "object"
    MAP = "map"
    ARRAY = "array"
    #: One of several; the column is a row of alternatives.
    UNION = "union"
    #: Anything; the column is its JSON text.
    ANY = "any"
    #: What a schema does not tell, where it is read as far as it can be.
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Property:
    """A property of an object, or an alternative of a union.

    Attributes:
        required: whether an object must have it.
        schemas: the schemas that declare it; two properties are the same whatever declares them.
    """

    name: str
    node: JsonNode
    required: bool = False
    doc: str = ""
    schemas: tuple[Any, ...] = field(default=(), compare=False, repr=False)

    @property
    def must_occur(self) -> bool:
        """Whether an object must have it, and not null."""
        return self.required and not self.node.nullable


@dataclass(frozen=True)
class JsonNode:
    """A value.

    Attributes:
        properties: of an object; the alternatives of a union.
        inner: elements of an array, values of a map.
        key: keys of a map that Connect wrote as an array of objects, as they are not strings.
        nullable: whether it may be null.
        decimal: precision and scale.
        constants: properties whose value is fixed, by which an alternative is told from others.
    """

    kind: JsonKind
    properties: tuple[Property, ...] = ()
    inner: JsonNode | None = None
    nullable: bool = False
    decimal: tuple[int, int] = (0, 0)
    constants: tuple[tuple[str, str], ...] = ()
    key: JsonNode | None = None

    def nodes(self) -> Iterator[JsonNode]:
        """The nodes that it is made of, without theirs."""
        yield from (each.node for each in self.properties)
        yield from (each for each in (self.key, self.inner) if each)

    @cached_property
    def size(self) -> int:
        """The number of nodes, itself and those at all levels."""
        return 1 + sum(each.size for each in self.nodes())

    @cached_property
    def height(self) -> int:
        """The number of levels below it."""
        return max((1 + each.height for each in self.nodes()), default=0)

    def type(self, path: str = "") -> iceberg.IcebergType:
        """The type of its column.

        Raises:
            SchemaError: no column can have its name.
        """
        match self.kind:
            case JsonKind.OBJECT | JsonKind.UNION:
                return types.struct(
                    (
                        types.field(
                            each.name,
                            each.node.type(types.joined(path, each.name)),
                            required=each.must_occur,
                            doc=each.doc,
                        )
                        for each in self.properties
                    ),
                    path,
                )
            case JsonKind.ARRAY if self.inner:
                element = self.inner.type(types.joined(path, "element"))
                return types.listing(element, element_required=not self.inner.nullable)
            case JsonKind.MAP if self.inner:
                value = self.inner.type(types.joined(path, "value"))
                key = self.key.type(types.joined(path, "key")) if self.key else None
                return types.mapping(value, key=key, value_required=not self.inner.nullable)
            case JsonKind.DECIMAL_NUMBER | JsonKind.DECIMAL_BASE64:
                return iceberg.DecimalType(*self.decimal)
        return _TYPES[self.kind]


_TYPES = {
    JsonKind.STRING: iceberg.StringType(),
    JsonKind.BOOLEAN: iceberg.BooleanType(),
    JsonKind.INT: iceberg.IntegerType(),
    JsonKind.LONG: iceberg.LongType(),
    JsonKind.FLOAT: iceberg.FloatType(),
    JsonKind.DOUBLE: iceberg.DoubleType(),
    JsonKind.DATE: iceberg.DateType(),
    JsonKind.TIMESTAMPTZ: iceberg.TimestamptzType(),
    JsonKind.TIMESTAMP: iceberg.TimestampType(),
    JsonKind.TIME: iceberg.IntegerType(),
    JsonKind.BINARY: iceberg.BinaryType(),
    JsonKind.ANY: iceberg.StringType(),
    JsonKind.UNKNOWN: iceberg.StringType(),
}
