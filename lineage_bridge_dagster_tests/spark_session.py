"""The tests' shared Spark session, on its own Glue and S3.

A session takes many seconds to start, so tests share one and each test uses its own database.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import duckdb
import pytest

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws
from lineage_bridge_dagster.embedded.materializer import class_conf
from lineage_bridge_dagster_tests.duckdb_cli import packaged_duckdb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REGION = "us-east-1"
BUCKET = "lake"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "AWS_REGION": REGION}
COMMAND_LINE_SECRET = "5ecret-of-a-session"
#: Tests run each query once or twice, too few times for optimized code to pay off. Java then keeps only 48 MB
#: of compiled code, unless told otherwise: a few tests fill them, and what is dropped is compiled again. That
#: Java need not verify the classes of Spark, and that Spark need not generate code, saves a fifth each; that
#: Java compiles a method after a tenth of the usual calls saves an eighth more. The embedded stack's Spark
#: does all of it.
SMALL_SPARK = {
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:CompileThresholdScaling=0.1 -XX:ReservedCodeCacheSize=240m "
        "-XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
    ),
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
    # As where topics are loaded: PySpark would look for IPython, and call the JVM four times, for each
    # operation on a column.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.log.level": "ERROR",
    # A session of a user has settings such as this; `test_command_line.py` looks for the value.
    "spark.hadoop.fs.s3a.secret.key": COMMAND_LINE_SECRET,
}


@pytest.fixture(scope="session")
def spark_aws() -> Iterator[StrictAws]:
    """Glue and S3 for the session's tests, with one bucket."""
    with StrictAws() as aws:
        aws.client("s3", REGION).create_bucket(Bucket=BUCKET)
        yield aws


@pytest.fixture(scope="session")
def spark_catalog(spark_aws: StrictAws) -> CatalogSettings:
    """The session's catalog `glue`."""
    return CatalogSettings(
        warehouse=f"s3://{BUCKET}/warehouse",
        region=REGION,
        glue_endpoint=spark_aws.endpoint_url,
        s3_endpoint=spark_aws.endpoint_url,
    )


@pytest.fixture(scope="session")
def classic_spark(spark_catalog: CatalogSettings) -> Iterator[SparkSession]:
    """A small local session that listens only on the loopback."""
    from lineage_bridge_dagster.spark.session import spark_session

    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("AWS_"):
                patch.delenv(name)
        # The JVM reads its environment once, when it starts.
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        session = spark_session(
            Catalogs.of(spark_catalog),
            class_conf({"spark.master": "local[2]", "spark.driver.memory": "1g", **SMALL_SPARK}),
            app_name="lineage-bridge-tests",
        )
    yield session
    session.stop()


@pytest.fixture(scope="session")
def spark(classic_spark: SparkSession) -> SparkSession:
    """The session of tests that run with one kind alone."""
    return classic_spark


@pytest.fixture
def database() -> str:
    """A unique Glue database name, hyphenated like a cluster's id."""
    return f"lkc-{uuid.uuid4().hex[:8]}"


def pyiceberg_properties(catalog: CatalogSettings) -> dict[str, str]:
    """Return the properties for `pyiceberg.catalog.load_catalog` to open the tests' catalog."""
    return {
        "type": "glue",
        "client.region": REGION,
        "client.access-key-id": ACCESS_KEY,
        "client.secret-access-key": SECRET_KEY,
        "glue.endpoint": catalog.glue_endpoint or "",
        "s3.endpoint": catalog.s3_endpoint or "",
    }


def duckdb_reader(catalog: CatalogSettings) -> duckdb.DuckDBPyConnection:
    """Return a DuckDB connection that can read the catalog's S3, with the packaged extensions loaded."""
    connection = packaged_duckdb("avro", "httpfs", "iceberg")
    host = (catalog.s3_endpoint or "").removeprefix("http://")
    connection.execute(
        f"CREATE SECRET (TYPE s3, KEY_ID '{ACCESS_KEY}', SECRET '{SECRET_KEY}', REGION '{REGION}', "
        f"ENDPOINT '{host}', URL_STYLE 'path', USE_SSL false)"
    )
    return connection
