"""Spark runs no code that a table, or the server of a catalog, names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.times import utc_now
from lineage_bridge_dagster.spark import classic
from lineage_bridge_dagster.spark.foreign_catalogs import without_servers_code
from lineage_bridge_dagster.spark.foreign_code import PROVIDER
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.source import AssetSource
from lineage_bridge_dagster.spark.io.write import write_frame
from lineage_bridge_dagster.spark.sql_table import SqlTable
from lineage_bridge_dagster.spark.upkeep import UpkeepLimits, keep_up
from lineage_bridge_dagster_tests.rest_server import RestServer, running
from lineage_bridge_dagster_tests.spark.io.reading import read_asset


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_table_that_names_code_is_neither_read_nor_written(spark: SparkSession, database: str) -> None:
    table = TableName("glue", database, "orders.v1")
    source = AssetSource("table", database=database, table=table.table)
    rows = spark.range(2)
    write_frame(rows, table, WriteOptions())
    spark.sql(f"ALTER TABLE {table.sql} SET TBLPROPERTIES ('{PROVIDER}' = 'com.example.Planted')")
    # Iceberg itself looks for the class.
    with pytest.raises(Exception, match=r"com\.example\.Planted"):
        rows.writeTo(table.sql).append()
    calls: list[Callable[[], Any]] = [
        lambda: write_frame(rows, table, WriteOptions()),
        lambda: write_frame(rows, table, WriteOptions(write_mode="append")),
        lambda: write_frame(rows, table, WriteOptions(write_mode="merge", join_cols=("id",))),
        lambda: read_asset(spark, source),
        lambda: keep_up(spark, table, UpkeepLimits(), utc_now()),
        lambda: classic.find_table(spark, table.sql),
        lambda: SqlTable(spark, table.catalog, table.sql),
    ]
    for call in calls:
        with pytest.raises(ConfigurationError, match=f"{PROVIDER}=com.example.Planted") as raised:
            call()
        assert f"UNSET TBLPROPERTIES ('{PROVIDER}')" in raised.value.hint
    spark.sql(f"ALTER TABLE {table.sql} UNSET TBLPROPERTIES ('{PROVIDER}')")
    write_frame(rows, table, WriteOptions())
    assert read_asset(spark, source).count() in (2, 4)

    # What our own configuration names is ours.
    provider = "org.apache.iceberg.LocationProviders$DefaultLocationProvider"
    spark.sql(f"ALTER TABLE {table.sql} SET TBLPROPERTIES ('{PROVIDER}' = '{provider}')")
    with pytest.raises(ConfigurationError, match="has the property"):
        classic.find_table(spark, table.sql)
    spark.conf.set(f"spark.sql.catalog.glue.{PROVIDER}", provider)
    try:
        assert classic.find_table(spark, table.sql) is not None
    finally:
        spark.conf.unset(f"spark.sql.catalog.glue.{PROVIDER}")


@pytest.fixture
def server() -> Iterator[RestServer]:
    with running(RestServer()) as found:
        yield found


@pytest.mark.parametrize("place", ["defaults", "overrides"])
@pytest.mark.parametrize(
    "key",
    [
        "io-impl",
        "catalog-impl",
        "rest.auth.type",
        "metrics-reporter-impl",
        "client.factory",
        "s3.client-factory-impl",
        "client.credentials-provider",
        "lock-impl",
        "s3.proxy-uri",
        "client.profile-name",
        "s3.signer.uri",
    ],
)
def test_spark_goes_without_a_catalog_whose_server_names_code(
    server: RestServer, place: str, key: str
) -> None:
    server.config[place] = {key: "com.example.Planted"}
    catalogs = server.catalogs()
    assert list(without_servers_code(catalogs)) == ["glue"]
    alone = Catalogs(catalogs["lake"], variables={"LINEAGE_BRIDGE_CATALOG_CREDENTIAL": "client:secret"})
    with pytest.raises(ConfigurationError, match=f"for Spark to use: {key}"):
        without_servers_code(alone)
    # What our own configuration names is ours.
    own = server.catalogs(properties={key: "com.example.Planted"})
    assert list(without_servers_code(own)) == ["glue", "lake"]


def test_spark_goes_without_a_catalog_that_sends_clients_elsewhere(server: RestServer) -> None:
    server.config["overrides"] = {"uri": "https://evil.example.com"}
    assert list(without_servers_code(server.catalogs())) == ["glue"]


def test_what_only_python_reads_leaves_spark_its_catalog(server: RestServer) -> None:
    server.config["defaults"] = {
        "py-io-impl": "com.example.Planted",
        "s3.signer": "S3V4RestSigner",
        "s3.signer.uri": f"{server.url}/sign",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.endpoint": "http://minio.example.com:9000",
    }
    assert list(without_servers_code(server.catalogs())) == ["glue", "lake"]


def test_a_catalog_whose_server_names_none_or_does_not_answer_stays(server: RestServer) -> None:
    assert list(without_servers_code(server.catalogs())) == ["glue", "lake"]
    away = CatalogSettings(name="away", type="rest", uri="http://127.0.0.1:9")
    assert list(without_servers_code(Catalogs(CatalogSettings(), {"away": away}))) == ["glue", "away"]
