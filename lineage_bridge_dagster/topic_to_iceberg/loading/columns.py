"""The columns of a topic's table, from the records of Spark's Kafka source.

They are the key's fields (or `key`, the bytes, for a key without a schema), the value's fields, then
Tableflow's metadata columns. Sources: the OpenAPI's `metadata_column_naming_scheme` for the two ways to name
metadata columns, Confluent's pages on Tableflow's schemas and write modes for the rest. Spark does not expose
a record's leader epoch, so that column is null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from pyiceberg.types import StructType

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.schemas import debezium
from lineage_bridge_dagster.schemas.columns import metadata_columns, metadata_name, table_schema, value_type
from lineage_bridge_dagster.schemas.errors import SchemaError
from lineage_bridge_dagster.spark.decoding.decoder import Decoder, decoder_for
from lineage_bridge_dagster.spark.decoding.framing import schema_id
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import UNDECODABLE_KEY, UNDECODABLE_VALUE
from lineage_bridge_dagster.topic_to_iceberg.loading.model import SuspendedError, TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: Columns of judged records: why one cannot be a row, in words and as a kind of dead letter (null if it can),
#: and the schema ids of its key and its value.
ERROR, KIND = "_error", "_kind"
SCHEMA_IDS = ("_key_schema_id", "_value_schema_id")

_UNDECODABLE = "undecodable: "


@dataclass(frozen=True, slots=True)
class Decoders:
    """The decoders of a topic's keys and values.

    Attributes:
        placeholder: what Debezium writes for a value that it did not get; None if the values are not its own.
    """

    key: Decoder
    value: Decoder
    placeholder: bytes | None = None

    @classmethod
    def of_table(cls, schemas: TopicSchemas, config: TopicLoad) -> Self:
        """Raises SuspendedError if the table cannot hold what the schemas describe."""
        names = {"portable": config.portable_names, "raw": config.raw_columns}
        try:
            table_schema(schemas.key, schemas.value, config.mode, **names)
            decoders = decoder_for(schemas.key), decoder_for(schemas.value)
        except SchemaError as error:
            raise SuspendedError(f"{config.name}: {error.message}", hint=error.hint) from error
        return cls(*decoders, _placeholder(schemas, config))


def _placeholder(schemas: TopicSchemas, config: TopicLoad) -> bytes | None:
    """What stands for a value that Debezium did not get, if the values are Debezium's."""
    if config.mode != "debezium" and not config.unavailable_value:
        found, latest = value_type(schemas.value), schemas.value.latest
        kind = found.type if found else None
        is_marked = isinstance(kind, StructType) and debezium.row_of(kind) is not None
        if latest is None or not (is_marked or debezium.is_debeziums(latest.text)):
            return None
    return debezium.placeholder(config.unavailable_value or debezium.PLACEHOLDER)


def with_decoded(records: DataFrame, decoders: Decoders) -> DataFrame:
    """Records with `_key`, `_value`, and what `ERROR` and its neighbours name."""
    from pyspark.sql import functions as F

    frame = decoders.value.decode(decoders.key.decode(records, "key"), "value")
    ids = {
        f"_{side}_schema_id": F.lit(None).cast("int") if decoder.type is None else schema_id(F.col(side))
        for side, decoder in (("key", decoders.key), ("value", decoders.value))
    }
    key, value = F.col("_key_error"), F.col("_value_error")
    reasons = [
        F.concat(F.lit(f"its {side} cannot be decoded: "), error)
        for side, error in (("key", key), ("value", value))
    ]
    text = F.when(key.isNotNull() | value.isNotNull(), F.concat_ws("; ", *reasons))
    kind = F.when(key.isNotNull(), UNDECODABLE_KEY).when(value.isNotNull(), UNDECODABLE_VALUE)
    return frame.withColumns({ERROR: text, KIND: kind, **ids})


def refused(frame: DataFrame, error: Column, kind: str) -> DataFrame:
    """Judge records further: those with an error that had none before are of this kind."""
    from pyspark.sql import functions as F

    first = F.when(F.col(ERROR).isNull() & error.isNotNull(), F.lit(kind)).otherwise(F.col(KIND))
    return frame.withColumns({KIND: first, ERROR: F.coalesce(F.col(ERROR), error)})


def good(frame: DataFrame, *, strict: bool) -> DataFrame:
    """The records that can be rows; if strict, the others fail the query with their place."""
    from pyspark.sql import functions as F

    error = F.col(ERROR)
    if not strict:
        return frame.where(error.isNull())
    message = F.concat(
        F.lit(f"{_UNDECODABLE}at partition "),
        F.col("partition").cast("string"),
        F.lit(" offset "),
        F.col("offset").cast("string"),
        F.lit(": "),
        error,
    )
    return frame.where(F.when(error.isNotNull(), F.raise_error(message).cast("boolean")).otherwise(True))


def undecodable(error: BaseException) -> str | None:
    """The message of a record that stopped a query that reads `good` records strictly."""
    text = str(error)
    if _UNDECODABLE in text:
        return text.partition(_UNDECODABLE)[2].splitlines()[0].split(" SQLSTATE")[0]
    return None


def key_columns(frame: DataFrame, decoder: Decoder) -> Mapping[str, Column]:
    """The columns of the record's key."""
    return _side(frame, "key", decoder)


def rows(
    frame: DataFrame, decoders: Decoders, *, portable: bool, raw: bool = True, key_wins: bool = False
) -> list[Column]:
    """The columns of the table, for records with `_key` and `_value`.

    Args:
        portable: whether metadata columns have portable names.
        raw: whether the bytes of key and value are among them.
        key_wins: whether a column that key and value have is the key's; else it is the value's.
    """
    key, value = _side(frame, "key", decoders.key), _side(frame, "value", decoders.value)
    columns = {**value, **key} if key_wins else {**key, **value}
    ordered = [columns[name].alias(name) for name in dict.fromkeys([*key, *value])]
    return [*ordered, *_metadata_columns(portable, raw=raw)]


def _side(frame: DataFrame, side: Literal["key", "value"], decoder: Decoder) -> Mapping[str, Column]:
    """The columns of a key or a value: its fields, or itself."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    kind = frame.schema[f"_{side}"].dataType
    if not decoder.is_record or not isinstance(kind, StructType):
        return {side: F.col(f"_{side}")}
    return {name: F.col(quoted(f"_{side}", name)) for name in kind.names}


def _metadata_columns(portable: bool, *, raw: bool) -> list[Column]:
    from pyspark.sql import functions as F

    kinds = F.array(F.lit("CREATE_TIME"), F.lit("LOG_APPEND_TIME"))
    found = {
        "topic": F.col("topic"),
        "partition": F.col("partition"),
        "headers": F.map_from_entries("headers"),
        "leader-epoch": F.lit(None).cast("int"),
        "offset": F.col("offset"),
        "timestamp": F.col("timestamp"),
        "timestamp-type": F.get(kinds, F.col("timestampType")),
        "raw-key": F.col("key"),
        "raw-value": F.col("value"),
    }
    values = {metadata_name(name, portable): column for name, column in found.items()}
    names = [each.name for each in metadata_columns(portable=portable, raw=raw)]
    return [values[name].alias(name) for name in names]
