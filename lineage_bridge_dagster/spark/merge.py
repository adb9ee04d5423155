"""Rows merged into a table by key: rows with a known key replace their row, the others are added."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark import classic, remote
from lineage_bridge_dagster.spark.column_names import match
from lineage_bridge_dagster.spark.commits import CommitMarker, global_view
from lineage_bridge_dagster.spark.iceberg_tables import TableName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_EXAMPLES = 3


class MergeKeyError(LineageBridgeError):
    """The rows cannot be merged by their keys."""


@dataclass(frozen=True, slots=True)
class MergeKeys:
    """How rows find those that they replace or delete.

    `delete_column` names a boolean column that is true on rows to delete; it is not stored. Null keys are
    refused unless `match_nulls`, with which null equals null.
    """

    columns: tuple[str, ...]
    delete_column: str = ""
    match_nulls: bool = False

    def of(self, frame: StructType, table: TableName) -> Self:
        """These keys, by the names that the frame has for its columns.

        Raises:
            MergeKeyError: it lacks one, or the delete column is not a boolean.
            ColumnNameError: one means several columns.
        """
        columns = tuple(_named(name, "join_cols", frame, table) for name in self.columns)
        if not self.delete_column:
            return replace(self, columns=columns)
        flag = _named(self.delete_column, "delete_column", frame, table)
        if (kind := frame[flag].dataType.typeName()) != "boolean":
            raise MergeKeyError(
                f"delete_column {self.delete_column} of {table} is {kind}.",
                hint="Make it a boolean that is true on rows to delete, such as F.col('op') == 'd'.",
            )
        return replace(self, columns=columns, delete_column=flag)

    def check_rows(self, rows: DataFrame, table: TableName) -> int:
        """Count the rows, after refusing null keys and keys that occur twice.

        Raises:
            MergeKeyError: with examples.
        """
        from pyspark.sql import functions as F

        keys = [F.col(quoted(name)) for name in self.columns]
        has_null = F.lit(False)
        for key in keys:
            has_null = has_null | key.isNull()
        counts = rows.agg(F.count(F.lit(1)).alias("n"), F.count_if(has_null).alias("nulls")).collect()[0]
        names = ", ".join(self.columns)
        if counts.nulls and not self.match_nulls:
            raise MergeKeyError(
                f"{counts.nulls} of {counts.n} rows for {table} have null in {names}.",
                hint="Filter them out, or set null_keys: match to have null equal null.",
            )
        grouped = rows.groupBy(*keys).agg(F.count(F.lit(1)).alias("n"))
        if duplicates := grouped.where("n > 1").limit(_EXAMPLES).collect():
            examples = "; ".join(_example(row[:-1], self.columns, row[-1]) for row in duplicates)
            raise MergeKeyError(
                f"The DataFrame for {table} has several rows with the same key: {examples}. "
                "Nothing was written.",
                hint=f"Keep one row of each key, such as the newest by a window over {names}, or name more "
                "columns in join_cols.",
            )
        return int(counts.n)

    def statement(self, table: TableName, source: str, columns: Sequence[str]) -> str:
        """The MERGE INTO statement for a source with these columns.

        Only the source's columns are set: other columns keep their values, and are null in new rows.
        """
        stored = [name for name in columns if name != self.delete_column]
        equals = "<=>" if self.match_nulls else "="
        on = " AND ".join(f"t.{quoted(name)} {equals} s.{quoted(name)}" for name in self.columns)
        sets = ", ".join(
            f"t.{quoted(name)} = s.{quoted(name)}" for name in stored if name not in self.columns
        )
        deleted = f"coalesce(s.{quoted(self.delete_column)}, false)" if self.delete_column else ""
        names, values = ", ".join(map(quoted, stored)), ", ".join(f"s.{quoted(name)}" for name in stored)
        lines = [f"MERGE INTO {table.sql} t USING {source} s ON {on}"]
        if deleted:
            lines.append(f"WHEN MATCHED AND {deleted} THEN DELETE")
        if sets:
            lines.append(f"WHEN MATCHED THEN UPDATE SET {sets}")
        lines.append(f"WHEN NOT MATCHED{f' AND NOT {deleted}' if deleted else ''} THEN")
        lines.append(f"INSERT ({names}) VALUES ({values})")  # noqa: S608 - all quoted
        return "\n".join(lines)


def merge(rows: DataFrame, table: TableName, keys: MergeKeys, marker: CommitMarker) -> None:
    """Merge rows into a table, in one commit. MERGE reads its source twice: persist it (`persisted`)."""
    with global_view(rows) as source:
        marker.run(rows.sparkSession, keys.statement(table, source, rows.columns))


@contextmanager
def persisted(frame: DataFrame) -> Iterator[DataFrame]:
    """Keep a frame's rows, so that everything that reads them reads the same ones."""
    from pyspark import StorageLevel

    spark = frame.sparkSession
    if classic.is_classic(spark):
        rows = frame.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            yield rows
        finally:
            rows.unpersist()
        return
    # Over Connect, each use of a frame is analyzed again, and uuid() then gets another seed, so that the plan
    # does not match the cached one. A view is analyzed once.
    with global_view(frame) as view:
        spark.catalog.cacheTable(view, StorageLevel.MEMORY_AND_DISK)
        with remote.undoing(lambda: spark.catalog.uncacheTable(view)):
            yield spark.table(view)


def _named(name: str, role: str, frame: StructType, table: TableName) -> str:
    if (found := match(name, frame.names, f"{role} of {table}")) is None:
        raise MergeKeyError(
            f"The DataFrame for {table} has no column {name}, which {role} names.",
            hint=f"Its columns are {', '.join(frame.names[:30])}.",
        )
    return found


def _example(values: tuple[object, ...], names: tuple[str, ...], count: int) -> str:
    pairs = ", ".join(f"{name}={str(value)[:60]}" for name, value in zip(names, values, strict=True))
    return f"{pairs} ({count} rows)"
