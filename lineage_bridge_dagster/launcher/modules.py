"""The modules that runs of this package use, and that the fork server imports once for all of them."""

from __future__ import annotations

from lineage_bridge_dagster.dagster_internals.runs import EXECUTION_MODULES

MODULES = (
    *EXECUTION_MODULES,
    "lineage_bridge_dagster.component",
    "lineage_bridge_dagster.definitions",
    # For runs that compute lineage on Spark, write tables or push.
    "boto3.s3.transfer",
    "confluent_kafka.admin",
    "dagster_pyspark",
    "lineage_bridge_dagster.catalogs.settings.catalogs_resource",
    "lineage_bridge_dagster.discovery.discover",
    "lineage_bridge_dagster.catalogs.every_catalog",
    "lineage_bridge_dagster.catalogs.push",
    "lineage_bridge_dagster.spark.chains.write",
    "lineage_bridge_dagster.spark.io.manager",
    "lineage_bridge_dagster.spark.session",
    "lineage_bridge_dagster.sql.flink.parser",
    "pandas",
    "pyarrow.dataset",
    "pyiceberg.catalog.rest",
    "pyiceberg.io.pyarrow",
    "pyiceberg.table",
    "pyspark.sql.connect.catalog",
    "pyspark.sql.connect.session",
)
