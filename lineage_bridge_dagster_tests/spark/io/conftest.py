"""The table and the rows that tests of writes share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from pyspark.sql import DataFrame, SparkSession

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.embedded.rest.oauth import TokenIssuer
from lineage_bridge_dagster.embedded.rest.server import IcebergRest
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster_tests.spark_session import BUCKET

APPEND = WriteOptions(write_mode="append")


@pytest.fixture
def table(database: str) -> TableName:
    return TableName("glue", database, "orders.v1")


@pytest.fixture(scope="package")
def rest(spark_aws: StrictAws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergRest]:
    """The REST catalogs: one JVM for all tests that read or write them."""
    data = tmp_path_factory.mktemp("rest")
    with IcebergRest(
        data, aws_url=spark_aws.endpoint_url, account=spark_aws.account_id, bucket=BUCKET
    ) as server:
        yield server


@pytest.fixture
def grants(rest: IcebergRest, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The grants for which the REST catalogs have issued tokens, each of which lasts 6 s."""
    found: list[str] = []
    issue = TokenIssuer.issue

    def issue_and_note(self: TokenIssuer, form: Mapping[str, str]) -> dict[str, object]:
        found.append(form["grant_type"])
        return issue(self, form)

    monkeypatch.setattr(TokenIssuer, "issue", issue_and_note)
    monkeypatch.setattr(rest.issuer, "lifetime", 6)
    return found


def orders(spark: SparkSession, *rows: tuple[int, str, float]) -> DataFrame:
    return spark.createDataFrame(list(rows), "id int, country string, total double")
