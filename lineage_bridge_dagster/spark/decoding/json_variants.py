"""What a variant of JSON says of its own kind, and what it should say of a value of a schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lineage_bridge_dagster.schemas.json_nodes import JsonKind, JsonNode

if TYPE_CHECKING:
    from pyspark.sql import Column

#: Kinds of numbers that a variant reports, by the beginning of what `schema_of_variant` says.
NUMBERS = ("BIGINT", "DECIMAL", "DOUBLE")
#: What is written as an integer.
INTEGERS = (
    JsonKind.INT,
    JsonKind.LONG,
    JsonKind.DATE,
    JsonKind.TIME,
    JsonKind.TIMESTAMP,
    JsonKind.TIMESTAMPTZ,
)
_VARIANTS = {
    JsonKind.STRING: ("STRING",),
    JsonKind.BOOLEAN: ("BOOLEAN",),
    JsonKind.BINARY: ("STRING",),
    JsonKind.DECIMAL_BASE64: ("STRING",),
    JsonKind.DECIMAL_NUMBER: (*NUMBERS, "STRING"),
    JsonKind.FLOAT: NUMBERS,
    JsonKind.DOUBLE: NUMBERS,
    **dict.fromkeys(INTEGERS, ("BIGINT",)),
    JsonKind.OBJECT: ("OBJECT",),
    JsonKind.MAP: ("OBJECT",),
    JsonKind.ARRAY: ("ARRAY",),
}


def kinds_of(node: JsonNode) -> tuple[str, ...]:
    """The kinds that a variant of a value reports; none if it may be anything."""
    return _VARIANTS[JsonKind.ARRAY] if node.key else _VARIANTS.get(node.kind, ())


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
