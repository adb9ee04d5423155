"""What Spark is asked of an Iceberg table besides its rows: is it there, and what was last committed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.iceberg import quoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of a table's current branch; `summary` as Iceberg's specification names its keys."""

    snapshot_id: int
    operation: str
    summary: Mapping[str, str] = field(default_factory=dict)


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
    table = _load(spark, name)
    at = table.currentSnapshot()
    while at is not None:
        yield Snapshot(int(at.snapshotId()), str(at.operation()), dict(at.summary()))
        parent = at.parentId()
        at = None if parent is None else table.snapshot(parent)


def location(spark: SparkSession, name: str) -> str:
    """Where a table's data and metadata are."""
    return str(_load(spark, name).location())


def _load(spark: SparkSession, name: str) -> Any:
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
