"""Topics, tables and chains as lazy DataFrames: the read is planned, and no row is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.iceberg.table_errors import hint_of
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import is_one_catalog
from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.spark.chains.lineage_tables import UPSTREAM_CHAINS
from lineage_bridge_dagster.spark.iceberg_tables import (
    MissingTableError,
    TableName,
    ancestors_of,
    at_snapshot,
    open_table,
    table_names,
)
from lineage_bridge_dagster.spark.io.frames import column, filtered, types_of
from lineage_bridge_dagster.spark.io.history import chosen_snapshots
from lineage_bridge_dagster.spark.io.increments import offsets_since, position
from lineage_bridge_dagster.spark.io.requests import ReadRequest
from lineage_bridge_dagster.spark.io.topic_schemas import topic_schemas, with_decoded
from lineage_bridge_dagster.spark.java_errors import root_cause, spark_errors
from lineage_bridge_dagster.spark.kafka import Offsets, SparkTopic
from lineage_bridge_dagster.text import did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_frame(
    spark: SparkSession, request: ReadRequest, confluent: Callable[[], ConfluentSettings]
) -> DataFrame:
    """A lazy DataFrame of a topic's records, a table's rows or a chain's hops.

    Args:
        request: what to read; the `consumed` of its downstream table is set.
        confluent: reads the Confluent settings, for a topic.

    Raises:
        ConfigurationError: a column or the filter does not fit.
        LineageBridgeError: the table or the snapshot was not found, or what is new cannot be determined.
    """
    source, options, label = request.source, request.options, request.label
    if source.kind == "topic":
        rows = _read_topic(spark, request, confluent())
    elif source.kind == "table":
        rows = _read_table(spark, TableName(request.catalog, source.database, source.table), request)
    else:
        from pyspark.sql import functions as F

        rows = _read_table(spark, TableName(request.catalog, request.namespace, UPSTREAM_CHAINS), request)
        rows = rows.where(F.col("table_id") == source.node_id).orderBy("hop", "qualified_name", "node_id")
    if (slice_ := request.slice_) is not None:
        condition = slice_.condition(types_of(rows, slice_.exprs, f"partition_expr of {label}"))
        rows = filtered(rows, condition, f"The partition of input {label}")
    if options.filter:
        rows = filtered(rows, options.filter, f"The filter of input {label}")
    return _select(rows, options.columns, label) if options.columns else rows


def _read_topic(spark: SparkSession, request: ReadRequest, settings: ConfluentSettings) -> DataFrame:
    """A topic's records: Kafka's own columns, with the values and keys decoded.

    If the subject of the values has an Avro schema, `value` has its type, and `raw_value` holds the bytes;
    otherwise `value` stays bytes. The same holds for `key` and `raw_key`. The registry is read here for the
    schemas, and the broker for its partitions if options need them; no record is read.
    """
    source, options, label = request.source, request.options, request.label
    bootstrap = Bootstrap.of_cluster(settings, source.bootstrap, source.environment_id, source.cluster_id)
    records = _records(spark, SparkTopic(source.topic, bootstrap), request)
    return with_decoded(records, topic_schemas(source, settings, options, label), label)


def _records(spark: SparkSession, topic: SparkTopic, request: ReadRequest) -> DataFrame:
    options, downstream, label = request.options, request.downstream, request.label
    start: Offsets | None = None
    end: Offsets | None = None
    if options.incremental and downstream is not None:
        done = position(downstream, partial(ancestors_of, spark), label)
        start, end = offsets_since(done, *topic.bounds(), label)
        downstream.consumed[label] = {"offsets": {str(p): offset for p, offset in sorted(end.items())}}
    elif options.starting_offsets is not None or options.ending_offsets is not None:
        first, last = topic.bounds()
        start = _bounded(options.starting_offsets, first, last, first, label)
        end = _bounded(options.ending_offsets, first, last, last, label)
    times: dict[str, str] = {}
    if options.starting_timestamp is not None:
        # A time after the last record is not an error: there are no records then.
        times["startingOffsetsByTimestampStrategy"] = "latest"
        times["startingTimestamp"] = str(options.starting_timestamp)
    if options.ending_timestamp is not None:
        times["endingTimestamp"] = str(options.ending_timestamp)
    return topic.read(spark, start, end, times)


def _bounded(
    option: str | Mapping[int, int] | None, first: Offsets, last: Offsets, default: Offsets, label: str
) -> Offsets:
    """An offset for each partition; those that the option leaves out keep the default."""
    if option is None:
        return default
    if isinstance(option, str):
        return first if option == "earliest" else last
    if unknown := sorted(set(option) - set(first)):
        raise ConfigurationError(
            f"{label} has no partition {unknown[0]}.", hint=f"It has partitions 0 to {len(first) - 1}."
        )
    for partition, offset in option.items():
        if not first[partition] <= offset <= last[partition]:
            raise ConfigurationError(
                f"Partition {partition} of {label} has no offset {offset}.",
                hint=f"It has offsets {first[partition]} to {last[partition]} (exclusive) now.",
            )
    return {**default, **option}


def _read_table(spark: SparkSession, table: TableName, request: ReadRequest) -> DataFrame:
    try:
        rows = spark.table(table.sql)
        _ = rows.schema
        opened = open_table(spark, table)
    except spark_errors() as error:
        raise _unreadable(spark, table, error) from error
    choice = chosen_snapshots(
        opened, request.options, request.downstream, partial(ancestors_of, spark), request.label
    )
    if choice.snapshot_id is None:
        return rows
    if choice.after is None or choice.is_empty:
        found = at_snapshot(spark, table, choice.snapshot_id)
        return found.where("false") if choice.is_empty else found
    reader = spark.read.option("start-snapshot-id", str(choice.after))
    return reader.option("end-snapshot-id", str(choice.snapshot_id)).table(table.sql)


def _select(rows: DataFrame, names: tuple[str, ...], label: str) -> DataFrame:
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    columns = {name.lower() for name in rows.columns}
    try:
        # Else a field of a struct by its path, such as value.order_id.
        found = rows.select(*[column(n) if n.lower() in columns else F.col(n) for n in names])
        _ = found.schema
    except PySparkException as error:
        wrong = next((n for n in names if n.split(".")[0].lower() not in columns), names[0])
        raise ConfigurationError(
            f"{label} does not have all columns {', '.join(names)}: {str(error).splitlines()[0]}",
            hint=did_you_mean(wrong, rows.columns).strip() or f"It has {', '.join(rows.columns[:30])}.",
        ) from error
    return found


def _reading_hint(spark: SparkSession, catalog: str, error: Exception) -> str:
    """What to do about an error of loading a table that exists."""
    uri = spark.conf.get(f"spark.sql.catalog.{catalog}.uri", "") or ""
    if spark.conf.get(f"spark.sql.catalog.{catalog}.type", "") == "rest":
        return hint_of(f"{root_cause(error)}\n{error}", tableflow=is_one_catalog(uri))
    return (
        "Check that the catalog and its storage can be reached, and that the credentials allow reading: "
        "glue:GetTable, glue:GetTables and s3:GetObject for tables of Glue."
    )


def _unreadable(spark: SparkSession, table: TableName, error: Exception) -> LineageBridgeError:
    """Why a table could not be read: it does not exist, or cannot be loaded."""
    names: list[str] | None = [table.table]
    try:
        names = table_names(spark, table.catalog, table.database)
    except spark_errors() as unreachable:
        error = unreachable
    if names is None:
        return MissingTableError(table, None)
    if table.table.lower() in (name.lower() for name in names):
        return LineageBridgeError(
            f"Table {table.database}.{table.table} of catalog {table.catalog} could not be read: "
            f"{root_cause(error)}",
            hint=_reading_hint(spark, table.catalog, error),
        )
    return MissingTableError(table, names, f"\n  {root_cause(error)}")
