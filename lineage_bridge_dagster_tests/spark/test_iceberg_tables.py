"""Namespaces and tables of a catalog, through Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.spark.iceberg_tables import ensure_namespace, table_names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


class Overtaken:
    """A session whose namespaces somebody else creates a moment earlier, if `created`."""

    def __init__(self, spark: SparkSession, *, created: bool) -> None:
        self._spark, self._created = spark, created

    def sql(self, statement: str) -> Any:
        if statement.startswith("CREATE NAMESPACE"):
            if self._created:
                self._spark.sql(statement)
            self._spark.sql("CREATE NAMESPACE glue.default.nested")
        return self._spark.sql(statement)


def test_a_namespace_that_another_writer_creates_at_the_same_time_is_there(
    spark: SparkSession, spark_catalog: CatalogSettings
) -> None:
    session: Any = Overtaken(spark, created=True)
    ensure_namespace(session, spark_catalog.name, "at_once")
    assert table_names(spark, spark_catalog.name, "at_once") == []


def test_a_namespace_that_cannot_be_created_is_an_error(
    spark: SparkSession, spark_catalog: CatalogSettings
) -> None:
    session: Any = Overtaken(spark, created=False)
    with pytest.raises(Exception, match=r"nested|namespace"):
        ensure_namespace(session, spark_catalog.name, "never")
    assert table_names(spark, spark_catalog.name, "never") is None
