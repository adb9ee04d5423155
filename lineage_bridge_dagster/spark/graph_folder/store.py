"""Storing the lineage of a graph's folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.graph_folder import Provenance
from lineage_bridge_dagster.lineage.graph_parquet import load_coverage
from lineage_bridge_dagster.lineage.sql_modes import at_least_as_strict
from lineage_bridge_dagster.spark import classic
from lineage_bridge_dagster.spark.chains.write import NAMESPACE, LineageWrite, write_lineage, write_source
from lineage_bridge_dagster.spark.graph_folder.source import FolderSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def write_folder_lineage(
    spark: SparkSession,
    folder: Path,
    table_ids: Sequence[str] | None = None,
    catalog: str = "glue",
    namespace: str = NAMESPACE,
    *,
    sql: str = "redacted",
    progress: Callable[[str], None] = lambda _line: None,
) -> LineageWrite:
    """`write_lineage` of a folder of Parquet files.

    The graph is loaded into memory if someone else wrote the files, if statements in them are not limited as
    much as the setting wants, or if the session's workers are not of this machine.

    Raises:
        ConfigurationError: the folder has no readable graph.
    """
    source = source_of(spark, folder, sql)
    if source is None:
        discovery = graph_json.load(folder)
        return write_lineage(spark, discovery, table_ids, catalog, namespace, sql=sql, progress=progress)
    return write_source(spark, source, table_ids, catalog, namespace, sql=sql, progress=progress)


def source_of(spark: SparkSession, folder: Path, sql: str) -> FolderSource | None:
    """The folder as a source; None if it has to be loaded."""
    about = Provenance.of_folder(folder)
    if about is None or about.sql is None or not at_least_as_strict(about.sql, sql):
        return None
    if not (classic.is_classic(spark) and classic.is_local(spark)):
        return None
    return FolderSource(folder.resolve(), about, load_coverage(folder))
