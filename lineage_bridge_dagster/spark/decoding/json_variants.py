"""What a variant of JSON says of its own kind, and what it should say of a value of a schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lineage_bridge_dagster.schemas.json_nodes import JsonNode, Kind

if TYPE_CHECKING:
    from pyspark.sql import Column

#: Kinds of numbers that a variant reports, by the beginning of what `schema_of_variant` says.
NUMBERS = ("BIGINT", "DECIMAL", "DOUBLE")
#: What is written as an integer.
INTEGERS = (Kind.INT, Kind.LONG, Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMPTZ)
_VARIANTS = {
    Kind.STRING: ("STRING",),
    Kind.BOOLEAN: ("BOOLEAN",),
    Kind.BINARY: ("STRING",),
    Kind.DECIMAL_BASE64: ("STRING",),
    Kind.DECIMAL_NUMBER: (*NUMBERS, "STRING"),
    Kind.FLOAT: NUMBERS,
    Kind.DOUBLE: NUMBERS,
    **dict.fromkeys(INTEGERS, ("BIGINT",)),
    Kind.OBJECT: ("OBJECT",),
    Kind.MAP: ("OBJECT",),
    Kind.ARRAY: ("ARRAY",),
}


def kinds_of(node: JsonNode) -> tuple[str, ...]:
    """The kinds that a variant of a value reports; none if it may be anything."""
    return _VARIANTS[Kind.ARRAY] if node.key else _VARIANTS.get(node.kind, ())


def begins(column: Column, starts: Sequence[str]) -> Column:
    """Whether a text begins with one of several."""
    result = column.startswith(starts[0])
    for each in starts[1:]:
        result = result | column.startswith(each)
    return result


def path_of(name: str) -> str:
    """The path of a property in a variant, which has no escapes."""
    quote = '"' if "'" in name else "'"
    return f"$[{quote}{name}{quote}]"
