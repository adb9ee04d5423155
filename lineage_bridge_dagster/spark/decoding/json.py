"""JSON records, read by a Java class of this package in one pass.

Spark's own `from_json` takes a number, an object or an array where a string is due for its text, rounds
decimals, refuses `1.0` for an integer, repairs invalid UTF-8, ignores what follows a value, and knows no
unions. A property that the schema does not name is left out.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.schemas.json_nodes import JsonKind, JsonNode
from lineage_bridge_dagster.schemas.json_promotion import promoted_node
from lineage_bridge_dagster.schemas.json_schema import json_node
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema
from lineage_bridge_dagster.schemas.types import joined
from lineage_bridge_dagster.spark.decoding.spark_types import spark_type
from lineage_bridge_dagster.spark.decoding.versions import Format
from lineage_bridge_dagster.spark.java_functions import function_catalog

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

_NUMBERS = ("BIGINT", "DECIMAL")
#: What is written as an integer.
_INTEGERS = (
    JsonKind.INT,
    JsonKind.LONG,
    JsonKind.DATE,
    JsonKind.TIME,
    JsonKind.TIMESTAMP,
    JsonKind.TIMESTAMPTZ,
)
#: The kinds of JSON values that each kind of node has; those that are not here have any.
_EXPECTED = {
    JsonKind.STRING: ("STRING",),
    JsonKind.BOOLEAN: ("BOOLEAN",),
    JsonKind.BINARY: ("STRING",),
    JsonKind.DECIMAL_BASE64: ("STRING",),
    JsonKind.DECIMAL_NUMBER: (*_NUMBERS, "STRING"),
    JsonKind.FLOAT: _NUMBERS,
    JsonKind.DOUBLE: _NUMBERS,
    **dict.fromkeys(_INTEGERS, ("BIGINT",)),
    JsonKind.OBJECT: ("OBJECT",),
    JsonKind.MAP: ("OBJECT",),
    JsonKind.ARRAY: ("ARRAY",),
}
_WORDS = {"STRING": "a string", "BOOLEAN": "a boolean", "BIGINT": "an integer", "DECIMAL": "a number",
          "OBJECT": "an object", "ARRAY": "an array"}  # fmt: skip
#: Milliseconds that Spark makes a time of; it ends the query at others.
_MOST_MILLIS = {JsonKind.TIMESTAMPTZ: (2**63 - 1) // 1000, JsonKind.TIMESTAMP: 10**15 - 1}


class JsonFormat(Format):
    """Bodies of JSON text.

    Args:
        schemas: the versions that can be read, the latest last.
        promoted: the ids of those that are read as the latest.
    """

    def __init__(self, schemas: Sequence[RegisteredSchema], promoted: Collection[int] = ()) -> None:
        self._nodes = {schema.id: json_node(schema) for schema in schemas}
        latest = self._nodes[schemas[-1].id]
        self._nodes |= {number: promoted_node(latest, self._nodes[number]) for number in promoted}
        self._catalog = ""

    def prepare(self, spark: SparkSession) -> None:
        """Give the session the class that reads."""
        self._catalog = function_catalog(spark, __package__, "JsonDocument", "JsonShape", "JsonRecords")

    def shape(self, schema: RegisteredSchema) -> JsonNode:
        """What the schema says of a value."""
        return self._nodes[schema.id]

    def parsed(self, body: Column, number: Column, schemas: Sequence[RegisteredSchema]) -> Column:
        """A struct of the value and of what is wrong with the text."""
        from pyspark.sql import functions as F

        node = self._nodes[schemas[0].id]
        plan = {"type": spark_type(node.type()).jsonValue(), "node": plan_of(node)}
        quoted = json.dumps(plan, separators=(",", ":")).replace("`", "``")
        read = F.call_function(f"{self._catalog}.`{quoted}`", number, body)
        return F.when(body.isNotNull() & number.isin(*(schema.id for schema in schemas)), read)

    def is_whole(self, parsed: Column, schema: RegisteredSchema) -> Column:  # noqa: ARG002
        """Whether there is one value, which is of the schema."""
        return parsed.isNotNull() & parsed["before"].isNull()

    def value(self, parsed: Column, schema: RegisteredSchema) -> Column:  # noqa: ARG002
        """The value."""
        return parsed["value"]

    def problem(self, parsed: Column, body: Column, number: Column, schema: RegisteredSchema) -> Column:  # noqa: ARG002
        """The first property that has not the type that is due."""
        from pyspark.sql import functions as F

        found = F.lower(F.schema_of_variant(F.try_parse_json(parsed["found"])))
        return F.concat(parsed["before"], F.coalesce(found, F.lit("")), parsed["after"])


def plan_of(node: JsonNode, path: str = "") -> dict[str, Any]:
    """What `JsonShape.java` reads a value by."""
    expected, ranked = _expected(node), sorted(node.properties, key=lambda each: _specific(each.node))
    return {
        "kind": node.kind,
        "path": path,
        "nullable": node.nullable,
        "expected": expected,
        "words": " or ".join(_WORDS[each] for each in expected),
        "most_millis": _MOST_MILLIS.get(node.kind, 0),
        "precision": node.decimal[0],
        "scale": node.decimal[1],
        "inner": node.inner and plan_of(node.inner),
        "key": node.key and plan_of(node.key),
        "constants": [{"name": name, "value": value} for name, value in node.constants],
        "properties": [
            {
                "name": each.name,
                "required": each.required,
                "taken": _taken(each.node, node),
                "node": plan_of(each.node, joined(path, each.name)),
            }
            for each in node.properties
        ],
        "order": [node.properties.index(each) for each in ranked],
    }


def _expected(node: JsonNode) -> tuple[str, ...]:
    return _EXPECTED[JsonKind.ARRAY] if node.key else _EXPECTED.get(node.kind, ())


def _taken(node: JsonNode, union: JsonNode) -> tuple[str, ...]:
    """The kinds of JSON values that an alternative of a union takes; none if it takes all."""
    kinds = {each.node.kind for each in union.properties}
    if node.kind in _INTEGERS and kinds.isdisjoint(
        (JsonKind.FLOAT, JsonKind.DOUBLE, JsonKind.DECIMAL_NUMBER)
    ):
        # Without an alternative for numbers, the one for integers takes `1.0`.
        return _NUMBERS
    if node.kind is JsonKind.DECIMAL_NUMBER and not kinds.isdisjoint(
        (JsonKind.STRING, JsonKind.BINARY, JsonKind.DECIMAL_BASE64)
    ):
        # Without an alternative for text, a decimal that the schema declares as a number takes its Base64.
        return _NUMBERS
    return _expected(node)


def _specific(node: JsonNode) -> tuple[int, int]:
    """Sorts the most specific alternative first: that with the most constants, then required properties."""
    return -len(node.constants), -sum(each.required for each in node.properties)
