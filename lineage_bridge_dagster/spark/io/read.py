"""Topics, tables and chains as lazy DataFrames: loading plans a read and runs none."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lineage_bridge_dagster.config.settings import Settings
from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.schema_registry import SchemaRegistryClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.iceberg import spark_name
from lineage_bridge_dagster.lineage.times import iso
from lineage_bridge_dagster.spark import iceberg_tables
from lineage_bridge_dagster.spark.avro import decoded, fetch_schemas
from lineage_bridge_dagster.spark.chains.lineage_tables import UPSTREAM_CHAINS
from lineage_bridge_dagster.spark.io.frames import filtered, type_of
from lineage_bridge_dagster.spark.io.increments import (
    Downstream,
    appended_since,
    full_refresh_hint,
    offsets_since,
    position,
)
from lineage_bridge_dagster.spark.io.options import ReadOptions
from lineage_bridge_dagster.spark.io.slices import Slice
from lineage_bridge_dagster.spark.io.source import AssetSource
from lineage_bridge_dagster.spark.kafka import KafkaTopic, Offsets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class MissingTableError(LineageBridgeError):
    """The catalog has no such table, or not as Iceberg."""


def load(
    spark: SparkSession,
    source: AssetSource,
    catalog: str = "glue",
    namespace: str = "lineage_bridge",
    *,
    options: ReadOptions | None = None,
    slice_: Slice | None = None,
    downstream: Downstream | None = None,
    shown: str = "",
) -> DataFrame:
    """A lazy DataFrame of a topic's records, a table's rows or a chain's hops.

    Args:
        spark: the session.
        source: what to load.
        catalog: the catalog of the tables.
        namespace: the namespace of the lineage tables, where chains are.
        options: which part of it.
        slice_: the partitions to load of a partitioned table.
        downstream: who takes from it, for incremental options; its `consumed` is set.
        shown: the asset, for messages and as the name of its position in the downstream table.

    Raises:
        ConfigurationError: a column or the filter does not fit.
        LineageBridgeError: the table or the snapshot is not there, or what is new can't be told.
    """
    options = options or ReadOptions()
    shown = shown or source.topic or source.table or source.node_id
    if source.kind == "topic":
        rows = load_topic(spark, source, options=options, downstream=downstream, shown=shown)
    elif source.kind == "table":
        name = spark_name(catalog, source.database, source.table)
        rows = _load_table(spark, name, options, downstream, (catalog, source.database, source.table), shown)
    else:
        from pyspark.sql import functions as F

        name = spark_name(catalog, namespace, UPSTREAM_CHAINS)
        rows = _load_table(spark, name, options, None, (catalog, namespace, UPSTREAM_CHAINS), shown)
        rows = rows.where(F.col("table_id") == source.node_id).orderBy("hop", "qualified_name", "node_id")
    if slice_ is not None:
        condition = slice_.condition(lambda expr: type_of(rows, expr, f"partition_expr of {shown}"))
        rows = filtered(rows, condition, f"The partition of input {shown}")
    if options.filter:
        rows = filtered(rows, options.filter, f"The filter of input {shown}")
    return _columns(rows, options.columns, shown) if options.columns else rows


def load_topic(
    spark: SparkSession,
    source: AssetSource,
    env: Mapping[str, str] | None = None,
    *,
    options: ReadOptions | None = None,
    downstream: Downstream | None = None,
    shown: str = "",
) -> DataFrame:
    """A topic's records: Kafka's own columns, then `value`, decoded.

    Where the subject `{topic}-value` has an Avro schema `value` is of its type, and `raw_value` is beside
    it; without a schema `value` stays bytes. Only the registry is asked here, for the schemas, and the broker
    for its partitions where options need them.
    """
    settings = Settings.from_env(os.environ if env is None else env).confluent
    bootstrap = Bootstrap.of_cluster(settings, source.bootstrap, source.environment_id, source.cluster_id)
    topic = KafkaTopic(source.topic, bootstrap)
    records = _records(spark, topic, options or ReadOptions(), downstream, shown or source.topic)
    if not source.schema_registry_url:
        return records
    with ConfluentSession(settings) as session:
        registry = SchemaRegistryClient(session, source.environment_id)
        schemas = fetch_schemas(registry, source.schema_registry_url, f"{source.topic}-value")
    if schemas.reader is None:
        return records
    from pyspark.sql import functions as F

    return records.withColumnRenamed("value", "raw_value").withColumn(
        "value", decoded(F.col("raw_value"), schemas)
    )


def _records(
    spark: SparkSession, topic: KafkaTopic, options: ReadOptions, downstream: Downstream | None, shown: str
) -> DataFrame:
    start: Offsets | None = None
    end: Offsets | None = None
    if options.incremental and downstream is not None:
        start, end = offsets_since(position(spark, downstream, shown), *topic.bounds(), shown)
        downstream.consumed[shown] = {"offsets": {str(p): offset for p, offset in sorted(end.items())}}
    elif options.starting_offsets is not None or options.ending_offsets is not None:
        first, last = topic.bounds()
        start = _bounded(options.starting_offsets, first, last, first, shown)
        end = _bounded(options.ending_offsets, first, last, last, shown)
    times: dict[str, str] = {}
    if options.starting_timestamp is not None:
        # Nothing that new is no error: there are no records then.
        times["startingOffsetsByTimestampStrategy"] = "latest"
        times["startingTimestamp"] = str(options.starting_timestamp)
    if options.ending_timestamp is not None:
        times["endingTimestamp"] = str(options.ending_timestamp)
    return topic.read(spark, start, end, times)


def _bounded(
    asked: str | Mapping[int, int] | None, first: Offsets, last: Offsets, default: Offsets, shown: str
) -> Offsets:
    """An offset for each partition there is; those that were not asked for keep the default."""
    if asked is None:
        return default
    if isinstance(asked, str):
        return first if asked == "earliest" else last
    if unknown := sorted(set(asked) - set(first)):
        raise ConfigurationError(
            f"{shown} has no partition {unknown[0]}.", hint=f"It has partitions 0 to {len(first) - 1}."
        )
    for partition, offset in asked.items():
        if not first[partition] <= offset <= last[partition]:
            raise ConfigurationError(
                f"Partition {partition} of {shown} has no offset {offset}.",
                hint=f"It holds {first[partition]} to {last[partition]} (exclusive) now.",
            )
    return {**default, **asked}


def _load_table(
    spark: SparkSession,
    name: str,
    options: ReadOptions,
    downstream: Downstream | None,
    parts: tuple[str, str, str],
    shown: str,
) -> DataFrame:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import AnalysisException

    try:
        rows = spark.table(name)
        _ = rows.schema
    except (AnalysisException, Py4JJavaError) as error:
        raise _unreadable(spark, *parts, error) from error
    if options.incremental and downstream is not None:
        return _new_rows(spark, name, rows, downstream, shown)
    if options.start_snapshot_id is not None:
        current = iceberg_tables.current_snapshot(spark, name)
        end = options.end_snapshot_id or (current.snapshot_id if current else options.start_snapshot_id)
        hint = f"Set both ids to snapshots that the table {name}.history lists, or load the table whole."
        return _between(spark, name, options.start_snapshot_id, end, shown, hint)
    if options.as_of is not None:
        return iceberg_tables.at_snapshot(spark, name, _as_of(spark, name, options.as_of, shown))
    if options.snapshot_id is not None:
        if iceberg_tables.snapshot(spark, name, options.snapshot_id) is None:
            raise LineageBridgeError(
                f"{shown} has no snapshot {options.snapshot_id}: it has expired, or is another table's.",
                hint=f"The table {name}.snapshots lists those that are kept.",
            )
        return iceberg_tables.at_snapshot(spark, name, options.snapshot_id)
    return rows


def _new_rows(
    spark: SparkSession, name: str, rows: DataFrame, downstream: Downstream, shown: str
) -> DataFrame:
    """The rows appended since the downstream table last took, up to now; all of them at first."""
    last = position(spark, downstream, shown)
    current = iceberg_tables.current_snapshot(spark, name)
    downstream.consumed[shown] = {"snapshot_id": str(current.snapshot_id) if current else ""}
    if current is None:
        return rows
    if start := (last or {}).get("snapshot_id"):
        return _between(spark, name, int(start), current.snapshot_id, shown, full_refresh_hint(shown))
    return iceberg_tables.at_snapshot(spark, name, current.snapshot_id)


def _between(spark: SparkSession, name: str, start: int, end: int, shown: str, hint: str) -> DataFrame:
    appended_since(spark, name, start, end, shown, hint)
    if start == end:
        return iceberg_tables.at_snapshot(spark, name, end).where("false")
    reader = spark.read.option("start-snapshot-id", str(start)).option("end-snapshot-id", str(end))
    return reader.table(name)


def _as_of(spark: SparkSession, name: str, moment: int, shown: str) -> int:
    found = iceberg_tables.snapshot_as_of(spark, name, moment)
    if found is not None:
        return found
    first = iceberg_tables.first_kept(spark, name)
    kept = f"begins at {_when(first)}" if first is not None else "is empty"
    raise LineageBridgeError(
        f"{shown} has no snapshot as of {_when(moment)}: its history {kept}.",
        hint="Choose a later time, or keep snapshots longer.",
    )


def _columns(rows: DataFrame, names: tuple[str, ...], shown: str) -> DataFrame:
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    from lineage_bridge_dagster.spark.io.schemas import column

    own = {name.lower() for name in rows.columns}
    try:
        # A field of a struct by its path, such as value.order_id.
        found = rows.select(*[column(n) if n.lower() in own else F.col(n) for n in names])
        _ = found.schema
    except PySparkException as error:
        wrong = next((n for n in names if n.split(".")[0].lower() not in own), names[0])
        near = difflib.get_close_matches(wrong, rows.columns, 1)
        raise ConfigurationError(
            f"{shown} has not all of the columns {', '.join(names)}: {str(error).splitlines()[0]}",
            hint=f"Did you mean {near[0]}?" if near else f"It has {', '.join(rows.columns[:30])}.",
        ) from error
    return found


def _unreadable(
    spark: SparkSession, catalog: str, database: str, table: str, error: Exception
) -> LineageBridgeError:
    """Why a table could not be loaded: it is not there, or is and can't be read."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import AnalysisException

    tables: list[str] | None = [table]
    try:
        tables = iceberg_tables.tables(spark, catalog, database)
    except (AnalysisException, Py4JJavaError) as away:
        error = away
    if tables is None:
        return MissingTableError(
            f"Catalog {catalog} has no database {database}, or does not show it.",
            hint="Check the database's name and region, and grant glue:GetDatabase and glue:GetTables.",
        )
    if table.lower() in (name.lower() for name in tables):
        return LineageBridgeError(
            f"Table {database}.{table} of catalog {catalog} could not be read: {iceberg_tables.cause(error)}",
            hint="Check that the catalog and its storage answer, and that the credentials allow "
            "glue:GetTable, glue:GetTables and s3:GetObject.",
        )
    near = difflib.get_close_matches(table, tables, 3)
    told = f" It has {', '.join(near)}." if near else ""
    return MissingTableError(
        f"Database {database} of catalog {catalog} has no Iceberg table {table}.{told}\n"
        f"  {iceberg_tables.cause(error)}",
        hint="Materialize the asset that makes it, or correct its dagster/table_name.",
    )


def _when(moment: int) -> str:
    return iso(datetime.fromtimestamp(moment / 1000, UTC))
