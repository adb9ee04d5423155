"""What a batch of a slice changes in its table: each record beside the row that it has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.schemas.columns import metadata_name
from lineage_bridge_dagster.spark.kafka import Offsets
from lineage_bridge_dagster.topic_to_iceberg.loading.columns import ERROR
from lineage_bridge_dagster.topic_to_iceberg.loading.slices import SliceCounts, TimeSlice

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql import types as t

_CHANGE, _SLICE, _BYTES, _FOREIGN = "_change", "_slice", "_bytes", "_foreign"
_INSERT, _UPDATE, _DELETE, _SAME, _NO_ROW = "insert", "update", "delete", "same", "no row"


@dataclass(frozen=True, slots=True)
class SliceColumns:
    """The columns of the table that the topic has.

    Attributes:
        partition, offset, timestamp: the names of those that place a record.
        raw: the names of those with the bytes of its key and value, if the table has them.
    """

    kinds: t.StructType
    partition: str
    offset: str
    timestamp: str
    raw: tuple[str, ...]

    @classmethod
    def of(cls, kinds: t.StructType, *, portable: bool) -> Self:
        names = (metadata_name(each, portable) for each in ("raw-key", "raw-value"))
        raw = tuple(name for name in names if name in kinds.names)
        partition, offset, time = (
            metadata_name(each, portable) for each in ("partition", "offset", "timestamp")
        )
        return cls(kinds, partition, offset, time, raw)


@dataclass(frozen=True, slots=True)
class Changes:
    """What a batch changes.

    Attributes:
        changed: the rows to write and the places of those to delete, with `_change`.
        counts: by the number of the slice.
        records: how many records of the slices the batch has, with their `bytes` as the rows tell.
        ambiguous: partition and offset of a record that has two rows, or one with another time.
    """

    changed: DataFrame
    counts: Mapping[int, SliceCounts]
    records: int
    bytes: int
    ambiguous: tuple[int, int] | None = None

    @property
    def is_changed(self) -> bool:
        return any(each.changed for each in self.counts.values())


def changes(
    rows: DataFrame,
    rejected: DataFrame | None,
    table: DataFrame,
    columns: SliceColumns,
    offsets: tuple[Offsets, Offsets],
    slices: Sequence[TimeSlice],
) -> Changes:
    """Compare records with the rows that they have.

    Args:
        rows: of the records that can be rows, in `columns.kinds`.
        rejected: the `rejected_places` of the others; None if `rows` fails for such a record.
        offsets: start and end of the batch.
        slices: which follow one another.
    """
    from pyspark import StorageLevel
    from pyspark.sql import functions as F

    partition, offset, time = columns.partition, columns.offset, columns.timestamp
    records = rows.withColumn(_CHANGE, F.lit(_SAME))
    if rejected is not None:
        records = records.unionByName(rejected.withColumn(_CHANGE, F.lit(_DELETE)), allowMissingColumns=True)
    present = table.where(_within("", columns, offsets)).select(*map(quoted, columns.kinds.names))
    source, target = records.alias("s"), present.alias("t")
    joined = source.join(
        target,
        (F.col(quoted("s", partition)) == F.col(quoted("t", partition)))
        & (F.col(quoted("s", offset)) == F.col(quoted("t", offset))),
        "left",
    )
    has_row = F.col(quoted("t", partition)).isNotNull()
    is_rejected = F.col(_CHANGE) == _DELETE
    same = F.lit(True)
    for each in columns.kinds.fields:
        ours, theirs = (comparable(F.col(quoted(side, each.name)), each.dataType) for side in ("s", "t"))
        same = same & ours.eqNullSafe(theirs)
    change = (
        F.when(is_rejected, F.when(has_row, _DELETE).otherwise(_NO_ROW))
        .when(~has_row, _INSERT)
        .when(same, _SAME)
        .otherwise(_UPDATE)
    )
    foreign = has_row & ~F.col(quoted("s", time)).eqNullSafe(F.col(quoted("t", time)))
    judged = joined.select(
        *(F.col(quoted("s", name)) for name in columns.kinds.names),
        change.alias(_CHANGE),
        _number(F.col(quoted("s", time)), slices).alias(_SLICE),
        foreign.alias(_FOREIGN),
        _size(columns).alias(_BYTES),
    )
    place = (partition, offset)
    # Rows that stay as they are need no values: there are many of them, and nobody writes them.
    light = judged.select(
        *(
            F.col(quoted(name))
            if name in place
            else F.when(F.col(_CHANGE).isin(_INSERT, _UPDATE), F.col(quoted(name))).alias(name)
            for name in columns.kinds.names
        ),
        _CHANGE,
        _SLICE,
        _FOREIGN,
        _BYTES,
    )
    # Written to disk, and read from there by the counts and by MERGE, which takes nothing that might be other
    # rows when it is computed again. Spark frees it with the frame.
    light = light.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
    found = (
        light.groupBy(_SLICE, _CHANGE)
        .agg(F.count(F.lit(1)).alias("n"), F.sum(_BYTES).alias("bytes"))
        .collect()
    )
    return Changes(
        light.where(F.col(_CHANGE).isin(_INSERT, _UPDATE, _DELETE)).drop(_SLICE, _FOREIGN, _BYTES),
        _counts((row[_SLICE], row[_CHANGE], row["n"]) for row in found),
        sum(row["n"] for row in found),
        sum(row["bytes"] or 0 for row in found),
        _ambiguous(light, columns),
    )


def rejected_places(judged: DataFrame, columns: SliceColumns) -> DataFrame:
    """Where the records are that cannot be rows."""
    from pyspark.sql import functions as F

    names = {"partition": columns.partition, "offset": columns.offset, "timestamp": columns.timestamp}
    place = [F.col(name).alias(column) for name, column in names.items()]
    return judged.where(F.col(ERROR).isNotNull()).select(*place)


def merge_changes(target: str, source: str, columns: SliceColumns, offsets: tuple[Offsets, Offsets]) -> str:
    """The MERGE INTO statement of a batch's changes.

    Its condition names the batch's offsets: rows that others commit meanwhile with later ones do no harm.

    Args:
        target: the table's quoted name.
        source: the name of the view of the changes.
        offsets: start and end of the batch.
    """
    names = [quoted(name) for name in columns.kinds.names]
    key = " AND ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in (columns.partition, columns.offset))
    sets = ", ".join(f"t.{name} = s.{name}" for name in names)
    values = ", ".join(f"s.{name}" for name in names)
    return "\n".join(
        (
            f"MERGE INTO {target} t USING {source} s",
            f"ON {key} AND ({_within('t.', columns, offsets)})",
            f"WHEN MATCHED AND s.{_CHANGE} = '{_DELETE}' THEN DELETE",
            f"WHEN MATCHED THEN UPDATE SET {sets}",
            f"WHEN NOT MATCHED AND s.{_CHANGE} <> '{_DELETE}' THEN",
            f"INSERT ({', '.join(names)}) VALUES ({values})",  # noqa: S608 - all quoted
        )
    )


def comparable(column: Column, kind: t.DataType) -> Column:
    """A value that can be compared with another: maps, which Spark does not compare, as their entries."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, MapType, StructType

    if "map<" not in kind.simpleString():
        return column
    if isinstance(kind, MapType):
        value = kind.valueType
        return F.array_sort(
            F.transform(
                F.map_entries(column),
                lambda entry: F.struct(
                    entry.getField("key").alias("key"),
                    comparable(entry.getField("value"), value).alias("value"),
                ),
            )
        )
    if isinstance(kind, ArrayType):
        inner = kind.elementType
        return F.transform(column, lambda item: comparable(item, inner))
    fields = [
        comparable(column.getField(each.name), each.dataType).alias(each.name)
        for each in (kind.fields if isinstance(kind, StructType) else ())
    ]
    return F.when(column.isNotNull(), F.struct(*fields))


def _within(prefix: str, columns: SliceColumns, offsets: tuple[Offsets, Offsets]) -> str:
    """That a row is of the batch's offsets, in SQL."""
    start, end = offsets
    partition, offset = f"{prefix}{quoted(columns.partition)}", f"{prefix}{quoted(columns.offset)}"
    parts = [
        f"({partition} = {number} AND {offset} >= {start[number]} AND {offset} < {end[number]})"
        for number in sorted(start)
        if start[number] < end[number]
    ]
    return " OR ".join(parts) or "false"


def _number(time: Column, slices: Sequence[TimeSlice]) -> Column:
    """The number of the slice that a time is in; slices are all of one length."""
    from pyspark.sql import functions as F

    length = int((slices[0].end - slices[0].start).total_seconds() * 1000)
    since = F.unix_millis(time) - int(slices[0].start.timestamp() * 1000)
    return F.floor(since / length).cast("int")


def _size(columns: SliceColumns) -> Column:
    """The bytes of a record's key and value; those of a rejected record are not known."""
    from pyspark.sql import functions as F

    total = F.lit(0).cast("long")
    for name in columns.raw:
        total = total + F.coalesce(F.length(quoted("s", name)), F.lit(0))
    return total


def _ambiguous(found: DataFrame, columns: SliceColumns) -> tuple[int, int] | None:
    """The place of a record that has two rows, or a row that is not its own."""
    from pyspark.sql import functions as F

    place = [quoted(columns.partition), quoted(columns.offset)]
    rows = (
        found.groupBy(*place)
        .agg(F.count(F.lit(1)).alias("n"), F.bool_or(_FOREIGN).alias("foreign"))
        .where("n > 1 or foreign")
        .take(1)
    )
    return (int(rows[0][0]), int(rows[0][1])) if rows else None


def _counts(found: Iterator[tuple[int, str, int]]) -> dict[int, SliceCounts]:
    counts: dict[int, SliceCounts] = {}
    for number, change, n in found:
        each = {
            _INSERT: SliceCounts(inserted=n),
            _UPDATE: SliceCounts(updated=n),
            _DELETE: SliceCounts(deleted=n, skipped=n),
            _NO_ROW: SliceCounts(skipped=n),
            _SAME: SliceCounts(unchanged=n),
        }[change]
        counts[number] = counts.get(number, SliceCounts()).plus(each)
    return counts
