"""Pushes between the appends of Spark, to tables in Glue and in a REST catalog."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.embedded.rest.server import IcebergRest
from lineage_bridge_dagster.lineage.model import NodeType
from lineage_bridge_dagster.lineage.push_results import PushStatus
from lineage_bridge_dagster.spark.session import SparkResource
from lineage_bridge_dagster_tests.catalogs.push.histories import Answer, Attempt, Change, Push
from lineage_bridge_dagster_tests.catalogs.push.lineages import Lineage
from lineage_bridge_dagster_tests.catalogs.push.playing import play
from lineage_bridge_dagster_tests.catalogs.push.tables import GlueTable, PushedTable, RestTable, Servers

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

#: The table bucket, as Spark knows it.
PUSHED = "pushed"
APPEND = Change("append")
LINEAGES = tuple(Lineage(((NodeType.KAFKA_TOPIC, name, {}),)) for name in ("orders", "returns"))
HISTORY = (
    Push(0, (APPEND,), (Attempt((APPEND,)), Attempt((APPEND,)))),
    Push(1, (), (Attempt((), Answer.LOST, (APPEND,)), Attempt((APPEND,), Answer.CUT))),
)


@pytest.fixture(scope="module")
def servers(spark_aws: StrictAws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    bucket = "pushed-beside-spark"
    spark_aws.client("s3").create_bucket(Bucket=bucket)
    data, account = tmp_path_factory.mktemp("rest"), spark_aws.account_id
    with IcebergRest(data, aws_url=spark_aws.endpoint_url, account=account, bucket=bucket) as rest:
        yield Servers(spark_aws, rest, bucket)


@pytest.fixture
def session(servers: Servers, spark: SparkSession, spark_catalog: CatalogSettings) -> SparkSession:
    """Spark with the catalogs `glue` and `pushed`."""
    assert spark.sparkContext
    bucket = {"type": "rest", "uri": servers.rest.glue_url, "warehouse": servers.rest.warehouse}
    resource = SparkResource(
        catalog=spark_catalog.model_dump(exclude_none=True),
        catalogs={PUSHED: {**bucket, "s3_endpoint": spark_catalog.s3_endpoint}},
    )
    return resource.spark_session


def insert_by_spark(table: PushedTable, session: SparkSession, catalog: str) -> None:
    """Let Spark make the appends to the table."""

    def insert(value: int) -> None:
        session.createDataFrame([(value,)], "id bigint").writeTo(quoted(catalog, *table.name)).append()

    table.insert = insert  # type: ignore[method-assign]


@pytest.mark.parametrize(("kind", "catalog"), [(GlueTable, "glue"), (RestTable, PUSHED)])
def test_pushes_between_appends_of_spark_lose_nothing(
    servers: Servers, session: SparkSession, kind: type[GlueTable] | type[RestTable], catalog: str
) -> None:
    table = kind(servers)
    insert_by_spark(table, session, catalog)
    results = play(table, LINEAGES, HISTORY, PushSettings())
    assert [result.status for result in results] == [PushStatus.UPDATED] * 3
    assert len(table.acknowledged.rows) >= 3
