"""The rows that a table gets for a range of records, and their write to the staged branch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.schemas.columns import metadata_name, optional_key_fields
from lineage_bridge_dagster.schemas.schemas import SubjectSchemas
from lineage_bridge_dagster.spark import classic, remote
from lineage_bridge_dagster.spark.commits import global_view
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.topic_to_iceberg.loading.changes import (
    DELETED,
    TRUNCATED,
    compared,
    latest,
    with_changes,
)
from lineage_bridge_dagster.topic_to_iceberg.loading.columns import (
    ERROR,
    KIND,
    SCHEMA_IDS,
    Decoders,
    good,
    key_columns,
    rows,
    with_decoded,
)
from lineage_bridge_dagster.topic_to_iceberg.loading.evolution import Evolved
from lineage_bridge_dagster.topic_to_iceberg.loading.model import SuspendedError
from lineage_bridge_dagster.topic_to_iceberg.loading.unavailable import (
    UNAVAILABLE,
    kept_fields,
    number,
    with_unavailable,
)
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Observation
    from pyspark.sql.types import DataType, StructType


_SUMMARY = "spark.sql.iceberg.snapshot-property."
_SHUFFLE_TASKS = "spark.sql.shuffle.partitions"


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows for a table, or the changes to them.

    Attributes:
        frame: the table's columns, and those of `added`.
        keys: the columns that identify a row; empty if rows are appended.
        kept: the columns that keep their values where `_unavailable` says so.
        truncated: whether all other rows are to be deleted.
        by: for most keys, the columns of the frame that they are compared by.
    """

    frame: DataFrame
    keys: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    truncated: bool = False
    by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def added(self) -> tuple[str, ...]:
        """The columns of the frame that are not the table's: `_deleted`, `_unavailable` and those of `by`."""
        flags = ((DELETED, self.keys), (UNAVAILABLE, self.kept))
        return (*(name for name, there in flags if there), *chain.from_iterable(self.by.values()))

    @property
    def columns(self) -> StructType:
        """The table's columns."""
        return self.frame.drop(*self.added).schema


def judged(records: DataFrame, topic: str, decoders: Decoders, config: TopicLoad) -> DataFrame:
    """Decoded records with `_error`, why one cannot be a row."""
    frame = with_changes(with_decoded(records, decoders), topic, config, decoders.key)
    return frame if decoders.placeholder is None else with_unavailable(frame, decoders.placeholder)


def measured(records: DataFrame) -> tuple[int, int]:
    """The number of records, and the bytes of their keys and values."""
    from pyspark.sql import functions as F

    found = records.agg(F.count(F.lit(1)).alias("n"), _bytes("key", "value")).collect()[0]
    return int(found["n"]), int(found["bytes"] or 0)


def _bytes(key: str, value: str) -> Column:
    """The bytes of all keys and values, as `bytes`; null if there are no records."""
    from pyspark.sql import functions as F

    sizes = [F.coalesce(F.length(quoted(side)), F.lit(0)).cast("long") for side in (key, value)]
    return F.sum(sizes[0] + sizes[1]).alias("bytes")


def all_become_rows(config: TopicLoad, decoders: Decoders) -> bool:
    """Whether each record becomes a row with its bytes and all of its values, or the query fails."""
    is_strict = config.mode == "append" and config.failures == "suspend" and config.raw_columns
    return is_strict and decoders.placeholder is None


def counted(rows: DataFrame, config: TopicLoad, observation: Observation) -> DataFrame:
    """Rows, one for each record, that are counted as `table_rows` counts records.

    Spark copies each row once more at an observation in the middle of a query, and not at its end.
    """
    from pyspark.sql import functions as F

    count = F.count(F.lit(1))
    size = _bytes(*(metadata_name(f"raw-{side}", config.portable_names) for side in ("key", "value")))
    return rows.observe(observation, count.alias("n"), count.alias("good"), size)


def tallied(judged: DataFrame) -> tuple[int, int]:
    """The number of `judged` records, and of those that can be rows, by a query of its own."""
    from pyspark.sql import functions as F

    good = F.count_if(F.col(ERROR).isNull()).alias("good")
    found = judged.agg(F.count(F.lit(1)).alias("n"), good).collect()[0]
    return int(found["n"]), int(found["good"])


def table_rows(
    judged: DataFrame,
    decoders: Decoders,
    config: TopicLoad,
    observation: Observation | None = None,
    *,
    truncated_at: int | None = None,
) -> TableRows:
    """The rows for `judged` records.

    Args:
        observation: counts the records, as `n`, with their `bytes`, as `good` those that can be rows, and as
            `unavailable` the values that Debezium did not get, if there can be any.
        truncated_at: the offset of a truncation in the only partition: all before it is gone.

    Raises:
        SuspendedError: the record's key cannot identify a row.
    """
    from pyspark.sql import functions as F

    frame = judged.drop(KIND, *SCHEMA_IDS)
    if observation is not None:
        can_be_row = F.count_if(F.col(ERROR).isNull()).alias("good")
        count = F.count(F.lit(1)).alias("n")
        counts = [can_be_row, _bytes("key", "value")]
        if UNAVAILABLE in frame.columns:
            counts.append(F.sum(F.when(F.col(ERROR).isNull(), number(frame))).alias("unavailable"))
        frame = frame.observe(observation, count, *counts)
    frame = good(frame, strict=config.failures == "suspend")
    portable, raw = config.portable_names, config.raw_columns
    if config.mode == "append":
        return TableRows(frame.select(*rows(frame, decoders, portable=portable, raw=raw)))
    key = key_columns(frame, decoders.key)
    by: dict[str, tuple[str, ...]] = {}
    compared_by: dict[str, Column] = {}
    fields = frame.select(*(column.alias(name) for name, column in key.items())).schema
    for place, (name, kind) in enumerate((each.name, each.dataType) for each in fields):
        _check_comparable(name, kind, config)
        nullable = decoders.key.is_record and name not in decoders.key.required
        if texts := compared(quoted(f"_of_{name}"), kind, nullable=nullable):
            by[name] = tuple(f"_by_{place}_{part}" for part in range(len(texts)))
            compared_by |= zip(by[name], map(F.expr, texts), strict=True)
    frame = frame.withColumns({f"_of_{name}": column for name, column in key.items()})
    frame = frame.withColumns(compared_by) if by else frame
    frame = frame.where(
        ~F.col(TRUNCATED) & (F.col("offset") > (-1 if truncated_at is None else truncated_at))
    )
    kept = tuple(name for name in kept_fields(frame) if name not in key)
    frame = latest(frame, [each for name in key for each in by.get(name, (f"_of_{name}",))], kept)
    columns = rows(frame, decoders, portable=portable, raw=raw, key_wins=True)
    keys = (metadata_name("partition", portable), *key)
    found = TableRows(frame, keys, kept, truncated_at is not None, by)
    return replace(found, frame=frame.select(*columns, *found.added))


def required_keys(rows: TableRows, key: SubjectSchemas) -> tuple[str, ...]:
    """The columns that identify a row, if none of them can be null; else none."""
    return () if optional_key_fields(key) else rows.keys


def _check_comparable(name: str, kind: DataType, config: TopicLoad) -> None:
    if "map<" in kind.simpleString():
        raise SuspendedError(
            f"{config.name}: the key's field {name} holds a map, which cannot identify a row.",
            hint="Key the topic by fields without maps, or set mode: append.",
        )


def matching(rows: TableRows, kinds: Mapping[str, DataType]) -> str:
    """The condition that a row `t` of the table and a change `s` have one key, in SQL."""
    partition, *key = (quoted(name) for name in rows.keys)
    equal = [f"t.{partition} = s.{partition}"]
    for name, column in zip(rows.keys[1:], key, strict=True):
        if by := rows.by.get(name):
            own = compared(f"t.{column}", kinds[name], nullable=len(by) > 1)
            equal += [f"{each} = s.{other}" for each, other in zip(own, by, strict=True)]
        else:
            equal.append(f"t.{column} <=> s.{column}")
    return " AND ".join(equal)


def merge_statement(rows: TableRows, target: str, source: str, table: Evolved) -> str:
    """The MERGE INTO statement of changes by key.

    Args:
        target: the table's quoted name.
        source: the name of the view of the changes, which have all of the table's columns.
    """
    kinds = {each.name: each.dataType for each in table.columns}
    on = matching(rows, kinds)
    values = {name: f"s.{quoted(name)}" for name in kinds}
    for flag in rows.kept:
        name = table.name(flag)
        values[name] = f"if(s.{quoted(UNAVAILABLE, flag)}, t.{quoted(name)}, s.{quoted(name)})"
    sets = ", ".join(f"t.{quoted(name)} = {value}" for name, value in values.items())
    names, new = ", ".join(map(quoted, kinds)), ", ".join(f"s.{quoted(name)}" for name in kinds)
    rest = ("WHEN NOT MATCHED BY SOURCE THEN DELETE",) if rows.truncated else ()
    return "\n".join(
        (
            f"MERGE INTO {target} t USING {source} s ON {on}",
            f"WHEN MATCHED AND s.{quoted(DELETED)} THEN DELETE",
            f"WHEN MATCHED THEN UPDATE SET {sets}",
            f"WHEN NOT MATCHED AND NOT s.{quoted(DELETED)} THEN",
            f"INSERT ({names}) VALUES ({new})",  # noqa: S608 - all quoted
            *rest,
        )
    )


def append(frame: DataFrame, name: TableName, summary: Mapping[str, str]) -> None:
    """Append rows, in a snapshot with these entries in its summary."""
    writer = frame.writeTo(name.sql)
    for key, value in summary.items():
        writer = writer.option(f"snapshot-property.{key}", value)
    writer.append()


def merge(
    frame: DataFrame,
    name: TableName,
    rows: TableRows,
    table: Evolved,
    summary: Mapping[str, str],
    *,
    tasks: int,
) -> None:
    """Merge changes by key, in a snapshot with these entries in its summary.

    The frame's session must be this thread's alone: a statement takes its summary from the session, and the
    number of tasks by which it finds equal keys, unless Spark's configuration has one.
    """
    session = frame.sparkSession
    conf = {f"{_SUMMARY}{key}": value for key, value in summary.items()}
    if _SHUFFLE_TASKS not in classic.settings(session):
        conf[_SHUFFLE_TASKS] = str(tasks)
    with global_view(frame) as source, remote.session_conf(session, conf):
        session.sql(merge_statement(rows, name.sql, source, table))


def unavailable(
    frame: DataFrame, name: TableName, rows: TableRows, columns: StructType, *, is_first: bool
) -> int:
    """How many values a merge could not keep, as the table had no row of their key.

    The merge is not published yet, so the branch `main` has the rows from before it.

    Args:
        is_first: whether the table was empty.
    """
    from pyspark.sql import functions as F

    missing = frame.withColumn("_n", number(frame)).where(f"_n > 0 AND NOT {quoted(DELETED)}")
    if not is_first and not rows.truncated:
        kinds = {field.name: field.dataType for field in columns}
        # The session reads the staged branch, which has the merge already.
        table = frame.sparkSession.read.option("branch", "main").table(name.sql)
        missing = missing.alias("s").join(table.alias("t"), F.expr(matching(rows, kinds)), "left_anti")
    return int(missing.agg(F.sum("_n").alias("n")).collect()[0]["n"] or 0)
