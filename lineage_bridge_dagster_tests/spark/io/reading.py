"""Inputs that Spark reads, with what a test leaves out."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.spark.io.increments import Downstream
from lineage_bridge_dagster.spark.io.options import ReadOptions
from lineage_bridge_dagster.spark.io.read import read_frame
from lineage_bridge_dagster.spark.io.requests import ReadRequest
from lineage_bridge_dagster.spark.io.source import AssetSource


def read_asset(
    spark: SparkSession,
    source: AssetSource,
    catalog: str = "glue",
    namespace: str = "lineage_bridge",
    *,
    confluent: Callable[[], ConfluentSettings] = ConfluentSettings,
    options: ReadOptions | None = None,
    downstream: Downstream | None = None,
    label: str = "",
) -> DataFrame:
    """A frame of a topic, a table or a chain."""
    request = ReadRequest(
        source,
        catalog,
        Catalogs.of(CatalogSettings()),
        namespace,
        options or ReadOptions(),
        label or source.topic or source.table or source.node_id,
        downstream=downstream,
    )
    return read_frame(spark, request, confluent)
