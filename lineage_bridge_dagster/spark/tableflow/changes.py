"""The change that each record makes to a table by key: its row, or its deletion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lineage_bridge_dagster.dead_letters.letter import MISSING_KEY, UNDECODABLE_VALUE
from lineage_bridge_dagster.iceberg import quoted
from lineage_bridge_dagster.spark.tableflow.columns import ERROR, refused
from lineage_bridge_dagster.spark.tableflow.config import Mode, SuspendedError
from lineage_bridge_dagster.topics import debezium

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from lineage_bridge_dagster.spark.decoding.decoder import Decoder

#: The boolean column that is true on records that delete their key.
DELETED = "_deleted"

#: Longer keys are compared by their SHA-256.
KEY_BYTES = 256

#: Operations of Debezium's envelope that have the row after them.
_WRITES = ("c", "r", "u")


def with_changes(frame: DataFrame, topic: str, mode: Mode, key: Decoder) -> DataFrame:
    """Decoded records with `_deleted`, and `_value` as the row; appends are as they are.

    Records that change no key get an `_error`.

    Args:
        frame: the records.
        topic: its name.
        mode: of the table.
        key: what decoded the keys.

    Raises:
        SuspendedError: the values of a Debezium topic are no envelopes.
    """
    from pyspark.sql import functions as F

    if mode == "append":
        return frame
    no_key = F.when(F.col("key").isNull(), F.lit(f"it has no key, which mode {mode} needs"))
    # JSON may lack what its schema requires, and the columns that identify a row hold no null.
    no_key = no_key.when(F.col("_key").isNull(), F.lit(f"its key is null, which mode {mode} does not permit"))
    for name in key.required:
        message = f"its key has no field {name}, which the key's schema requires"
        no_key = no_key.when(F.col(quoted("_key", name)).isNull(), F.lit(message))
    frame = refused(frame, no_key, MISSING_KEY)
    if mode == "upsert":
        return frame.withColumn(DELETED, F.col("value").isNull())
    return _debezium(frame, topic)


def latest(frame: DataFrame, keys: Sequence[Column]) -> DataFrame:
    """The last record of each key in its partition."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    last = Window.partitionBy("partition", *keys).orderBy(F.col("offset").desc())
    return frame.withColumn("_rank", F.row_number().over(last)).where("_rank = 1").drop("_rank")


def compared(column: str, kind: DataType) -> str:
    """A key's column as it is compared, in SQL: long texts and bytes by their SHA-256."""
    from pyspark.sql.types import BinaryType, StringType

    if isinstance(kind, StringType):
        return f"if(octet_length({column}) > {KEY_BYTES}, sha2({column}, 256), {column})"
    if isinstance(kind, BinaryType):
        return f"if(octet_length({column}) > {KEY_BYTES}, unhex(sha2({column}, 256)), {column})"
    return column


def _debezium(frame: DataFrame, topic: str) -> DataFrame:
    """The after-state of Debezium's envelopes, or of those that `ExtractNewRecordState` has flattened.

    An envelope has `op`: `c` (create), `r` (read by a snapshot) and `u` (update) have the row in `after`, `d`
    (delete) has none; `t` (truncate) and `m` (message) are of no key. A flattened record is the row, with
    `__deleted` if its deletions are rewritten. A tombstone deletes, as it may be all that compaction left.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    kind = frame.schema["_value"].dataType
    fields = {f.name: f.dataType for f in kind.fields} if isinstance(kind, StructType) else {}
    shape = debezium.shape_of({name: isinstance(each, StructType) for name, each in fields.items()})
    tombstone = F.col("value").isNull()
    if shape is debezium.Shape.ENVELOPE:
        op, after = F.col(quoted("_value", debezium.OP)), F.col(quoted("_value", debezium.AFTER))
        error = F.when(
            ~tombstone & F.col(ERROR).isNull(),
            F.when(~F.coalesce(op.isin(*_WRITES, "d"), F.lit(False)), _unsupported(op)).when(
                (op != "d") & after.isNull(), F.concat(F.lit("it has no after-state, and its op is "), op)
            ),
        )
        deleted, value = tombstone | F.coalesce(op == "d", F.lit(False)), after
    elif shape is debezium.Shape.FLATTENED:
        flag, error, value = F.lit(False), F.lit(None).cast("string"), F.col("_value")
        if debezium.DELETED in fields:
            own = F.col(quoted("_value", debezium.DELETED))
            flag = flag | F.coalesce(own.cast("boolean"), F.lit(False))
            value = value.dropFields(quoted(debezium.DELETED))
        if debezium.FLAT_OP in fields:
            flag = flag | F.coalesce(F.col(quoted("_value", debezium.FLAT_OP)) == "d", F.lit(False))
        deleted = tombstone | flag
    else:
        message, hint = debezium.not_debezium(topic)
        raise SuspendedError(message, hint=hint)
    return refused(frame, error, UNDECODABLE_VALUE).withColumns({DELETED: deleted, "_value": value})


def _unsupported(op: Column) -> Column:
    from pyspark.sql import functions as F

    text = F.coalesce(op.cast("string"), F.lit("(none)"))
    return F.concat(F.lit("its op is "), text, F.lit(", which changes no single row"))
