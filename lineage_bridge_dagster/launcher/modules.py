"""The modules that runs of this package use, in the groups in which the fork server imports them."""

from __future__ import annotations

from lineage_bridge_dagster.dagster_internals import EXECUTION_MODULES

#: What every run uses, a refresh of the discovery among them: Dagster, and the definitions.
EVERY_RUN = (
    *EXECUTION_MODULES,
    "lineage_bridge_dagster.component",
    "lineage_bridge_dagster.definitions",
)

#: What a run uses that computes lineage on Spark, writes tables or pushes.
LINEAGE_RUNS = (
    "boto3.s3.transfer",
    "confluent_kafka.admin",
    "dagster_pyspark",
    "lineage_bridge_dagster.catalogs.settings.catalogs_resource",
    "lineage_bridge_dagster.discovery.discover",
    "lineage_bridge_dagster.catalogs.push",
    "lineage_bridge_dagster.spark.chains.write",
    "lineage_bridge_dagster.spark.io.manager",
    "lineage_bridge_dagster.spark.session",
    "lineage_bridge_dagster.sql.flink.parser",
    "lineage_bridge_dagster.catalogs.rest.push",
    "pandas",
    "pyarrow.dataset",
    "pyiceberg.catalog.rest",
    "pyiceberg.io.pyarrow",
    "pyiceberg.table",
    "pyspark.sql.connect.catalog",
    "pyspark.sql.connect.session",
)
