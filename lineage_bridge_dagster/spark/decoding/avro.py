"""Avro records in Confluent's wire format, decoded by Spark.

A topic's records may have several schema versions. Each record is decoded with its writer's schema alone, and
its fields are then put into the type that holds those of all versions. So a row does not depend on the
versions that were registered after its record, and a field that its version lacks is null, whatever default
a later version gives it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pyiceberg.types import IcebergType

from lineage_bridge_dagster.schemas.avro import avro_type
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema
from lineage_bridge_dagster.schemas.types import MAX_PRECISION, spelled
from lineage_bridge_dagster.spark.decoding.avro_schemas import (
    as_read,
    confuses_reader,
    with_optional_doubles,
)
from lineage_bridge_dagster.spark.decoding.faults import ValueFault, any_of, faults
from lineage_bridge_dagster.spark.decoding.spark_types import conformed, spark_type
from lineage_bridge_dagster.spark.decoding.versions import Format

if TYPE_CHECKING:
    from pyspark.sql import Column

#: Follows each body, to tell that the schema accounts for all of its bytes. It does not overlap with itself.
_END = bytes.fromhex("8d1f6cb3e24a597ed0c83b95f7a2610e")


class AvroFormat(Format):
    """Bodies in Avro's binary encoding.

    Args:
        types: schema id -> the schema's own type.
    """

    def __init__(self, types: Mapping[int, IcebergType]) -> None:
        self._types = types

    def shape(self, schema: RegisteredSchema) -> tuple[str, str, bool]:
        """The schema's own type, the one it is read as, and whether Avro's reader may confuse its values."""
        own, read = spelled(self._types[schema.id]), spelled(_type_as_read(schema.text))
        return own, read, confuses_reader(schema.text)

    def parsed(self, body: Column, number: Column, schemas: Sequence[RegisteredSchema]) -> Column:
        """A struct of the value and of the bytes after it."""
        from pyspark.sql import functions as F
        from pyspark.sql import types as t
        from pyspark.sql.avro.functions import from_avro

        read = spark_type(_type_as_read(schemas[0].text))
        kind = t.StructType([t.StructField("value", read), t.StructField("end", t.BinaryType())])
        column: Any = F
        for schema in schemas:
            # Spark names the alternatives of a union by their position, by which a cast maps them.
            whole, written = F.concat(body, F.lit(_END)), _with_end(as_read(schema.text))
            options = {"mode": "PERMISSIVE", **_exact(written)}
            value = from_avro(whole, written, options).cast(kind)
            # CASE is lazy: this decoder sees only the rows of its id.
            column = column.when(number == schema.id, value)
        result: Column = column
        return result

    def is_whole(self, parsed: Column, schema: RegisteredSchema) -> Column:
        """Whether the bytes after the value are those appended; Spark reads a malformed record as nulls."""
        from pyspark.sql import functions as F

        if confuses_reader(schema.text):
            return F.lit(False)
        return (parsed["end"] == F.lit(_END)) & ~any_of(self._faults(parsed, schema))

    def value(self, parsed: Column, schema: RegisteredSchema) -> Column:
        """The value."""
        return conformed(parsed["value"], _type_as_read(schema.text), self._types[schema.id])

    def problem(self, parsed: Column, body: Column, number: Column, schema: RegisteredSchema) -> Column:  # noqa: ARG002
        """The field that no column can hold; Avro's encoding has no names or types to say more."""
        from pyspark.sql import functions as F

        if confuses_reader(schema.text):
            reason = " has a union of fixed types of the same size, which Avro's reader in Spark confuses"
            return F.concat(F.lit("the Avro schema of id "), number.cast("string"), F.lit(reason))
        of = F.concat(F.lit(", by the Avro schema of id "), number.cast("string"))
        found = [F.when(each.found, F.concat(F.lit(each.told), of)) for each in self._faults(parsed, schema)]
        rest = f", or a decimal has over {MAX_PRECISION} digits" if '"decimal"' in schema.text else ""
        unknown = F.concat(
            F.lit("its bytes do not match the Avro schema of id "), number.cast("string"), F.lit(rest)
        )
        return F.coalesce(*found, unknown)

    def _faults(self, parsed: Column, schema: RegisteredSchema) -> Iterator[ValueFault]:
        return faults(parsed["value"], _type_as_read(schema.text), self._types[schema.id])


@lru_cache(maxsize=1024)
def _type_as_read(text: str) -> IcebergType:
    """The type of what Spark reads; each step asks several times."""
    return avro_type(as_read(text), entries=True)[0]


def _exact(schema: str) -> dict[str, str]:
    """The option that makes Avro read arrays of doubles with all of their digits.

    To read a schema as another one costs time, so this is for schemas with such arrays.
    """
    read = with_optional_doubles(schema)
    return {} if read == schema else {"avroSchema": read}


def _with_end(schema: str) -> str:
    """A record of a value and the bytes of `_END`."""
    fields = [
        {"name": "value", "type": json.loads(schema)},
        {"name": "end", "type": {"type": "fixed", "name": "_End", "size": len(_END)}},
    ]
    return json.dumps({"type": "record", "name": "_Whole", "fields": fields})
