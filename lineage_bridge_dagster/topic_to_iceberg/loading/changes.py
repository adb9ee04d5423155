"""The change that each record makes to a table by key: its row, or its deletion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.schemas import debezium
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import MISSING_KEY, UNDECODABLE_VALUE
from lineage_bridge_dagster.topic_to_iceberg.loading.columns import ERROR, refused
from lineage_bridge_dagster.topic_to_iceberg.loading.model import SuspendedError
from lineage_bridge_dagster.topic_to_iceberg.loading.unavailable import UNAVAILABLE
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from lineage_bridge_dagster.spark.decoding.decoder import Decoder

#: The boolean column that is true on records that delete their key.
DELETED = "_deleted"
#: The boolean column that is true on records that delete all rows before them.
TRUNCATED = "_truncated"
#: Why a record stops a table that does not apply truncations.
TRUNCATION = (
    "it is Debezium's truncate event (op t): the source table was emptied, and this one still has the rows"
)
_PROBLEM = "_problem"

#: Longer keys are compared by their SHA-256.
KEY_BYTES = 256

#: Types of most keys -> a value of theirs, in SQL.
_INSTEAD_OF_NULL = {"int": "0", "bigint": "0L", "string": "''", "binary": "X''"}

#: Operations of Debezium's envelope that have the row after them.
_WRITES = ("c", "r", "u")


def with_changes(frame: DataFrame, topic: str, config: TopicLoad, key: Decoder) -> DataFrame:
    """Decoded records with `_deleted`, and `_value` as the row; appends are as they are.

    Records that change no key get an `_error`. Truncations that are to be applied are `_truncated` instead.

    Raises:
        SuspendedError: the values of a Debezium topic are not envelopes.
    """
    from pyspark.sql import functions as F

    mode = config.mode
    if mode == "append":
        return frame
    if mode == "upsert":
        none = {_PROBLEM: F.lit(None).cast("string"), TRUNCATED: F.lit(False)}
        frame = frame.withColumns({DELETED: F.col("value").isNull(), **none})
    else:
        frame = _debezium(frame, topic)
    truncation = F.lit(config.truncations != "apply") & F.col(TRUNCATED)
    frame = refused(frame, F.when(truncation, F.lit(TRUNCATION)), UNDECODABLE_VALUE)
    no_key = F.when(F.col("key").isNull(), F.lit(f"it has no key, which mode {mode} needs"))
    # JSON may lack what its schema requires, and the columns that identify a row hold no null.
    no_key = no_key.when(F.col("_key").isNull(), F.lit(f"its key is null, which mode {mode} does not permit"))
    for name in key.required:
        message = f"its key has no field {name}, which the key's schema requires"
        no_key = no_key.when(F.col(quoted("_key", name)).isNull(), F.lit(message))
    frame = refused(frame, F.when(~F.col(TRUNCATED), no_key), MISSING_KEY)
    return refused(frame, F.col(_PROBLEM), UNDECODABLE_VALUE).drop(_PROBLEM)


def truncated_at(judged: DataFrame) -> Mapping[int, int]:
    """The offset of the last truncation in each partition that has one."""
    from pyspark.sql import functions as F

    found = judged.where(F.col(TRUNCATED)).groupBy("partition").agg(F.max("offset").alias("offset")).collect()
    return {int(row["partition"]): int(row["offset"]) for row in found}


def latest(frame: DataFrame, keys: Sequence[str], kept: Sequence[str] = ()) -> DataFrame:
    """The last record of each key in its partition.

    Args:
        keys: the columns that identify a row besides the partition.
        kept: fields of `_value` with a flag in `_unavailable`. The last value that was available takes the
            place of one that is not, and lowers its flag.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    # The key first: Spark sorts by the first bytes of the first column, and by whole rows where they agree.
    last = Window.partitionBy(*map(quoted, keys), "partition").orderBy(F.col("offset").desc())
    columns = {"_rank": F.row_number().over(last)}
    every = last.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    for number, name in enumerate(kept):
        # Within a struct, as a value that is available may be null. A key that was deleted has no values.
        value = F.struct(F.when(~F.col(DELETED), F.col(quoted("_value", name))).alias("value"))
        known = F.when(F.col(DELETED) | ~F.col(quoted(UNAVAILABLE, name)), value)
        columns[f"_known_{number}"] = F.first(known, ignorenulls=True).over(every)
    frame = frame.withColumns(columns).where("_rank = 1")
    if kept:
        row = F.col("_value")
        for number, name in enumerate(kept):
            row = row.withField(quoted(name), F.col(f"_known_{number}")["value"])
        flags = [F.col(f"_known_{number}").isNull().alias(name) for number, name in enumerate(kept)]
        frame = frame.withColumns({"_value": row, UNAVAILABLE: F.struct(*flags)})
    return frame.drop(*columns)


def compared(column: str, kind: DataType, *, nullable: bool) -> tuple[str, ...]:
    """What keys of a type are equal by, in SQL and never null; nothing for a type that is compared as it is.

    Long texts and bytes are compared by their SHA-256. Spark finds equal values among those that cannot be
    null by the very columns that it has brought the records of a key together by.
    """
    name = kind.simpleString()
    if (instead := _INSTEAD_OF_NULL.get(name)) is None:
        return ()
    found = column
    if name in ("string", "binary"):
        digest = f"sha2({column}, 256)" if name == "string" else f"unhex(sha2({column}, 256))"
        found = f"if(octet_length({column}) > {KEY_BYTES}, {digest}, {column})"
    return (f"coalesce({found}, {instead})", f"isnull({column})") if nullable else (found,)


def _debezium(frame: DataFrame, topic: str) -> DataFrame:
    """The after-state of Debezium's envelopes, or of those that `ExtractNewRecordState` has flattened.

    An envelope has `op`: `c` (create), `r` (read by a snapshot) and `u` (update) have the row in `after`, `d`
    (delete) has none; `t` (truncate) is of all keys, `m` (message) of none. A flattened record is the row,
    with `__deleted` if its deletions are rewritten. A tombstone deletes, as it may be all that compaction
    left.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    kind = frame.schema["_value"].dataType
    fields = {f.name: f.dataType for f in kind.fields} if isinstance(kind, StructType) else {}
    shape = debezium.shape_of({name: isinstance(each, StructType) for name, each in fields.items()})
    tombstone, truncated = F.col("value").isNull(), F.lit(False)
    if shape is debezium.Shape.ENVELOPE:
        op, after = F.col(quoted("_value", debezium.OP)), F.col(quoted("_value", debezium.AFTER))
        truncated = F.coalesce(op == "t", F.lit(False))
        error = F.when(
            ~tombstone & ~truncated & F.col(ERROR).isNull(),
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
            op = F.col(quoted("_value", debezium.FLAT_OP))
            flag = flag | F.coalesce(op == "d", F.lit(False))
            truncated = F.coalesce(op == "t", F.lit(False))
        deleted = tombstone | flag
    else:
        message, hint = debezium.not_debezium(topic)
        raise SuspendedError(message, hint=hint)
    return frame.withColumns({DELETED: deleted, "_value": value, _PROBLEM: error, TRUNCATED: truncated})


def _unsupported(op: Column) -> Column:
    from pyspark.sql import functions as F

    text = F.coalesce(op.cast("string"), F.lit("(none)"))
    return F.concat(F.lit("its op is "), text, F.lit(", which changes no single row"))
