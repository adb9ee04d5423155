"""Avro records in Confluent's wire format, decoded by Spark.

A topic's records may have several schema versions. Each record is decoded with its writer's schema alone, and
its fields are then put into the type that holds those of all versions. So a row does not depend on the
versions that were registered after its record, and a field that its version lacks is null, whatever default
a later version gives it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pyiceberg.types import IcebergType

from lineage_bridge_dagster.spark.decoding.spark_types import spark_type
from lineage_bridge_dagster.topics.schemas import RegisteredSchema
from lineage_bridge_dagster.topics.types import spelled

if TYPE_CHECKING:
    from pyspark.sql import Column

#: Follows each body, to tell that the schema accounts for all of its bytes. It does not overlap with itself.
_END = bytes.fromhex("8d1f6cb3e24a597ed0c83b95f7a2610e")


class AvroFormat:
    """Bodies in Avro's binary encoding.

    Args:
        types: schema id -> the schema's own type.
    """

    def __init__(self, types: Mapping[int, IcebergType]) -> None:
        self._types = types

    def shape(self, schema: RegisteredSchema) -> tuple[str, bool]:
        """The schema's own type, and whether Avro's reader may take a value for one of another type."""
        return spelled(self._types[schema.id]), _confuses_reader(schema.text)

    def parsed(self, body: Column, number: Column, schemas: Sequence[RegisteredSchema]) -> Column:
        """A struct of the value and of the bytes after it."""
        from pyspark.sql import functions as F
        from pyspark.sql import types as t
        from pyspark.sql.avro.functions import from_avro

        own = spark_type(self._types[schemas[0].id])
        kind = t.StructType([t.StructField("value", own), t.StructField("end", t.BinaryType())])
        column: Any = F
        for schema in schemas:
            # Spark names the alternatives of a union by their position, by which a cast maps them.
            whole, written = F.concat(body, F.lit(_END)), _with_end(schema.text)
            options = {"mode": "PERMISSIVE", **_exact(written)}
            value = from_avro(whole, written, options).cast(kind)
            # CASE is lazy: this decoder sees only the rows of its id.
            column = column.when(number == schema.id, value)
        result: Column = column
        return result

    def is_whole(self, parsed: Column, schema: RegisteredSchema) -> Column:
        """Whether the bytes after the value are those appended; Spark reads a malformed record as nulls."""
        from pyspark.sql import functions as F

        return F.lit(False) if _confuses_reader(schema.text) else parsed["end"] == F.lit(_END)

    def value(self, parsed: Column, schema: RegisteredSchema) -> Column:  # noqa: ARG002
        """The value."""
        return parsed["value"]

    def problem(self, body: Column, number: Column, schema: RegisteredSchema) -> Column:  # noqa: ARG002
        """Avro's encoding has no names or types, so that nothing more is known."""
        from pyspark.sql import functions as F

        if _confuses_reader(schema.text):
            reason = " has a union of fixed types of the same size, which Avro's reader in Spark confuses"
            return F.concat(F.lit("the Avro schema of id "), number.cast("string"), F.lit(reason))
        return F.concat(F.lit("its bytes do not match the Avro schema of id "), number.cast("string"))


def _exact(schema: str) -> dict[str, str]:
    """The option that makes Avro read arrays of doubles with all of their digits.

    Avro 1.12.0, which is Spark 4.0's, makes each element a float on its way (AVRO-4110), unless it may be
    null. To read a schema as another one costs time, so this is for schemas with such arrays.
    """
    written = json.loads(schema)
    read = _with_optional_doubles(written)
    return {} if read == written else {"avroSchema": json.dumps(read)}


def _with_optional_doubles(schema: Any) -> Any:
    """The schema, in whose arrays a double may be null."""
    if isinstance(schema, list):
        return [_with_optional_doubles(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    result = {
        name: _with_optional_doubles(part) if name in ("type", "fields", "items", "values") else part
        for name, part in schema.items()
    }
    if result.get("type") == "array" and _is_double(result.get("items")):
        result["items"] = ["null", "double"]
    return result


def _is_double(schema: Any) -> bool:
    return schema == "double" or (isinstance(schema, dict) and _is_double(schema.get("type")))


@lru_cache(maxsize=1024)
def _confuses_reader(schema: str) -> bool:
    """Whether Avro's reader may take a value for one of another type; each step asks several times."""
    return _is_confused(json.loads(schema), {})


def _is_confused(schema: Any, sizes: dict[str, int]) -> bool:
    """Whether two alternatives of a union are fixed types of the same size.

    Avro's `GenericData.createFixed` reuses the previous record's value if it has the same size, and with it
    that value's type: the union's value would be in the column of another alternative.

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


def _with_end(schema: str) -> str:
    """A record of a value and the bytes of `_END`."""
    fields = [
        {"name": "value", "type": json.loads(schema)},
        {"name": "end", "type": {"type": "fixed", "name": "_End", "size": len(_END)}},
    ]
    return json.dumps({"type": "record", "name": "_Whole", "fields": fields})
