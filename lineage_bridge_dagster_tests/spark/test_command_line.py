"""Secrets of a session are on no command line, which every user of the machine may read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil
import pytest

from lineage_bridge_dagster_tests.command_lines import command_lines
from lineage_bridge_dagster_tests.spark_session import COMMAND_LINE_SECRET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def test_command_line_of_the_driver_has_no_secret_and_no_catalog(spark: SparkSession) -> None:
    lines = command_lines(psutil.Process())
    # It has what the JVM starts with.
    assert any("spark.driver.memory=1g" in line for line in lines)
    assert not any(COMMAND_LINE_SECRET in line or "spark.sql.catalog" in line for line in lines)
    conf = spark.sparkContext.getConf()
    assert conf.get("spark.hadoop.fs.s3a.secret.key") == COMMAND_LINE_SECRET
    assert conf.get("spark.sql.catalog.glue") == "org.apache.iceberg.spark.SparkCatalog"
    assert spark.sql("SELECT 1").first() == (1,)
