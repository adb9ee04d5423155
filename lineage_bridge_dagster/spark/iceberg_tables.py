"""Iceberg tables through Spark: names, snapshots, creation."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted, string_literal
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.spark import classic
from lineage_bridge_dagster.spark.java_errors import java_classes, root_cause, spark_errors
from lineage_bridge_dagster.spark.java_table import JavaTable
from lineage_bridge_dagster.spark.snapshot import Snapshot
from lineage_bridge_dagster.spark.sql_table import SqlTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NO_NAMESPACE = {"NoSuchNamespaceException", "NoSuchDatabaseException", "EntityNotFoundException"}


class MissingTableError(LineageBridgeError):
    """The catalog has no such Iceberg table.

    Args:
        names: the tables of the database; None if the catalog does not show that either.
        detail: what the engine says, as lines of its own.
    """

    def __init__(self, table: TableName, names: Sequence[str] | None, detail: str = "") -> None:
        if names is None:
            super().__init__(
                f"Catalog {table.catalog} has no database {table.database}, or does not show it.",
                hint="Check the database's name and region, and grant glue:GetDatabase and glue:GetTables.",
            )
            return
        near = difflib.get_close_matches(table.table, names, 3)
        similar = f" It has {', '.join(near)}." if near else ""
        super().__init__(
            f"Database {table.database} of catalog {table.catalog} has no Iceberg table {table.table}."
            f"{similar}{detail}",
            hint="Materialize the asset that writes it, or correct its dagster/table_name.",
        )


@dataclass(frozen=True, slots=True)
class TableName:
    """The name of a table: its catalog in Spark, its database and its name there."""

    catalog: str
    database: str
    table: str

    @property
    def sql(self) -> str:
        """The quoted name in Spark SQL."""
        return quoted(self.catalog, self.database, self.table)

    def __str__(self) -> str:
        return f"{self.catalog}.{self.database}.{self.table}"


def ensure_namespace(spark: SparkSession, catalog: str, namespace: str) -> None:
    """Create the namespace (a Glue database) if it does not exist."""
    name = quoted(catalog, namespace)
    try:
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {name}")
    except spark_errors():
        # If two writers create it at once, catalogs in databases fail the second one.
        if not _has_namespace(spark, name):
            raise


def _has_namespace(spark: SparkSession, name: str) -> bool:
    try:
        spark.sql(f"DESCRIBE NAMESPACE {name}").collect()
    except spark_errors():
        return False
    return True


def ensure_table(
    spark: SparkSession,
    table: TableName,
    columns: str,
    *,
    partitioned_by: str = "",
    properties: Mapping[str, str] | None = None,
) -> None:
    """Create the table and its namespace if they do not exist.

    Raises:
        ConfigurationError: the catalog has no warehouse to place the table in.
        LineageBridgeError: the catalog has a table of this name that is not an Iceberg table.
    """
    ensure_namespace(spark, table.catalog, table.database)
    listed = {"format-version": "2", **(properties or {})}
    assigned = ", ".join(f"{string_literal(key)} = {string_literal(value)}" for key, value in listed.items())
    try:
        spark.sql(
            f"CREATE TABLE IF NOT EXISTS {table.sql} ({columns}) USING iceberg "
            f"{partitioned_by} TBLPROPERTIES ({assigned})"
        )
    except Exception as error:
        if "NoSuchIcebergTableException" in java_classes(error):
            raise LineageBridgeError(
                f"{table} exists in the catalog and is not an Iceberg table.",
                hint="Give the asset another dagster/table_name, or drop the existing table.",
            ) from error
        if (reason := no_warehouse(error, table)) is not None:
            raise reason from error
        if "ValidationException" in java_classes(error):
            raise LineageBridgeError(
                f"Iceberg cannot create the table {table}: {root_cause(error)}",
                hint="Correct the columns of the DataFrame, or partition_by.",
            ) from error
        raise


def no_warehouse(error: Exception, table: TableName) -> ConfigurationError | None:
    """The error of a table that could not be created without a warehouse, None for any other one."""
    # GlueCatalog and HadoopCatalog report it as a ValidationException without a class of its own.
    if "warehouse" not in str(error) or "null or empty" not in str(error):
        return None
    return ConfigurationError(
        f"Catalog {table.catalog} has no warehouse, so a new table has no location.",
        hint="Set LINEAGE_BRIDGE_CATALOG_WAREHOUSE to an S3 location, such as s3://bucket/prefix.",
    )


def exists(spark: SparkSession, table: TableName) -> bool:
    """Whether the table exists and can be read as Iceberg."""
    return bool(spark.catalog.tableExists(table.sql))


def open_table(spark: SparkSession, table: TableName) -> JavaTable | SqlTable:
    """A table's metadata: by Iceberg's Java API, which is the faster one, where the session has a JVM."""
    if classic.is_classic(spark):
        return JavaTable(spark, table.sql)
    return SqlTable(spark, table.catalog, table.sql)


def current_snapshot(spark: SparkSession, table: TableName) -> Snapshot | None:
    """The current snapshot of a table, None before the first commit."""
    return next(ancestors(spark, table), None)


def ancestors(spark: SparkSession, table: TableName) -> Iterator[Snapshot]:
    """The snapshots of the current branch, newest first, as far back as they are kept."""
    return open_table(spark, table).ancestors()


def ancestors_of(spark: SparkSession, table: TableName) -> Iterator[Snapshot] | None:
    """The same, None for a table that does not exist."""
    return ancestors(spark, table) if exists(spark, table) else None


def at_snapshot(spark: SparkSession, table: TableName, snapshot_id: int) -> DataFrame:
    """The rows of a snapshot, lazily, with the columns that the table had then.

    With the read option `snapshot-id` they would have the table's current columns.
    """
    return spark.sql(f"SELECT * FROM {table.sql} VERSION AS OF {int(snapshot_id)}")  # noqa: S608 - quoted


def location(spark: SparkSession, table: TableName) -> str:
    """The base location of a table's data and metadata."""
    return open_table(spark, table).location


def table_names(spark: SparkSession, catalog: str, namespace: str) -> list[str] | None:
    """The Iceberg tables of a namespace, None if the namespace does not exist.

    Raises Spark's own error if the catalog cannot be reached.
    """
    try:
        rows = spark.sql(f"SHOW TABLES IN {quoted(catalog, namespace)}").collect()
    except spark_errors() as error:
        if not _NO_NAMESPACE & java_classes(error):
            raise
        return None
    return [str(row.tableName) for row in rows]
