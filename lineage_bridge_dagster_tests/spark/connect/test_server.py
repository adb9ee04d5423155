"""A server that is gone, restarts, is full, or is not what is needed: what a run says, and its retry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from dagster import DagsterInstance, asset, materialize
from pyspark.errors.exceptions.connect import SparkConnectGrpcException
from pyspark.sql import SparkSession

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.confluent.resource import ConfluentSettingsResource
from lineage_bridge_dagster.embedded.dagster_process import free_port
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark import remote
from lineage_bridge_dagster.spark.chains.write import write_lineage
from lineage_bridge_dagster.spark.io.manager import PySparkIcebergIOManager
from lineage_bridge_dagster.spark.remote import SparkServerError
from lineage_bridge_dagster.spark.session import SparkResource, spark_session
from lineage_bridge_dagster_tests.spark.graphs import world
from lineage_bridge_dagster_tests.spark_connect import ConnectServer, connect_mode

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("connect")]


@pytest.fixture
def server(connect_server: ConnectServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[ConnectServer]:
    """The server, to be killed and started again, for which calls wait a second in all."""
    monkeypatch.setattr(remote, "_RETRIES", {**remote._RETRIES, "max_backoff": 200})
    yield connect_server
    connect_server.ensure()


def test_server_that_is_not_there_is_named(
    spark_catalog: CatalogSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_CONNECT_SECONDS", 0.5)
    url = f"sc://127.0.0.1:{free_port()}"
    with (
        connect_mode(url),
        pytest.raises(SparkServerError, match=f"No Spark Connect server.* {url}") as raised,
    ):
        spark_session(Catalogs.of(spark_catalog), {"spark.remote": url})
    assert "spark.remote" in raised.value.hint


def test_run_whose_server_ends_says_so_and_its_retry_succeeds(
    server: ConnectServer, spark_catalog: CatalogSettings, database: str
) -> None:
    resource = SparkResource(catalog=spark_catalog.model_dump(exclude_none=True))
    manager = PySparkIcebergIOManager(
        spark=resource, confluent=ConfluentSettingsResource(), namespace=database, database=database
    )
    dying = True

    @asset(key="numbers")
    def numbers() -> Any:
        rows = resource.spark_session.range(5)
        if dying:
            server.kill()
        return rows

    with connect_mode(server.url), DagsterInstance.ephemeral() as instance:
        failed = materialize(
            [numbers], resources={"io_manager": manager}, instance=instance, raise_on_error=False
        )
        assert not failed.success
        (event,) = failed.get_step_failure_events()
        data = event.step_failure_data.user_failure_data
        assert data is not None
        said = str(data.description)
        assert f"Spark at {server.url} stopped answering" in said
        assert "Run this again" in said
        dying = False
        server.start()
        assert materialize([numbers], resources={"io_manager": manager}, instance=instance).success
        assert resource.spark_session.table(f"glue.`{database}`.numbers").count() == 5


def test_chains_whose_server_is_killed_between_two_commits_are_stored_by_the_next_run(
    server: ConnectServer, spark_catalog: CatalogSettings, database: str
) -> None:
    catalogs = Catalogs.of(spark_catalog)

    def kill(step: str) -> None:
        if step.startswith("Stored"):
            server.kill()

    with connect_mode(server.url):
        with pytest.raises(SparkServerError, match="stopped answering"), remote.server_errors():
            write_lineage(spark_session(catalogs), world(3), None, "glue", database, progress=kill)
        server.start()
        spark = spark_session(catalogs)
        result = write_lineage(spark, world(3), None, "glue", database)
        assert result.changed == 3
        assert spark.table(quoted("glue", database, "upstream_chains")).count() == 27
        assert [v.written for v in result.versions] == [False, False, True, True]


@pytest.mark.parametrize("text", ["status = StatusCode.RESOURCE_EXHAUSTED", "java.lang.OutOfMemoryError"])
def test_server_at_its_limits_is_told_from_one_that_is_gone(text: str) -> None:
    found = remote.server_error(SparkConnectGrpcException(text))
    assert isinstance(found, SparkServerError)
    assert not isinstance(found, remote.ServerGoneError)
    assert "more memory" in found.hint
    assert remote.server_error(SparkConnectGrpcException("[TABLE_OR_VIEW_NOT_FOUND]")) is None
    assert remote.server_error(ValueError(text)) is None


def test_server_without_icebergs_extensions_is_refused(
    connect_server: ConnectServer, spark_catalog: CatalogSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.connect.conf import RuntimeConf

    read = RuntimeConf.get
    monkeypatch.setattr(
        RuntimeConf, "get", lambda self, key, *a: "" if key == "spark.sql.extensions" else read(self, key, *a)
    )
    with connect_mode(connect_server.url), pytest.raises(ConfigurationError, match="Iceberg's extensions"):
        spark_session(Catalogs.of(spark_catalog))


def test_profile_that_the_servers_jvm_lacks_is_refused(
    connect_server: ConnectServer, spark_catalog: CatalogSettings
) -> None:
    with_profile = spark_catalog.model_copy(update={"profile": "data"})
    with connect_mode(connect_server.url), pytest.raises(ConfigurationError, match=r"aws\.profile data"):
        spark_session(Catalogs.of(with_profile))


def test_catalog_of_one_name_with_another_configuration_is_refused(
    connect_spark: SparkSession, spark_catalog: CatalogSettings
) -> None:
    changed = spark_catalog.model_copy(update={"warehouse": "s3://other/warehouse"})
    with pytest.raises(ConfigurationError, match=r"catalog 'glue' with other values of warehouse"):
        spark_session(Catalogs.of(changed))
    assert spark_session(Catalogs.of(spark_catalog)) is connect_spark


def test_process_has_one_kind_of_session(connect_spark: SparkSession, spark_catalog: CatalogSettings) -> None:
    with pytest.raises(ConfigurationError, match="of its own or with a Spark Connect server"):
        spark_session(Catalogs.of(spark_catalog), {"spark.master": "local[1]"})
    with pytest.raises(ConfigurationError, match="sc://elsewhere:15002 is wanted"):
        spark_session(Catalogs.of(spark_catalog), {"spark.remote": "sc://elsewhere"})
