"""Avro records in Confluent's wire format, decoded by Spark.

A topic's records may have several schema versions. Each record is decoded with its writer's schema alone, and
its fields are then put into the type that holds those of all versions. So a row does not depend on the
versions that were registered after its record, and a field that its version lacks is null, whatever default
a later version gives it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pyiceberg.types import IcebergType

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.decoding.spark_types import spark_type
from lineage_bridge_dagster.topics.schemas import RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.topics.types import spelled

if TYPE_CHECKING:
    from pyspark.sql import Column

HEADER_BYTES = 5

Corrupt = Literal["FAILFAST", "PERMISSIVE"]

#: Follows each body, to tell that the schema accounts for all of its bytes. It does not overlap with itself.
_END = bytes.fromhex("8d1f6cb3e24a597ed0c83b95f7a2610e")


class AvroFormat:
    """Bodies in Avro's binary encoding.

    Args:
        types: schema id -> the schema's own type.
    """

    def __init__(self, types: Mapping[int, IcebergType]) -> None:
        self._types = types

    def shape(self, schema: RegisteredSchema) -> str:
        """The schema's own type."""
        return spelled(self._types[schema.id])

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
            whole = F.concat(body, F.lit(_END))
            value = from_avro(whole, _with_end(schema.text), {"mode": "PERMISSIVE"}).cast(kind)
            # CASE is lazy: this decoder sees only the rows of its id.
            column = column.when(number == schema.id, value)
        result: Column = column
        return result

    def is_whole(self, parsed: Column, schema: RegisteredSchema) -> Column:  # noqa: ARG002
        """Whether the bytes after the value are those appended; Spark reads a malformed record as nulls."""
        from pyspark.sql import functions as F

        return parsed["end"] == F.lit(_END)

    def value(self, parsed: Column, schema: RegisteredSchema) -> Column:  # noqa: ARG002
        """The value."""
        return parsed["value"]

    def problem(self, body: Column, number: Column, schema: RegisteredSchema) -> Column:  # noqa: ARG002
        """Avro's encoding has no names or types, so that nothing more is known."""
        from pyspark.sql import functions as F

        return F.concat(F.lit("its bytes do not match the Avro schema of id "), number.cast("string"))


def _with_end(schema: str) -> str:
    """A record of a value and the bytes of `_END`."""
    fields = [
        {"name": "value", "type": json.loads(schema)},
        {"name": "end", "type": {"type": "fixed", "name": "_End", "size": len(_END)}},
    ]
    return json.dumps({"type": "record", "name": "_Whole", "fields": fields})


def _is_record(schema: str) -> bool:
    parsed = json.loads(schema)
    return isinstance(parsed, dict) and parsed.get("type") == "record"


def schema_id(payload: Column) -> Column:
    """The schema id in a payload's header; null for a payload without a header."""
    from pyspark.sql import functions as F

    framed = (F.length(payload) >= HEADER_BYTES) & (F.hex(F.substring(payload, 1, 1)) == "00")
    number = F.conv(F.hex(F.substring(payload, 2, 4)), 16, 10).cast("int")
    return F.when(framed, number)


def decoded(payload: Column, schemas: SubjectSchemas, *, corrupt: Corrupt = "FAILFAST") -> Column:
    """Decode a payload to the reader schema's type; null for a schema id that the subject lacks.

    Args:
        payload: the bytes in the topic.
        schemas: schemas of the topic's subject.
        corrupt: what to do with bytes that do not match their schema: `FAILFAST` fails the query,
            `PERMISSIVE` returns null, which goes unnoticed unless counted.

    Raises:
        LineageBridgeError: the subject has no Avro schema.
    """
    from pyspark.sql import functions as F

    if schemas.reader is None:
        raise LineageBridgeError(
            f"Subject {schemas.subject} has no Avro schema.",
            hint="Read the raw bytes, or register an Avro schema for the topic's values.",
        )
    number = schema_id(payload)
    body = payload.substr(F.lit(HEADER_BYTES + 1), F.length(payload) - HEADER_BYTES)
    column: Any = F
    for writer_id, writer in sorted(schemas.writers.items()):
        # CASE is lazy: this decoder, which would fail on other schemas' bytes, sees only rows of its id.
        value = _read(body, writer, schemas.reader, corrupt)
        column = column.when(number == writer_id, value)
    result: Column = column
    return result


def _read(body: Column, writer: str, reader: str, corrupt: Corrupt) -> Column:
    """Decode a body; null for one that does not match its schema, unless that fails the query.

    In place of a record that it cannot read, Spark returns one whose fields are all null. A body may be such
    a record, so it is then read again as an array of one, in place of which Spark returns null.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import from_avro

    value = from_avro(body, writer, {"avroSchema": reader, "mode": corrupt})
    if corrupt == "FAILFAST" or not _is_record(reader):
        return value
    # A block of one item, and the empty block that ends an array.
    array = F.concat(F.lit(b"\x02"), body, F.lit(b"\x00"))
    options = {"avroSchema": _array_of(reader), "mode": corrupt}
    unread = from_avro(array, _array_of(writer), options).isNull()
    for field_ in json.loads(reader)["fields"]:
        unread = value.getField(field_["name"]).isNull() & unread
    return F.when(~unread, value)


def _array_of(schema: str) -> str:
    return json.dumps({"type": "array", "items": json.loads(schema)})


def unknown_id(payload: Column, schemas: SubjectSchemas) -> Column:
    """Whether a non-null payload cannot be decoded, because its header or its schema is missing."""
    from pyspark.sql import functions as F

    number = schema_id(payload)
    known = number.isin(*schemas.writers) if schemas.writers else F.lit(False)
    return payload.isNotNull() & ~F.coalesce(known, F.lit(False))
