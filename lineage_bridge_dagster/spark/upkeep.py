"""The upkeep of a table: large files in place of many small ones, and no more history than wanted.

All of it is Iceberg's own procedures on `main`. Other branches and tags keep their snapshots, whatever
expires. A compaction gives way to a writer that changed the same files. Whoever may commit to a table chooses
its location and the files that it lists, so nothing is removed outside of its own folders.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.iceberg.own_folders import (
    INDIRECT,
    PATHS,
    OwnFolders,
    given_paths,
    is_indirect,
    normalized,
)
from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted, string_literal
from lineage_bridge_dagster.catalogs.settings.catalog_properties import CATALOG
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.commits import CommitConflictError, after_conflicts, conflict_of
from lineage_bridge_dagster.spark.iceberg_tables import TableName, current_snapshot, location, open_table
from lineage_bridge_dagster.spark.java_table import JavaTable

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

#: The folders below a table's location that have its files; others may be another table's.
_FOLDERS = ("data", "metadata")

#: Times that a compaction is tried while a writer keeps changing the same files.
_ATTEMPTS = 4

#: The metadata tables that list the files of all snapshots, and the column with their paths.
_LISTS = {"all_files": "file_path", "all_manifests": "path", "snapshots": "manifest_list"}
#: How a catalog has properties for all of its tables (`CatalogProperties`).
_OF_TABLES = ("table-default.", "table-override.")

_log = logging.getLogger(__name__)


class ForeignFilesError(LineageBridgeError):
    """Files that an upkeep would remove may be another table's."""


@dataclass(frozen=True, slots=True)
class UpkeepLimits:
    """What is kept, and where files may be removed.

    Attributes:
        snapshots: of `main`; younger ones than `hours` are kept besides.
        hours: age up to which every snapshot is kept.
        orphan_days: age from which a file that no snapshot has is removed; None to keep them. A file that is
            being written has no snapshot yet, so this is never less than a day.
        location: that our own configuration names for the table; empty for the one that its catalog chooses.
        paths: folders that our own configuration names for its files besides.
    """

    snapshots: int = 100
    hours: float = 0.0
    orphan_days: float | None = 3.0
    location: str = ""
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What was done to a table: numbers of files, but for `snapshots`, which were expired.

    Attributes:
        compacted: data files that were rewritten into `written`.
        deletes_removed: files of deletions that a rewrite has applied or joined.
        expired: files that only expired snapshots had.
        orphans: files that no snapshot had.
    """

    compacted: int = 0
    written: int = 0
    deletes_removed: int = 0
    manifests: int = 0
    snapshots: int = 0
    expired: int = 0
    orphans: int = 0

    @property
    def is_nothing(self) -> bool:
        return self == Upkeep()


def keep_up(spark: SparkSession, name: TableName, limits: UpkeepLimits, now: datetime) -> Upkeep:
    """Compact a table, expire its snapshots and remove files that nothing refers to.

    Each step is complete in itself, so that one that fails leaves what came before.

    Raises:
        CommitConflictError: a writer kept changing the files that were being compacted; nothing was changed.
        ForeignFilesError: the table is where our own configuration does not place it, and nothing was
            changed; or it lists files outside of its own folders, and no snapshot was expired.
    """
    if current_snapshot(spark, name) is None:
        return Upkeep()
    own, at = _own_folders(spark, name, limits.location, limits.paths), location(spark, name)
    is_own = own.has_location(at)
    if not is_own and not _server_places_tables(spark, name.catalog):
        raise ForeignFilesError(
            f"{name} is at {at}, where our own configuration does not place it. Nothing was changed: "
            "the files there may be another table's.",
            hint=f"If it was moved, move it back: ALTER TABLE {name.sql} SET LOCATION. If a topic's entry "
            f"loads it and it belongs there, set location: {at} in that entry.",
        )
    data, deletes = _compacted(spark, name)
    manifests = _call(spark, name, "rewrite_manifests")
    before = open_table(spark, name).snapshot_count()
    _refuse_foreign_files(spark, name, own.of_files(at))
    expired = _expire(spark, name, limits, now)
    return Upkeep(
        compacted=_count(data, "rewritten_data_files_count"),
        written=_count(data, "added_data_files_count"),
        deletes_removed=_count(data, "removed_delete_files_count")
        + _count(deletes, "rewritten_delete_files_count"),
        manifests=_count(manifests, "rewritten_manifests_count"),
        snapshots=before - open_table(spark, name).snapshot_count(),
        expired=sum(_count(expired, column) for column in (expired[0].asDict() if expired else ())),
        orphans=_remove_orphans(spark, name, at, limits, now, is_own=is_own),
    )


def _compacted(spark: SparkSession, name: TableName) -> tuple[list[Row], list[Row]]:
    """Rewrite small data files and files of deletions, again if a writer changed the same ones meanwhile."""
    retrying = after_conflicts(_ATTEMPTS, CommitConflictError, wait=1.0, longest=15.0)

    def rewrite(procedure: str) -> list[Row]:
        try:
            return _call(spark, name, procedure)
        except Exception as error:
            if (conflict := conflict_of(error, name)) is None:
                raise
            raise CommitConflictError(
                f"Another writer kept changing the files of {name} while they were compacted.",
                hint="Nothing was changed; the next upkeep tries again. Have it run when less is written.",
            ) from conflict

    return retrying(rewrite, "rewrite_data_files"), retrying(rewrite, "rewrite_position_delete_files")


def _expire(spark: SparkSession, name: TableName, limits: UpkeepLimits, now: datetime) -> list[Row]:
    older_than = now - timedelta(hours=limits.hours)
    return _call(spark, name, "expire_snapshots", older_than=older_than, retain_last=max(1, limits.snapshots))


def _refuse_foreign_files(spark: SparkSession, name: TableName, folders: Sequence[str]) -> None:
    """Refuse a table whose snapshots list files of other folders: to expire them may remove these files."""
    if found := _foreign_files(spark, name, folders):
        raise ForeignFilesError(
            f"{name} lists {found[0]}, which is in none of its own folders: {', '.join(folders)}. "
            "No snapshot was expired: that may remove another table's files.",
            hint="If the files are the table's, name their folder in the topic's entry: location, or "
            "write.data.path among its properties. Otherwise have the table list them no more, and expire "
            f"its snapshots yourself: CALL {quoted(name.catalog)}.system.expire_snapshots.",
        )


def _remove_orphans(
    spark: SparkSession, name: TableName, location: str, limits: UpkeepLimits, now: datetime, *, is_own: bool
) -> int:
    if limits.orphan_days is None:
        return 0
    if not is_own:
        # S3 Tables, for one, gives each table a bucket of its own, and removes orphans itself.
        _log.warning(
            "No orphan file of %s was removed: the catalog's server placed it at %s, "
            "which may be another table's folder.",
            name,
            location,
        )
        return 0
    older_than = now - timedelta(days=max(1.0, limits.orphan_days))
    found = 0
    for folder in _FOLDERS:
        # Listed by the catalog's own client of the storage; Spark's would need a connector of its own.
        rows = _call(
            spark,
            name,
            "remove_orphan_files",
            older_than=older_than,
            location=f"{location.rstrip('/')}/{folder}",
            prefix_listing=True,
        )
        found += len(rows)
    return found


def _call(spark: SparkSession, name: TableName, procedure: str, **arguments: Any) -> list[Row]:
    """Run one of Iceberg's procedures on the table."""
    given: Mapping[str, Any] = {"table": quoted(name.database, name.table), **arguments}
    listed = ", ".join(f"{argument} => {_literal(value)}" for argument, value in given.items())
    return spark.sql(f"CALL {quoted(name.catalog)}.system.{procedure}({listed})").collect()


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return f"TIMESTAMP {string_literal(value.astimezone(UTC).strftime('%Y-%m-%d %H:%M:%S.%f') + ' UTC')}"
    return string_literal(value) if isinstance(value, str) else str(value)


def _count(rows: list[Row], column: str) -> int:
    return int(rows[0][column] or 0) if rows else 0


def _own_folders(spark: SparkSession, name: TableName, location: str, paths: Sequence[str]) -> OwnFolders:
    """The folders in which a table's files belong, by the catalog's configuration in the session.

    Args:
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


def _server_places_tables(spark: SparkSession, catalog: str) -> bool:
    """Whether a catalog's server decides where its tables are, and who may move them."""
    return spark.conf.get(f"{CATALOG}{catalog}.type", "") == "rest"


def _foreign_files(spark: SparkSession, name: TableName, folders: Sequence[str]) -> list[str]:
    """Some of the files that a table's metadata lists outside of folders.

    Args:
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
