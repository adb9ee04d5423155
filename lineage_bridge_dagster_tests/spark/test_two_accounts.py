"""One Spark session with the catalogs of two accounts, as two instances of the component have it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.commits import CommitMarker
from lineage_bridge_dagster.spark.iceberg_tables import TableName, ensure_namespace
from lineage_bridge_dagster.spark.io.increments import run_marker
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.write import write_frame
from lineage_bridge_dagster.spark.session import spark_session
from lineage_bridge_dagster_tests.spark_session import REGION

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

APPEND = WriteOptions(write_mode="append")


def marker() -> CommitMarker:
    return run_marker("run", {})


@pytest.fixture(scope="module")
def other_aws() -> Iterator[StrictAws]:
    with StrictAws() as aws:
        aws.client("s3", REGION).create_bucket(Bucket="other")
        yield aws


@pytest.fixture
def other(other_aws: StrictAws) -> CatalogSettings:
    """The default catalog of an instance with the name `us`."""
    return CatalogSettings(
        name="glue_us",
        warehouse="s3://other/warehouse",
        region=REGION,
        glue_endpoint=other_aws.endpoint_url,
        s3_endpoint=other_aws.endpoint_url,
    )


def tables(aws: StrictAws, database: str) -> set[str]:
    found = aws.client("glue", REGION).get_tables(DatabaseName=database)["TableList"]
    return {table["Name"] for table in found}


def test_each_catalog_writes_to_its_own_account_and_frames_meet(
    spark: SparkSession, spark_aws: StrictAws, other_aws: StrictAws, other: CatalogSettings, database: str
) -> None:
    assert spark_session(Catalogs.of(other)).conf.get("spark.sql.catalog.glue_us.glue.endpoint")
    for catalog, table in (("glue", "here"), ("glue_us", "there")):
        ensure_namespace(spark, catalog, database)
        rows = spark.createDataFrame([(1, table)], f"id int, {table} string")
        write_frame(rows, TableName(catalog, database, table), APPEND, marker())
    assert tables(spark_aws, database) == {"here"}
    assert tables(other_aws, database) == {"there"}
    here = spark.table(TableName("glue", database, "here").sql)
    joined = here.join(spark.table(TableName("glue_us", database, "there").sql), "id")
    # A frame of both accounts is written to the one whose instance writes it.
    write_frame(joined, TableName("glue_us", database, "both"), APPEND, marker())
    assert tables(spark_aws, database) == {"here"}
    assert tables(other_aws, database) == {"both", "there"}


def test_catalog_of_one_name_in_two_accounts_is_refused(spark: SparkSession, other: CatalogSettings) -> None:
    with pytest.raises(ConfigurationError, match=r"'glue'.*glue\.endpoint.*warehouse"):
        spark_session(Catalogs.of(other.model_copy(update={"name": "glue"})))


def test_the_same_catalog_again_is_accepted(
    spark: SparkSession, spark_catalog: CatalogSettings, other: CatalogSettings
) -> None:
    """Each run, and each resource of a run, asks for its catalogs; secrets count as they are."""
    key = "s3.secret-access-key"
    secret = other.model_copy(update={"name": "with_secret", "properties": {key: "hidden"}})
    for _ in range(2):
        for catalog in (spark_catalog, secret):
            assert spark_session(Catalogs.of(catalog)).conf.get("spark.sql.catalog.glue")
    changed = secret.model_copy(update={"properties": {key: "other"}})
    with pytest.raises(ConfigurationError, match=key) as raised:
        spark_session(Catalogs.of(changed))
    assert "hidden" not in str(raised.value)
