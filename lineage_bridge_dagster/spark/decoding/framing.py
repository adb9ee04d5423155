"""Confluent's wire format: which schema a record was written with, and where its body begins.

Sources: Confluent's page "Formats, Serializers, and Deserializers" for a zero byte and four bytes of schema
id before the body; its clients' `SchemaId` for the header `__key_schema_id` or `__value_schema_id`, which
has a one byte and the 16 bytes of the schema's GUID (or a zero byte and the id; for Protobuf, indexes of the
message follow). A record with that header is a body alone. The header is looked at first, as by the
clients' default deserializer.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from lineage_bridge_dagster.schemas.schemas import SubjectSchemas

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PREFIX_BYTES = 5
_GUID_BYTES = 17
_REST = 0x7FFFFFFF


def framed(records: DataFrame, side: Literal["key", "value"], subject: SubjectSchemas) -> DataFrame:
    """Add `_{side}_id`, `_{side}_body` and `_{side}_error`.

    The id is that of a version of the subject; null, with an error, if the payload names no such version. All
    three are null for a null payload.
    """
    from pyspark.sql import functions as F

    payload = F.col(side)
    ids = {prefix_of(schema.id): schema.id for schema in subject.versions}
    number = _known(F.substring(payload, 1, PREFIX_BYTES), ids)
    body = F.substring(payload, PREFIX_BYTES + 1, _REST)
    error = _unframed(payload, subject.subject)
    if has_headers := "headers" in records.columns:
        # A column of its own, as it is used many times.
        records = records.withColumn(f"_{side}_header", _header(F.col("headers"), f"__{side}_schema_id"))
        header = F.col(f"_{side}_header")
        guids = {_guid_prefix(schema.guid): schema.id for schema in subject.versions if schema.guid}
        by_id = F.substring(header, 1, 1) == F.lit(b"\0")
        named = F.when(by_id, _known(F.substring(header, 1, PREFIX_BYTES), ids))
        named = named.otherwise(_known(F.substring(header, 1, _GUID_BYTES), guids))
        number = F.when(header.isNull(), number).otherwise(named)
        indexes = F.substring(
            header, F.when(by_id, PREFIX_BYTES + 1).otherwise(_GUID_BYTES + 1), F.lit(_REST)
        )
        body = F.when(header.isNull(), body).otherwise(F.concat(indexes, payload))
        unknown = F.concat(
            F.lit(f"its header __{side}_schema_id names the schema 0x"),
            F.hex(F.substring(header, 2, _GUID_BYTES - 1)),
            F.lit(f", which is not registered under subject {subject.subject}"),
        )
        error = F.when(header.isNull(), error).otherwise(unknown)
    frame = records.withColumns(
        {
            f"_{side}_id": number,
            f"_{side}_body": F.when(number.isNotNull(), body),
            f"_{side}_error": F.when(payload.isNotNull() & number.isNull(), error),
        }
    )
    return frame.drop(f"_{side}_header") if has_headers else frame


def schema_id(payload: Column) -> Column:
    """The schema id that a payload begins with; null without one."""
    from pyspark.sql import functions as F

    # Ids over the highest int are not ids.
    return F.when(_is_framed(payload), F.conv(F.hex(F.substring(payload, 2, 4)), 16, 10).try_cast("int"))


def is_of(payload: Column, subject: SubjectSchemas) -> Column:
    """Whether a payload begins with the schema id of a version of a subject."""
    from pyspark.sql import functions as F

    prefixes = [F.lit(prefix_of(schema.id)) for schema in subject.versions]
    return F.substring(payload, 1, PREFIX_BYTES).isin(*prefixes)


def prefix_of(schema_id: int) -> bytes:
    """What a payload of a schema begins with."""
    return struct.pack(">bI", 0, schema_id)


def _guid_prefix(guid: str) -> bytes:
    return b"\1" + bytes.fromhex(guid.replace("-", ""))


def _known(prefix: Column, ids: Mapping[bytes, int]) -> Column:
    from pyspark.sql import functions as F

    result = F.lit(None).cast("bigint")
    for known, number in ids.items():
        result = F.when(prefix == F.lit(known), F.lit(number).cast("bigint")).otherwise(result)
    return result


def _is_framed(payload: Column) -> Column:
    from pyspark.sql import functions as F

    return (F.length(payload) >= PREFIX_BYTES) & (F.substring(payload, 1, 1) == F.lit(b"\0"))


def _unframed(payload: Column, subject: str) -> Column:
    """Why a payload that names no version of the subject cannot be decoded."""
    from pyspark.sql import functions as F

    number = F.conv(F.hex(F.substring(payload, 2, 4)), 16, 10)
    start = F.hex(F.substring(payload, 1, PREFIX_BYTES))
    unknown = F.concat(F.lit("its schema id "), number, F.lit(f" is not registered under subject {subject}"))
    unframed = F.concat(
        F.lit("it begins with 0x"), start, F.lit(", not with a zero byte and a schema id of four bytes")
    )
    return (
        F.when(_is_framed(payload), unknown)
        .when(F.length(payload) == 0, F.lit("it is empty"))
        .otherwise(unframed)
    )


def _header(headers: Column, name: str) -> Column:
    """The last header of a name, as Kafka's `Headers.lastHeader` has it; null if there is none."""
    from pyspark.sql import functions as F

    # Not `filter`: Spark cannot compile a function with a lambda into one loop with the steps around it, and
    # copies each record before and after it.
    position = F.array_position(F.reverse(headers["key"]), name).cast("int")
    found = F.try_element_at(headers["value"], -F.nullif(position, F.lit(0)))
    return F.when(F.size(headers) > 0, found)
