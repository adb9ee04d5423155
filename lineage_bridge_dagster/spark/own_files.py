"""Whether the files of a table are in folders of its own, asked through Spark."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.iceberg.own_folders import (
    INDIRECT,
    PATHS,
    OwnFolders,
    given_paths,
    is_indirect,
    normalized,
)
from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.catalogs.settings.catalog_properties import CATALOG
from lineage_bridge_dagster.spark.iceberg_tables import TableName, open_table
from lineage_bridge_dagster.spark.java_table import JavaTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The metadata tables that list the files of all snapshots, and the column with their paths.
_LISTS = {"all_files": "file_path", "all_manifests": "path", "snapshots": "manifest_list"}
#: How a catalog has properties for all of its tables (`CatalogProperties`).
_OF_TABLES = ("table-default.", "table-override.")


def own_folders(spark: SparkSession, name: TableName, location: str, paths: Sequence[str]) -> OwnFolders:
    """The folders in which a table's files belong, by the catalog's configuration in the session.

    Args:
        spark: the session.
        name: the table, which exists.
        location: that our own configuration names for it; empty if it names none.
        paths: folders that it names for files of the table.
    """

    def configured(key: str) -> str:
        return str(spark.conf.get(f"{CATALOG}{name.catalog}.{key}", "") or "")

    of_tables = ({path: configured(prefix + path) for path in PATHS} for prefix in _OF_TABLES)
    described = spark.sql(f"DESCRIBE NAMESPACE EXTENDED {quoted(name.catalog, name.database)}").collect()
    table = open_table(spark, name)
    return OwnFolders(
        name.database,
        name.table,
        location=location,
        paths=(*paths, *chain.from_iterable(map(given_paths, of_tables))),
        warehouse=configured("warehouse"),
        namespace=next((str(row.info_value) for row in described if row.info_name == "Location"), ""),
        uuid=table.uuid if isinstance(table, JavaTable) else "",
    )


def server_places_tables(spark: SparkSession, catalog: str) -> bool:
    """Whether a catalog's server decides where its tables are, and who may move them."""
    return spark.conf.get(f"{CATALOG}{catalog}.type", "") == "rest"


def foreign_files(spark: SparkSession, name: TableName, folders: Sequence[str]) -> list[str]:
    """Some of the files that a table's metadata lists outside of folders.

    Args:
        spark: the session.
        name: the table.
        folders: normalized, each with a final slash.
    """
    from pyspark.sql import functions as F

    parts = (spark.table(f"{name.sql}.{list_}").select(F.col(path)) for list_, path in _LISTS.items())
    path = F.col("path")
    plain = F.regexp_replace(F.regexp_replace(path, r"^(?i:s3[an]?)://", "s3://"), r"^(?i:file):(//)?/", "/")
    outside = reduce(lambda found, folder: found & ~plain.startswith(folder), folders, F.lit(True))
    listed = reduce(lambda one, other: one.union(other), parts).toDF("path").where(path.isNotNull())
    found = [str(row.path) for row in listed.where(outside | path.rlike(INDIRECT)).limit(1).collect()]
    table = open_table(spark, name)
    # No metadata table lists the files of statistics, so they are out of reach without a JVM.
    statistics = table.statistics() if isinstance(table, JavaTable) else []
    return found + [
        each for each in statistics if not normalized(each).startswith(tuple(folders)) or is_indirect(each)
    ]
