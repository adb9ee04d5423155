"""Avro schemas rewritten for Spark's reader: they describe the same bytes, and it loses nothing.

Spark's reader takes the low 64 bits of a decimal of up to 18 digits, makes one number of a union of an int
and a long (or a float and a double), has no file format for a record without fields, and repairs text that is
no UTF-8 if the schema asks for Java's strings. What it reads instead has the type of the rewritten schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from lineage_bridge_dagster.schemas.avro import decimal_capacity, decimal_digits
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
    return json.dumps(_as_read(json.loads(text)))


def with_optional_doubles(schema: Any) -> Any:
    """The schema, in whose arrays a double may be null.

    Avro 1.12.0, which is Spark 4.0's, makes each element a float on its way (AVRO-4110), unless it may be
    null.
    """
    if isinstance(schema, list):
        return [with_optional_doubles(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    result = {
        name: with_optional_doubles(part) if name in ("type", "fields", "items", "values") else part
        for name, part in schema.items()
    }
    if result.get("type") == "array" and _kind(result.get("items")) == "double":
        result["items"] = ["null", "double"]
    return result


@lru_cache(maxsize=1024)
def confuses_reader(text: str) -> bool:
    """Whether Avro's reader may take a value for one of another type.

    Avro's `GenericData.createFixed` reuses the previous record's value if it has the same size, and with it
    that value's type: a union's value would be in the column of another alternative.
    """
    return _is_confused(json.loads(text), {})


def _as_read(schema: Any) -> Any:
    if isinstance(schema, list):
        members = [_as_read(each) for each in schema]
        kinds = [kind for each in schema if (kind := _kind(each)) != "null"]
        return [*members, _NEITHER] if len(kinds) == 2 and set(kinds) in _MERGED else members
    if not isinstance(schema, dict):
        return schema
    result = {
        name: _as_read(part) if name in ("type", "items", "values") else part
        for name, part in schema.items()
        if name != "avro.java.string"
    }
    if schema["type"] in ("record", "error"):
        # Defaults are for readers of other versions, and may suit none of the types here.
        fields = [
            {
                name: _as_read(part) if name == "type" else part
                for name, part in each.items()
                if name != "default"
            }
            for each in schema["fields"]
        ]
        result["fields"] = fields or [_NOTHING]
    if decimal_digits(schema) is not None:
        result["precision"] = min(MAX_PRECISION, decimal_capacity(schema))
    return result


def _kind(schema: Any) -> str:
    """Avro's type, without its logical one; the name of a named type where it is referred to."""
    while isinstance(schema, dict):
        schema = schema["type"]
    return schema if isinstance(schema, str) else ""


def _is_confused(schema: Any, sizes: dict[str, int]) -> bool:
    """Whether two alternatives of a union are fixed types of the same size.

    Args:
        schema: as JSON.
        sizes: of the fixed types seen so far, by their names without namespace.
    """
    if isinstance(schema, list):
        is_confused = [_is_confused(each, sizes) for each in schema]
        found = [size for each in schema if (size := _fixed_size(each, sizes))]
        return any(is_confused) or len(set(found)) < len(found)
    if not isinstance(schema, dict):
        return False
    if schema.get("type") == "fixed":
        sizes[schema["name"].rpartition(".")[2]] = schema["size"]
    parts = [schema[name] for name in ("type", "items", "values") if name in schema]
    parts += [field["type"] for field in schema.get("fields", [])]
    is_confused = [_is_confused(part, sizes) for part in parts]
    return any(is_confused)


def _fixed_size(schema: Any, sizes: Mapping[str, int]) -> int | None:
    if isinstance(schema, dict):
        return schema["size"] if schema["type"] == "fixed" else _fixed_size(schema["type"], sizes)
    return sizes.get(schema.rpartition(".")[2]) if isinstance(schema, str) else None
