"""Decoders of keys and values: bytes in a topic -> columns, or a reason why not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, Protocol

from lineage_bridge_dagster.schemas.columns import value_type
from lineage_bridge_dagster.schemas.schemas import JSON, PROTOBUF, SubjectSchemas
from lineage_bridge_dagster.spark.decoding.avro import AvroFormat
from lineage_bridge_dagster.spark.decoding.json import JsonFormat
from lineage_bridge_dagster.spark.decoding.protobuf import ProtobufDecoder
from lineage_bridge_dagster.spark.decoding.versions import Format, VersionedDecoder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

Side = Literal["key", "value"]


class Decoder(Protocol):
    """Decodes the keys or the values of a topic.

    Attributes:
        type: Spark's type of a decoded key or value; None if there is no schema: the bytes are the column.
        is_record: whether its fields become columns; else the value is one column.
        required: the fields of a record, if none of them may be null; else none.
    """

    @property
    def type(self) -> DataType | None: ...

    @property
    def is_record(self) -> bool: ...

    @property
    def required(self) -> tuple[str, ...]: ...

    def decode(self, records: DataFrame, side: Side) -> DataFrame:
        """Add the columns `_{side}` and `_{side}_error`.

        `_{side}` is the decoded key or value: null for a null payload or one that cannot be decoded.
        `_{side}_error` says why it cannot be decoded: null if it can, or if the payload is null.

        Args:
            records: in the columns of Spark's Kafka source; `headers` may be absent.
            side: which of them to decode.
        """


@dataclass(frozen=True)
class BytesDecoder:
    """Leaves the bytes of a topic without a schema as they are."""

    type: DataType | None = None
    is_record: bool = False
    required: tuple[str, ...] = ()

    def decode(self, records: DataFrame, side: Side) -> DataFrame:
        """Add the bytes themselves, and never an error."""
        from pyspark.sql import functions as F

        return records.withColumns({f"_{side}": F.col(side), f"_{side}_error": F.lit(None).cast("string")})


@lru_cache(maxsize=1000)
def decoder_for(subject: SubjectSchemas) -> Decoder:
    """The decoder of a subject's records, by the type of its latest version; planned once for all batches.

    Raises:
        SchemaError: no table can hold the values of the latest version.
    """
    value, latest = value_type(subject), subject.latest
    if value is None or latest is None:
        return BytesDecoder()
    if latest.type == PROTOBUF:
        return ProtobufDecoder(subject, value)
    format_: Format = AvroFormat(value.versions)
    if latest.type == JSON:
        schemas = [schema for schema in subject.versions if schema.id in value.versions]
        format_ = JsonFormat(schemas, value.promoted)
    return VersionedDecoder(subject, value, format_)
