"""Which tables an asset may be written to: decided from settings and definitions, without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dagster import AssetIn, AssetKey, AssetsDefinition, AssetSpec, Definitions, asset, materialize

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.confluent.resource import ConfluentSettingsResource
from lineage_bridge_dagster.dagster_internals.definitions import assets_beside
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.manager import PySparkIcebergIOManager
from lineage_bridge_dagster.spark.io.source import AssetSource
from lineage_bridge_dagster.spark.io.targets import output_table, refuse_tableflows
from lineage_bridge_dagster.spark.session import SparkResource

ACCOUNT = "111122223333"
TABLEFLOWS = {
    "lineage_bridge/node_id": "aws:glue_table:a",
    "lineage_bridge/node_type": "catalog_table",
    "lineage_bridge/database": "lkc-abc123",
    "lineage_bridge/table": "orders.v1",
    "lineage_bridge/written_by": "Confluent Tableflow from lkc-abc123.orders.v1",
    "lineage_bridge/written_by_tableflow": True,
}


def rest(name: str, **fields: Any) -> CatalogSettings:
    return CatalogSettings(name=name, type="rest", uri="http://127.0.0.1:1/api", **fields)


CATALOGS = Catalogs(
    CatalogSettings(region="eu-west-1"),
    {
        "lake": rest("lake"),
        "shared": rest("shared", read_only=True),
        "endpoint": rest("endpoint", warehouse=ACCOUNT, signing_name="glue", signing_region="eu-west-1"),
        "bucket": rest("bucket", warehouse=f"{ACCOUNT}:s3tablescatalog/b", signing_name="glue"),
        "elsewhere": CatalogSettings(name="elsewhere", region="us-east-1"),
    },
    lineage="lake",
)


@pytest.mark.parametrize(
    ("metadata", "catalog"),
    [
        ({"dagster/table_name": "sales.orders"}, "glue"),
        ({"dagster/table_name": "sales.orders", "lineage_bridge/catalog": "lake"}, "lake"),
        (TABLEFLOWS, "glue"),
        ({**TABLEFLOWS, "lineage_bridge/catalog": "bucket"}, "bucket"),
        ({"lineage_bridge/node_type": "upstream_chain", "lineage_bridge/node_id": "t"}, "lake"),
    ],
)
def test_an_asset_is_read_from_the_catalog_that_has_it(metadata: dict[str, str], catalog: str) -> None:
    assert AssetSource.from_metadata(metadata).catalog_in(CATALOGS).name == catalog


def test_a_table_of_glue_is_read_through_glue_also_if_another_catalog_is_the_default() -> None:
    catalogs = Catalogs(rest("lake"), {"glue": CatalogSettings()})
    assert AssetSource.from_metadata(TABLEFLOWS).catalog_in(catalogs).name == "glue"
    own = {"dagster/table_name": "sales.orders"}
    assert AssetSource.from_metadata(own).catalog_in(catalogs).name == "lake"


def test_an_output_is_written_to_the_catalog_that_its_metadata_names() -> None:
    table = {"dagster/table_name": "sales.orders.v1"}
    assert output_table(table, (), CATALOGS) == TableName("glue", "sales", "orders.v1")
    named = {**table, "lineage_bridge/catalog": "lake"}
    assert output_table(named, (), CATALOGS) == TableName("lake", "sales", "orders.v1")
    with pytest.raises(ConfigurationError, match="no catalog 'laek'"):
        output_table({**table, "lineage_bridge/catalog": "laek"}, (), CATALOGS)


def test_a_read_only_catalog_refuses_writes_and_names_those_that_do_not() -> None:
    metadata = {"dagster/table_name": "sales.orders", "lineage_bridge/catalog": "shared"}
    with pytest.raises(ConfigurationError, match="'shared' is read-only") as raised:
        output_table(metadata, (), CATALOGS)
    assert "glue, lake, endpoint" in raised.value.hint


@pytest.mark.parametrize(
    ("table", "refused"),
    [
        (TableName("glue", "lkc-abc123", "orders.v1"), True),
        # Glue's names have no capitals.
        (TableName("glue", "lkc-abc123", "Orders.V1"), True),
        # The same table by Glue's Iceberg endpoint.
        (TableName("endpoint", "lkc-abc123", "orders.v1"), True),
        (TableName("bucket", "lkc-abc123", "orders.v1"), False),
        (TableName("lake", "lkc-abc123", "orders.v1"), False),
        (TableName("elsewhere", "lkc-abc123", "orders.v1"), False),
        (TableName("glue", "lkc-abc123", "orders"), False),
        (TableName("glue", "sales", "orders.v1"), False),
    ],
)
def test_tableflows_tables_are_refused_by_every_way_to_them(table: TableName, refused: bool) -> None:
    others: list[dict[str, Any]] = [{}, {"lineage_bridge/written_by": "Spark"}]
    if not refused:
        refuse_tableflows(table, CATALOGS, [*others, TABLEFLOWS])
        return
    with pytest.raises(
        ConfigurationError, match=r"lkc-abc123\.orders\.v1 writes .* would corrupt it"
    ) as raised:
        refuse_tableflows(table, CATALOGS, [*others, TABLEFLOWS])
    assert "dagster/table_name" in raised.value.hint


class NoSpark(SparkResource):
    """A Spark that must not start."""

    @property
    def spark_session(self) -> Any:
        raise AssertionError("Spark was started")


def failure_of(*assets: AssetsDefinition | AssetSpec) -> str:
    """The failure of a run of assets whose IO manager has a read-only catalog, and no Spark to start."""
    shared = {"name": "shared", "type": "rest", "uri": "http://127.0.0.1:1/api", "read_only": True}
    spark = NoSpark(catalogs={"shared": shared})
    manager = PySparkIcebergIOManager(spark=spark, confluent=ConfluentSettingsResource())
    result = materialize(list(assets), resources={"io_manager": manager}, raise_on_error=False)
    (event,) = result.get_step_failure_events()
    data = event.step_failure_data
    return str((data.user_failure_data and data.user_failure_data.description) or data.error)


ORDERS = AssetSpec(AssetKey(["glue", "lkc-abc123", "orders.v1"]), metadata=TABLEFLOWS)


@pytest.mark.parametrize("write_mode", ["append", "overwrite", "merge", "overwrite_slice"])
@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"dagster/table_name": "lkc-abc123.orders.v1"}, "would corrupt it"),
        ({"dagster/table_name": "sales.orders", "lineage_bridge/catalog": "shared"}, "read-only"),
    ],
)
def test_a_write_that_is_not_allowed_fails_before_spark_starts(
    metadata: dict[str, str], message: str, write_mode: str
) -> None:
    @asset(
        key=["sales", "copy"],
        ins={"orders": AssetIn(ORDERS.key)},
        metadata={**metadata, "write_mode": write_mode},
    )
    def copy(orders: Any) -> Any:
        raise AssertionError("the asset was computed")

    assert message in failure_of(ORDERS, copy)


def test_a_write_without_inputs_fails_before_anything_is_written() -> None:
    @asset(key=["lkc-abc123", "orders.v1"], deps=[ORDERS])
    def copy() -> Any:
        return object()

    assert "would corrupt it" in failure_of(ORDERS, copy)


def test_a_table_is_tableflows_whichever_assets_the_run_has() -> None:
    repository = Definitions(assets=[ORDERS]).get_repository_def()
    found = dict(assets_beside(SimpleNamespace(repository_def=repository)))
    with pytest.raises(ConfigurationError, match="would corrupt it"):
        refuse_tableflows(TableName("glue", "lkc-abc123", "orders.v1"), CATALOGS, found.values())
