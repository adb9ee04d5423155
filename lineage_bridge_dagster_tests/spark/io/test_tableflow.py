"""Tables of Tableflow's own catalog in Spark: by the IO manager, and by the statement of their page."""

from __future__ import annotations

import uuid

import pyarrow as pa
import pytest
from dagster import AssetIn, AssetSpec, asset, materialize
from pyiceberg.catalog.rest import RestCatalog
from pyspark.sql import DataFrame, SparkSession

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TableflowPlace
from lineage_bridge_dagster.confluent.resource import ConfluentSettingsResource
from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.embedded.rest.server import TABLEFLOW, IcebergRest
from lineage_bridge_dagster.spark.io.manager import PySparkIcebergIOManager
from lineage_bridge_dagster.spark.session import SparkResource
from lineage_bridge_dagster.specs.pages.queries import QueriedTable, QueryPlace
from lineage_bridge_dagster.specs.pages.queries import spark as spark_statement
from lineage_bridge_dagster_tests.dagster_ui import eventually
from lineage_bridge_dagster_tests.spark_session import CREDENTIALS

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

KEY = world.api_key("tableflow")
PLACE = TableflowPlace(world.ORGANIZATION_ID, world.ENVIRONMENT_ID, "AWS", "us-east-1")


@pytest.fixture
def cluster(rest: IcebergRest, spark_aws: StrictAws, monkeypatch: pytest.MonkeyPatch) -> str:
    """A cluster with the Tableflow table `orders.v1`, and the key that opens it."""
    for name, value in {
        **CREDENTIALS,
        "LINEAGE_BRIDGE_TABLEFLOW_API_KEY": KEY.key,
        "LINEAGE_BRIDGE_TABLEFLOW_API_SECRET": KEY.secret,
    }.items():
        monkeypatch.setenv(name, value)
    namespace = f"lkc-{uuid.uuid4().hex[:8]}"
    writer = RestCatalog(
        "writer",
        uri=rest.backend(TABLEFLOW),
        **{"s3.endpoint": spark_aws.endpoint_url, "s3.region": "us-east-1"},
    )
    writer.create_namespace(namespace)
    rows = pa.table({"id": [1, 2], "country": ["de", "fr"]})
    writer.create_table((namespace, "orders.v1"), rows.schema).append(rows)
    return namespace


def resource(rest: IcebergRest, spark_catalog: CatalogSettings, name: str = "") -> SparkResource:
    """Spark with the catalogs that one entry stands for; its name is new, as Spark keeps those it has."""
    entry = {"type": "tableflow", "uri": rest.glue_url.removesuffix("/iceberg")}
    return SparkResource(
        catalog=spark_catalog.model_dump(exclude_none=True),
        catalogs={name or f"tableflow_{uuid.uuid4().hex[:6]}": entry},
        tableflow_places=[PLACE._asdict()],
    )


def name_in(spark: SparkResource) -> str:
    return spark.all_catalogs.tableflow[PLACE]


def table_spec(catalog: str, cluster: str) -> AssetSpec:
    """The asset of a table, as discovery defines it."""
    return AssetSpec(
        ["glue", catalog, cluster, "orders.v1".replace(".", "_")],
        metadata={
            "lineage_bridge/node_type": "catalog_table",
            "lineage_bridge/catalog": catalog,
            "lineage_bridge/database": cluster,
            "lineage_bridge/table": "orders.v1",
        },
    )


def load(spark: SparkResource, cluster: str) -> list[tuple[int, str]] | str:
    """The rows that an asset gets, or why it gets none."""
    upstream = table_spec(name_in(spark), cluster)
    found: list[tuple[int, str]] = []

    @asset(ins={"orders": AssetIn(upstream.key)})
    def reader(orders: DataFrame) -> None:
        found.extend((row.id, row.country) for row in orders.collect())

    manager = PySparkIcebergIOManager(spark=spark, confluent=ConfluentSettingsResource())
    result = materialize([upstream, reader], resources={"io_manager": manager}, raise_on_error=False)
    if result.success:
        return sorted(found)
    (event,) = result.get_step_failure_events()
    data = event.step_failure_data
    return str((data.user_failure_data and data.user_failure_data.description) or data.error)


def test_the_io_manager_loads_a_table_with_tokens_that_are_renewed(
    rest: IcebergRest,
    spark: SparkSession,
    spark_catalog: CatalogSettings,
    cluster: str,
    grants: list[str],
) -> None:
    used = resource(rest, spark_catalog)
    assert load(used, cluster) == [(1, "de"), (2, "fr")]
    first = len(grants)
    # The first token has expired by the time of the second further one.
    eventually(lambda: len(grants) > first + 1, 60, "two more tokens")
    assert set(grants) == {"client_credentials"}
    assert load(used, cluster) == [(1, "de"), (2, "fr")]


def test_a_wrong_key_says_which_variables_to_correct(
    rest: IcebergRest,
    spark: SparkSession,
    spark_catalog: CatalogSettings,
    cluster: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_TABLEFLOW_API_SECRET", "hunter2")
    failure = load(resource(rest, spark_catalog), cluster)
    assert "invalid_client" in failure
    assert "Correct LINEAGE_BRIDGE_TABLEFLOW_API_KEY and LINEAGE_BRIDGE_TABLEFLOW_API_SECRET" in failure
    assert "hunter2" not in failure


def test_an_output_to_it_is_refused(
    rest: IcebergRest, spark: SparkSession, spark_catalog: CatalogSettings, cluster: str
) -> None:
    used = resource(rest, spark_catalog)
    names = {"lineage_bridge/catalog": name_in(used), "dagster/table_name": f"{cluster}.copy"}

    @asset(metadata=names)
    def copy() -> DataFrame:
        return spark.range(1)

    manager = PySparkIcebergIOManager(spark=used, confluent=ConfluentSettingsResource())
    result = materialize([copy], resources={"io_manager": manager}, raise_on_error=False)
    (event,) = result.get_step_failure_events()
    assert "read-only" in str(event.step_failure_data.user_failure_data)


@pytest.mark.parametrize("engine", ["tableflow", "buckets", "glue"])
def test_the_statement_of_the_page_reads_the_table(
    rest: IcebergRest,
    spark: SparkSession,
    spark_catalog: CatalogSettings,
    spark_aws: StrictAws,
    cluster: str,
    engine: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name, table = f"{engine}_{uuid.uuid4().hex[:6]}", "orders.v1"
    s3 = spark_catalog.s3_endpoint or ""
    if engine == "tableflow":
        place = QueryPlace("tableflow", name, rest.tableflow_url, region="us-east-1")
    elif engine == "buckets":
        signed = {"signing_name": "glue", "signing_region": "us-east-1", "s3_endpoint": s3}
        place = QueryPlace("rest", name, rest.glue_url, rest.warehouse, "us-east-1", **signed)
        cluster, table = f"ns_{uuid.uuid4().hex[:8]}", "orders_v1"
        exec(spark_statement(QueriedTable(place, cluster, table)).rpartition("\n")[0], {})  # noqa: S102
        spark.sql(f"CREATE NAMESPACE {quoted(name, cluster)}")
        spark.sql(
            f"CREATE TABLE {quoted(name, cluster, table)} USING iceberg AS SELECT 1 AS id, 'de' AS country"
        )
    else:
        place = QueryPlace("glue", name, region="us-east-1", s3_endpoint=s3)
        spark.conf.set(f"spark.sql.catalog.{name}.glue.endpoint", spark_aws.endpoint_url)
        spark.sql(f"CREATE NAMESPACE {quoted('glue', cluster)}")
        spark.sql(
            f"CREATE TABLE {quoted('glue', cluster, table)} USING iceberg AS SELECT 1 AS id, 'de' AS country"
        )
    exec(spark_statement(QueriedTable(place, cluster, table)), {})  # noqa: S102
    assert "|  1|     de|" in capsys.readouterr().out
