"""Assets in two catalogs of one Spark session: Glue, and a table bucket by Glue's Iceberg endpoint."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from dagster import AssetIn, AssetKey, AssetsDefinition, ExecuteInProcessResult, asset, materialize
from pyiceberg.catalog import load_catalog
from pyspark.sql import DataFrame, SparkSession

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.confluent.resource import ConfluentSettingsResource
from lineage_bridge_dagster.embedded.rest.server import IcebergRest
from lineage_bridge_dagster.spark.io.manager import PySparkIcebergIOManager
from lineage_bridge_dagster.spark.session import SparkResource
from lineage_bridge_dagster_tests.spark.io.runs import failure_of
from lineage_bridge_dagster_tests.spark_session import BUCKET, CREDENTIALS

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.fixture
def resource(
    rest: IcebergRest, spark: SparkSession, spark_catalog: CatalogSettings, monkeypatch: pytest.MonkeyPatch
) -> SparkResource:
    """Spark with the catalogs `glue`, which is the default one, and `buckets`."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    buckets = {"type": "rest", "uri": rest.glue_url, "warehouse": rest.warehouse}
    return SparkResource(
        catalog=spark_catalog.model_dump(exclude_none=True),
        catalogs={"buckets": {**buckets, "s3_endpoint": spark_catalog.s3_endpoint}},
    )


@pytest.fixture
def namespace(resource: SparkResource) -> str:
    name = f"sales_{uuid.uuid4().hex[:8]}"
    resource.spark_session.sql(f"CREATE NAMESPACE {quoted('buckets', name)}")
    return name


def run(resource: SparkResource, *assets: AssetsDefinition, succeeds: bool = True) -> ExecuteInProcessResult:
    manager = PySparkIcebergIOManager(spark=resource, confluent=ConfluentSettingsResource())
    return materialize(list(assets), resources={"io_manager": manager}, raise_on_error=succeeds)


def in_bucket(namespace: str, table: str, **options: Any) -> dict[str, Any]:
    return {"dagster/table_name": f"{namespace}.{table}", "lineage_bridge/catalog": "buckets", **options}


def test_assets_in_two_catalogs_are_written_and_read_in_one_session(
    resource: SparkResource, spark: SparkSession, namespace: str, database: str
) -> None:
    @asset(key="orders", metadata={"dagster/table_name": f"{database}.orders.v1"})
    def orders() -> DataFrame:
        return spark.createDataFrame([(1, "de"), (2, "fr")], "id int, country string")

    @asset(ins={"orders": AssetIn(AssetKey("orders"))}, metadata=in_bucket(namespace, "copied"))
    def copied(orders: DataFrame) -> DataFrame:
        return orders.where("country = 'de'")

    @asset(
        ins={"copied": AssetIn(AssetKey("copied"))},
        metadata={"dagster/table_name": f"{database}.back", "write_mode": "append"},
    )
    def back(copied: DataFrame) -> DataFrame:
        return copied

    assert run(resource, orders, copied, back).success
    found = {}
    for catalog, table in (("glue", "orders.v1"), ("glue", "back"), ("buckets", "copied")):
        opened = load_catalog(catalog, **resource.all_catalogs.pyiceberg_properties(catalog))
        loaded = opened.load_table((namespace if catalog == "buckets" else database, table))
        found[table] = loaded.scan().to_arrow().to_pylist()
    assert sorted(row["id"] for row in found["orders.v1"]) == [1, 2]
    assert found["copied"] == found["back"] == [{"id": 1, "country": "de"}]


def test_each_write_mode_works_in_a_rest_catalog(
    resource: SparkResource, spark: SparkSession, namespace: str
) -> None:
    def numbers(mode: str, **keys: Any) -> AssetsDefinition:
        @asset(key=mode, metadata=in_bucket(namespace, mode, write_mode=mode, **keys))
        def written() -> DataFrame:
            return spark.createDataFrame([(1,), (2,)], "id int")

        return written

    assets = [numbers("append"), numbers("overwrite"), numbers("merge", join_cols=["id"])]
    assert run(resource, *assets).success
    assert run(resource, *assets).success
    for mode in ("append", "overwrite", "merge"):
        rows = sorted(row.id for row in spark.table(quoted("buckets", namespace, mode)).collect())
        assert rows == ([1, 1, 2, 2] if mode == "append" else [1, 2])


def test_a_namespace_that_is_missing_is_named_with_what_to_create(
    resource: SparkResource, spark: SparkSession, namespace: str
) -> None:
    @asset(metadata=in_bucket(f"{namespace}x", "orders"))
    def orders() -> DataFrame:
        return spark.range(1)

    failure = failure_of(run(resource, orders, succeeds=False))
    assert f"Catalog buckets has no namespace {namespace}x; it has {namespace}" in failure
    assert f"CREATE NAMESPACE `buckets`.`{namespace}x`" in failure
    assert not spark.catalog.databaseExists(quoted("buckets", f"{namespace}x"))


def test_a_catalog_that_refuses_fails_its_assets_and_the_rest_of_the_run_goes_on(
    resource: SparkResource,
    rest: IcebergRest,
    spark: SparkSession,
    namespace: str,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @asset(metadata=in_bucket(namespace, "orders"))
    def there() -> DataFrame:
        return spark.range(1)

    @asset(metadata={"dagster/table_name": f"{database}.orders"})
    def here() -> DataFrame:
        return spark.range(3)

    monkeypatch.setattr(rest, "clock_skew_seconds", 600.0)
    result = run(resource, there, here, succeeds=False)
    failure = failure_of(result)
    assert "Signature expired" in failure
    assert "Correct this machine's clock" in failure
    assert spark.table(quoted("glue", database, "orders")).count() == 3


def test_a_table_where_tableflow_keeps_its_own_is_refused(
    resource: SparkResource, spark: SparkSession, namespace: str
) -> None:
    table = quoted("buckets", namespace, "orders")
    location = f"s3://{BUCKET}/10011010/11101100/org-1/env-2/lkc-3/v1/{namespace}"
    spark.sql(f"CREATE TABLE {table} (id bigint) USING iceberg LOCATION '{location}'")

    @asset(metadata=in_bucket(namespace, "orders", write_mode="append"))
    def orders() -> DataFrame:
        return spark.range(1)

    assert "would corrupt it" in failure_of(run(resource, orders, succeeds=False))
    assert spark.table(table).count() == 0
