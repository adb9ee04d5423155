"""What Spark is asked of an Iceberg table besides its rows: is it there, and what was last committed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.iceberg import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NO_NAMESPACE = re.compile(r"NoSuchNamespace|SCHEMA_NOT_FOUND|EntityNotFoundException")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of a table's current branch; `summary` as Iceberg's specification names its keys."""

    snapshot_id: int
    operation: str
    summary: Mapping[str, str] = field(default_factory=dict)
    committed_at: int = 0
    """Epoch milliseconds."""

    def count(self, name: str) -> int:
        """A number of the summary, 0 where it is left out."""
        return int(self.summary.get(name, 0))


def ensure_namespace(spark: SparkSession, catalog: str, namespace: str) -> None:
    """Create the namespace (a Glue database) unless it is there."""
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {quoted(catalog, namespace)}")


def exists(spark: SparkSession, name: str) -> bool:
    """Whether the table of this quoted name is there and readable as Iceberg."""
    return bool(spark.catalog.tableExists(name))


def current_snapshot(spark: SparkSession, name: str) -> Snapshot | None:
    """The current snapshot of a table, None while nothing was ever committed to it.

    Asked of Iceberg's own API: a query of the metadata tables takes several times as long, and this is
    asked before every append.
    """
    return next(ancestors(spark, name), None)


def ancestors(spark: SparkSession, name: str) -> Iterator[Snapshot]:
    """The snapshots of the current branch, newest first, as far back as they are kept."""
    table = load_table(spark, name)
    at = table.currentSnapshot()
    while at is not None:
        yield _snapshot(at)
        parent = at.parentId()
        at = None if parent is None else table.snapshot(parent)


def snapshot(spark: SparkSession, name: str, snapshot_id: int) -> Snapshot | None:
    """A snapshot that is still kept, on the current branch or not."""
    found = load_table(spark, name).snapshot(snapshot_id)
    return None if found is None else _snapshot(found)


def at_snapshot(spark: SparkSession, name: str, snapshot_id: int) -> DataFrame:
    """The rows of a snapshot, lazily, in the columns that the table had then.

    With the read option `snapshot-id` they would come in the columns that it has now.
    """
    return spark.sql(f"SELECT * FROM {name} VERSION AS OF {int(snapshot_id)}")  # noqa: S608 - quoted


def snapshot_as_of(spark: SparkSession, name: str, moment: int) -> int | None:
    """The id of the snapshot that was current at an epoch millisecond, None before the first that is kept."""
    jvm: Any = spark._jvm
    table = load_table(spark, name)
    at = [entry for entry in table.history() if entry.timestampMillis() <= moment]
    return int(jvm.org.apache.iceberg.util.SnapshotUtil.snapshotIdAsOfTime(table, moment)) if at else None


def first_kept(spark: SparkSession, name: str) -> int | None:
    """When the oldest entry of a table's history was made, in epoch milliseconds."""
    return min((int(e.timestampMillis()) for e in load_table(spark, name).history()), default=None)


def is_sorted(spark: SparkSession, name: str) -> bool:
    """Whether a table has a sort order of its own."""
    return bool(load_table(spark, name).sortOrder().isSorted())


def tables(spark: SparkSession, catalog: str, namespace: str) -> list[str] | None:
    """The Iceberg tables of a namespace, None where there is no such namespace.

    Raises what Spark does where the catalog can't be asked.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import AnalysisException

    try:
        rows = spark.sql(f"SHOW TABLES IN {quoted(catalog, namespace)}").collect()
    except (AnalysisException, Py4JJavaError) as error:
        if not _NO_NAMESPACE.search(str(error)):
            raise
        return None
    return [str(row.tableName) for row in rows]


def cause(error: Exception) -> str:
    """What a failure began with, in a line: an error of Spark's JVM has its causes in its text."""
    first, *rest = str(error).splitlines() or [""]
    if first.startswith("An error occurred while calling") and rest:
        first = rest[0].removeprefix(": ")
    deeper = [line.removeprefix("Caused by: ") for line in rest if line.startswith("Caused by: ")]
    return (deeper[-1] if deeper else first)[:300]


def _snapshot(found: Any) -> Snapshot:
    return Snapshot(
        int(found.snapshotId()), str(found.operation()), dict(found.summary()), int(found.timestampMillis())
    )


def location(spark: SparkSession, name: str) -> str:
    """Where a table's data and metadata are."""
    return str(load_table(spark, name).location())


def load_table(spark: SparkSession, name: str) -> Any:
    """Iceberg's `Table`, loaded from the catalog now."""
    jvm: Any = spark._jvm
    return jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)


def explain_missing_warehouse(error: Exception, catalog: str) -> Exception:
    """Iceberg's refusal to place a table without a warehouse, in words that say what to set."""
    if "warehouse" in str(error) and "null or empty" in str(error):
        return ConfigurationError(
            f"Catalog {catalog} has no warehouse, so a new table has nowhere to go.",
            hint="Set LINEAGE_BRIDGE_CATALOG_WAREHOUSE to an S3 location, such as s3://bucket/prefix.",
        )
    return error
