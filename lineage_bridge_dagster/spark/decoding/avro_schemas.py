"""Avro schemas rewritten for Spark's reader: they describe the same bytes, and it loses nothing.

Spark's reader takes the low 64 bits of a decimal of up to 18 digits, makes one number of a union of an int
and a long (or a float and a double), has no file format for a record without fields, and repairs text that is
no UTF-8 if the schema asks for Java's strings. What it reads instead has the type of the rewritten schema.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from lineage_bridge_dagster.schemas.avro_tree import AvroNode, avro_tree, rewritten
from lineage_bridge_dagster.schemas.types import MAX_PRECISION

#: Unions that Spark reads as one number, in Avro's types.
_MERGED = ({"int", "long"}, {"float", "double"})
#: A third alternative, behind them, which keeps them apart; no value is of it.
_NEITHER = "boolean"
#: Takes no bytes.
_NOTHING = {"name": "_", "type": "null"}


@lru_cache(maxsize=1024)
def as_read(text: str) -> str:
    """The schema by which Spark reads what was written with a schema."""
    return json.dumps(rewritten(avro_tree(text), _as_read))


def with_optional_doubles(text: str) -> str:
    """The schema, in whose arrays a double may be null.

    Avro 1.12.0, which is Spark 4.0's, makes each element a float on its way (AVRO-4110), unless it may be
    null.
    """

    def change(node: AvroNode, schema: Any) -> Any:
        is_double = node.kind == "array" and node.inner[0].resolved.kind == "double"
        return {**schema, "items": ["null", "double"]} if is_double else schema

    return json.dumps(rewritten(avro_tree(text), change))


@lru_cache(maxsize=1024)
def confuses_reader(text: str) -> bool:
    """Whether Avro's reader may take a value for one of another type.

    Avro's `GenericData.createFixed` reuses the previous record's value if it has the same size, and with it
    that value's type: a union's value would be in the column of another alternative.
    """
    for node in avro_tree(text).all():
        branches = [each.resolved for each in node.inner]
        sizes = [each.schema["size"] for each in branches if each.kind == "fixed"]
        if len(set(sizes)) < len(sizes):
            return True
    return False


def _as_read(node: AvroNode, schema: Any) -> Any:
    if node.kind == "union":
        kinds = [each.resolved.kind for each in node.present]
        return [*schema, _NEITHER] if len(kinds) == 2 and set(kinds) in _MERGED else schema
    if not isinstance(schema, dict):
        return schema
    if node.target is not None and not node.name:
        # Avro's parser takes no schema for the type of another one.
        return schema["type"]
    result = {name: part for name, part in schema.items() if name != "avro.java.string"}
    if node.kind == "record":
        # Defaults are for readers of other versions, and may suit none of the types here.
        fields = [
            {name: part for name, part in each.items() if name != "default"} for each in schema["fields"]
        ]
        result["fields"] = fields or [_NOTHING]
    if node.decimal is not None:
        result["precision"] = min(MAX_PRECISION, node.capacity)
    return result
