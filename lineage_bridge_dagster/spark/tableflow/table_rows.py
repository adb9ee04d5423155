"""The rows that a table gets for a range of records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineage_bridge_dagster.iceberg import quoted
from lineage_bridge_dagster.spark.tableflow.changes import DELETED, compared, latest, with_changes
from lineage_bridge_dagster.spark.tableflow.columns import (
    ERROR,
    KIND,
    SCHEMA_IDS,
    Decoders,
    good,
    key_columns,
    rows,
    with_decoded,
)
from lineage_bridge_dagster.spark.tableflow.config import SuspendedError, TopicTableConfig
from lineage_bridge_dagster.topics.columns import metadata_name, optional_key_fields
from lineage_bridge_dagster.topics.schemas import SubjectSchemas

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Observation
    from pyspark.sql.types import DataType


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows for a table, or the changes to them.

    Attributes:
        frame: the table's columns, and `_deleted` unless they are appended.
        keys: the columns that identify a row; empty if rows are appended.
    """

    frame: DataFrame
    keys: tuple[str, ...] = ()


def judged(records: DataFrame, topic: str, decoders: Decoders, config: TopicTableConfig) -> DataFrame:
    """Decoded records with `_error`, why one cannot be a row."""
    return with_changes(with_decoded(records, decoders), topic, config.mode, decoders.key)


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


def all_become_rows(config: TopicTableConfig) -> bool:
    """Whether each record becomes a row with its bytes, or the query fails."""
    return config.mode == "append" and config.failures == "SUSPEND" and config.raw_columns


def counted(rows: DataFrame, config: TopicTableConfig, observation: Observation) -> DataFrame:
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
    judged: DataFrame, decoders: Decoders, config: TopicTableConfig, observation: Observation | None = None
) -> TableRows:
    """The rows for `judged` records.

    Args:
        judged: the records.
        decoders: the topic's.
        config: the table's.
        observation: counts the records, as `n`, with their `bytes`, and as `good` those that can be rows.

    Raises:
        SuspendedError: the record's key cannot identify a row.
    """
    from pyspark.sql import functions as F

    frame = judged.drop(KIND, *SCHEMA_IDS)
    if observation is not None:
        can_be_row = F.count_if(F.col(ERROR).isNull()).alias("good")
        count = F.count(F.lit(1)).alias("n")
        frame = frame.observe(observation, count, can_be_row, _bytes("key", "value"))
    frame = good(frame, strict=config.failures == "SUSPEND")
    portable, raw = config.portable_names, config.raw_columns
    if config.mode == "append":
        return TableRows(frame.select(*rows(frame, decoders, portable=portable, raw=raw)))
    key = key_columns(frame, decoders.key)
    kinds = {field.name: field for field in frame.select(*(c.alias(n) for n, c in key.items())).schema}
    for name, field in kinds.items():
        _check_comparable(name, field.dataType, config)
    frame = frame.withColumns({f"_by_{name}": column for name, column in key.items()})
    by = [F.expr(compared(quoted(f"_by_{name}"), kinds[name].dataType)) for name in key]
    frame = latest(frame, by)
    columns = rows(frame, decoders, portable=portable, raw=raw, key_wins=True)
    keys = (metadata_name("partition", portable), *key)
    return TableRows(frame.select(*columns, F.col(DELETED)), keys)


def required_keys(rows: TableRows, key: SubjectSchemas) -> tuple[str, ...]:
    """The columns that identify a row, if none of them can be null; else none."""
    return () if optional_key_fields(key) else rows.keys


def _check_comparable(name: str, kind: DataType, config: TopicTableConfig) -> None:
    if "map<" in kind.simpleString():
        raise SuspendedError(
            f"{config.name}: the key's field {name} holds a map, which cannot identify a row.",
            hint="Key the topic by fields without maps, or set mode: append.",
        )


def merge_statement(rows: TableRows, target: str, source: str, kinds: dict[str, DataType]) -> str:
    """The MERGE INTO statement of changes by key.

    Args:
        rows: the changes.
        target: the table's quoted name.
        source: the name of the view of the changes, which have all of the table's columns.
        kinds: the table's columns with their types.
    """
    on = " AND ".join(
        f"{compared(f't.{quoted(name)}', kinds[name])} <=> {compared(f's.{quoted(name)}', kinds[name])}"
        for name in rows.keys
    )
    sets = ", ".join(f"t.{quoted(name)} = s.{quoted(name)}" for name in kinds)
    names, values = ", ".join(map(quoted, kinds)), ", ".join(f"s.{quoted(name)}" for name in kinds)
    return "\n".join(
        (
            f"MERGE INTO {target} t USING {source} s ON {on}",
            f"WHEN MATCHED AND s.{quoted(DELETED)} THEN DELETE",
            f"WHEN MATCHED THEN UPDATE SET {sets}",
            f"WHEN NOT MATCHED AND NOT s.{quoted(DELETED)} THEN",
            f"INSERT ({names}) VALUES ({values})",  # noqa: S608 - all quoted
        )
    )
