"""A Schema Registry that does not answer is never one without the schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from dagster import DagsterInstance

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.errors import Forbidden
from lineage_bridge_dagster.confluent.api.schema_registry import SchemaRegistryClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.cluster_connection import ClusterConnection
from lineage_bridge_dagster.topic_to_iceberg.engine import RegisteredSchemas
from lineage_bridge_dagster.topic_to_iceberg.reports import LoadError
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    failure,
    garbage,
    refused,
    settings,
    timeout,
)
from lineage_bridge_dagster_tests.spark.records import (
    ORDER_V1,
    ORDER_V2,
    InMemoryTopic,
    order_v1,
    order_v2,
    payload,
)
from lineage_bridge_dagster_tests.topic_to_iceberg.on_spark import Engine, execute, failed_checks, told
from lineage_bridge_dagster_tests.topic_to_iceberg.yaml import loaded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Responder = Callable[[httpx.Request], httpx.Response]


class Registry:
    """The registry of a cluster: the subjects' versions by id, and what it answers instead.

    Attributes:
        deleted: ids that were deleted softly.
        instead: the answer to requests for a subject.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.subjects: dict[str, dict[int, Any]] = {}
        self.deleted: set[int] = set()
        self.instead: dict[str, Responder] = {}
        self.fake = FakeConfluent()
        self.fake.routes["/schemas"] = self._answer
        url = "https://psrc-1.confluent.cloud"
        given = settings(max_attempts=2)
        self.connection = ClusterConnection(
            "env-1", "lkc-1", Bootstrap.parse("127.0.0.1:9"), url, "lsrc-1", given
        )

        @contextmanager
        def registry(_self: ClusterConnection) -> Iterator[SchemaRegistryClient]:
            with ConfluentSession(given, self.fake.transport, sleep=lambda _seconds: None) as session:
                yield SchemaRegistryClient(session, "env-1", "lsrc-1")

        monkeypatch.setattr(ClusterConnection, "registry", registry)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        prefix, is_all = request.url.params["subjectPrefix"], "deleted" in request.url.params
        if (instead := self.instead.get(prefix)) is not None:
            return instead(request)
        return httpx.Response(
            200,
            json=[
                {"subject": prefix, "version": number, "id": schema_id, "schema": json.dumps(schema)}
                for number, (schema_id, schema) in enumerate(self.subjects.get(prefix, {}).items(), 1)
                if is_all or schema_id not in self.deleted
            ],
        )

    def schemas(self, topic: str) -> RegisteredSchemas:
        return RegisteredSchemas(self.connection, topic)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    return Registry(monkeypatch)


@pytest.mark.parametrize(
    ("answer", "message", "hint"),
    [
        (failure(500), "GET /schemas returned 500", ""),
        (failure(503), "GET /schemas returned 503", ""),
        (failure(429), "GET /schemas returned 429", ""),
        (failure(401), "GET /schemas returned 401", "LINEAGE_BRIDGE_SCHEMA_REGISTRY_API_KEY"),
        (failure(403), "GET /schemas returned 403", "LINEAGE_BRIDGE_SCHEMA_REGISTRY_API_KEY"),
        (failure(404), "GET /schemas returned 404", ""),
        (timeout, "psrc-1.confluent.cloud", ""),
        (refused, "psrc-1.confluent.cloud", ""),
        (garbage, "/schemas did not return JSON but text/html", "not a proxy or a login page"),
        (lambda _request: httpx.Response(200, json={"message": "?"}), "returned dict, not a list", ""),
    ],
    ids=["500", "503", "429", "401", "403", "404", "timeout", "refused", "garbage", "no list"],
)
def test_registry_that_cannot_be_asked_fails_the_topic_for_now(
    answer: Responder, message: str, hint: str, registry: Registry
) -> None:
    registry.subjects["orders-value"] = {7: ORDER_V1}
    fetch = registry.schemas("orders")
    before = fetch()
    for subject in ("orders-key", "orders-value"):
        registry.instead = {subject: answer}
        with pytest.raises(Exception) as raised:  # noqa: PT011 - what a run makes of it is what counts
            fetch()
        error = LoadError.of(raised.value)
        assert message in error.message
        assert "Schema Registry" in error.message
        assert hint in error.hint
        assert error.hint
        assert not error.suspended
    registry.instead = {}
    assert fetch() == before


def test_subject_that_is_not_listed_since_the_key_may_not_read_it_is_an_error(registry: Registry) -> None:
    """Its topic would become a table of bytes, for good."""
    registry.subjects["orders-value"] = {7: ORDER_V1}
    registry.fake.routes["/subjects/orders-key/versions"] = failure(403)
    fetch = registry.schemas("orders")
    for _ in range(2):
        with pytest.raises(Forbidden) as raised:
            fetch()
        assert "GET /subjects/orders-key/versions returned 403" in raised.value.message
    del registry.fake.routes["/subjects/orders-key/versions"]
    found = fetch()
    assert (found.key.latest, found.value.latest is None) == (None, False)


def test_schema_that_is_deleted_softly_is_still_known(registry: Registry) -> None:
    registry.subjects["orders-value"] = {7: ORDER_V1, 9: ORDER_V2}
    registry.deleted = {9}
    found = registry.schemas("orders")().value
    assert [schema.id for schema in found.versions] == [9, 7]


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
class TestTables:
    @pytest.fixture
    def engine(
        self,
        spark: SparkSession,
        spark_catalog: CatalogSettings,
        registry: Registry,
        monkeypatch: pytest.MonkeyPatch,
    ) -> Engine:
        found = Engine(spark, spark_catalog, schemas=registry.schemas)
        found.use(monkeypatch)
        return found

    def test_outage_stops_its_topic_alone_and_loses_no_record(
        self, engine: Engine, registry: Registry, database: str, instance: DagsterInstance
    ) -> None:
        for name in ("orders", "others"):
            registry.subjects[f"{name}-value"] = {7: ORDER_V1}
            engine.topics[name] = InMemoryTopic(name)
            engine.topics[name].add(0, order_v1(1))
        topics = [{"topic": "orders", "failures": "skip"}, {"topic": "others"}]
        with loaded({"topics": topics, "defaults": {"database": database}}) as (_, definitions):
            # At its start: no table is created for records whose schema is not known.
            registry.instead = {"orders-value": failure(500)}
            result = execute(definitions, instance)
            assert set(told(result)) == {"others"}
            assert "returned 500" in failed_checks(result)["orders"]["not_suspended"]
            assert not engine.spark.catalog.tableExists(f"glue.`{database}`.orders")
            registry.instead = {}
            assert execute(definitions, instance).success
            # With records of an id that only the registry knows: they are not skipped as unknown.
            registry.subjects["orders-value"][9] = ORDER_V2
            engine.topics["orders"].add(0, order_v2(2))
            engine.topics["others"].add(0, order_v1(2))
            registry.instead = {"orders-value": timeout}
            result = execute(definitions, instance)
            assert told(result)["others"]["rows_written"] == 1
            assert set(failed_checks(result)) == {"orders"}
            registry.instead = {}
            result = execute(definitions, instance)
            assert result.success
            assert (told(result)["orders"]["rows_written"], told(result)["orders"]["records_skipped"]) == (
                1,
                0,
            )
        rows = engine.spark.table(f"glue.`{database}`.orders").orderBy("id").select("id", "cents").collect()
        assert [tuple(row) for row in rows] == [(1, None), (2, 5)]

    def test_records_of_a_deleted_schema_become_rows_and_those_of_none_do_not(
        self, engine: Engine, registry: Registry, database: str, instance: DagsterInstance
    ) -> None:
        registry.subjects["orders-value"] = {7: ORDER_V1, 9: ORDER_V2}
        registry.deleted = {9}
        topic = engine.topics["orders"] = InMemoryTopic("orders")
        topic.add(0, order_v2(1), order_v1(2), payload(8, ORDER_V1, {"id": 3, "item": ""}))
        defaults = {"database": database, "failures": "skip"}
        with loaded({"topics": [{"topic": "orders"}], "defaults": defaults}) as (_, definitions):
            result = execute(definitions, instance)
        assert "its schema id 8 is not registered" in failed_checks(result)["orders"]["no_rejected_records"]
        rows = engine.spark.table(f"glue.`{database}`.orders").orderBy("id").select("id", "cents").collect()
        assert [tuple(row) for row in rows] == [(1, 5), (2, None)]

    def test_subject_that_is_no_longer_listed_suspends_its_table(
        self, engine: Engine, registry: Registry, database: str, instance: DagsterInstance
    ) -> None:
        """Its records must not go on as bytes, in a column that nobody asked for."""
        registry.subjects["orders-value"] = {7: ORDER_V1}
        topic = engine.topics["orders"] = InMemoryTopic("orders")
        topic.add(0, order_v1(1))
        with loaded({"topics": [{"topic": "orders"}], "defaults": {"database": database}}) as (
            _,
            definitions,
        ):
            assert execute(definitions, instance).success
            registry.subjects = {}
            topic.add(0, order_v1(2))
            check = failed_checks(execute(definitions, instance))["orders"]["not_suspended"]
        assert "orders is suspended: " in check
        assert "has the columns of a schema, and subject orders-value has none now" in check
        table = engine.spark.table(f"glue.`{database}`.orders")
        assert "value" not in table.columns
        assert [row.id for row in table.collect()] == [1]


def test_values_are_of_the_message_that_is_named_and_keys_of_their_first(registry: Registry) -> None:
    registry.subjects["orders-value"] = {7: ORDER_V1}
    fetch = RegisteredSchemas(registry.connection, "orders", "shop.Order")
    # The second time, those that are known are not resolved again.
    for found in (fetch(), fetch()):
        assert (found.key.message, found.value.message) == ("", "shop.Order")
        assert [each.id for each in found.value.versions] == [7]
