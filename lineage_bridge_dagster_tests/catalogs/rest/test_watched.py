"""A sensor over a table bucket: new tables lead to a refresh, and wiped properties to a repair."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from lineage_bridge_dagster.assets.inventory import build_inventory
from lineage_bridge_dagster.automation import iceberg_client
from lineage_bridge_dagster.automation.list_client import ListClient
from lineage_bridge_dagster.automation.loaded import loaded_tables
from lineage_bridge_dagster.automation.sweep import SweepSettings
from lineage_bridge_dagster.automation.watched_lists import ListScope, NamedTables
from lineage_bridge_dagster.catalogs.rest.enrichment import enrich
from lineage_bridge_dagster.catalogs.settings.catalogs import CatalogsSettings
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.discovery.discover import dataset_of
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.coverage import ICEBERG
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.documents import PREFIX
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster_tests.assets.world import EAST, World
from lineage_bridge_dagster_tests.automation.ticks import Harness
from lineage_bridge_dagster_tests.catalogs.glue.runs import clock, push_to_rest
from lineage_bridge_dagster_tests.catalogs.rest.tables import Bucket, Fault, Name, answer, with_faults

pytestmark = pytest.mark.xdist_group("rest")

ROUND = 300.0


class Watched(Harness):
    """A sensor that has loaded a discovery of the bucket, and reads the bucket."""

    def __init__(self, bucket: Bucket, name: Name) -> None:
        self.bucket, self.name, self.which = bucket, name, "connected"
        self.world = World()
        for table in (name[1], "returns"):
            topic = self.world.topic(EAST, table)
            sink = self.world.connector(EAST, f"{table}-to-lake", "IcebergSink")
            self.world.edge(topic, sink, EdgeType.CONSUMES)
            dataset = self.world.dataset(dataset_of(bucket.settings(), f"{name[0]}.{table}"))
            self.world.edge(sink, dataset, EdgeType.PRODUCES)
        super().__init__(self.world)
        self.client = ListClient(self._settings)
        self.lists = self._list  # type: ignore[assignment]
        self.sweep = SweepSettings(read_tables=self.client.tables, seconds=ROUND)
        self.discover("v1")

    def _settings(self) -> Settings:
        return Settings(
            aws=AwsSettings(region="us-east-1"),
            catalogs=CatalogsSettings(
                named={"s3tables": self.bucket.settings(namespaces=[self.name[0]], discover=self.which)}
            ),
        )

    def _list(self, scope: ListScope) -> list[str]:
        return list(self.client(scope)) if scope.api == ICEBERG else []

    def discover(self, version: str) -> None:
        catalogs = self._settings().all_catalogs()
        self.found: Discovery = enrich(self.world.discovery(), catalogs, dataset_name=dataset_of, clock=clock)
        inventory = build_inventory(self.found, LineageTranslator().get_asset_spec)
        self.loaded = loaded_tables(version, inventory, PushSettings)
        self.dagster.latest = version
        self.push()

    def push(self) -> None:
        catalogs = self._settings().all_catalogs()
        report = push_to_rest(self.found, catalogs, PushSettings())
        assert all(result.ok for result in report.results)
        self.push_everything()

    def wipe(self) -> None:
        table = self.bucket.open().load_table(self.name)
        ours = [key for key in table.properties if key.startswith(PREFIX)]
        assert ours
        with table.transaction() as transaction:
            transaction.remove_properties(*ours)


@pytest.fixture
def watched(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    name = bucket.create((f"ns_{uuid.uuid4().hex[:8]}", "orders"))
    yield Watched(bucket, name)
    for table in bucket.open().list_tables(name[0]):
        bucket.open().drop_table(table)


def test_wiped_properties_are_found_named_and_repaired(watched: Watched) -> None:
    assert not watched.tick().pushes
    watched.wipe()
    result = watched.tick(ROUND)
    (push,) = [push for push in result.pushes if push.repair]
    assert push.keys == (watched.loaded.tables[0].key,)
    assert any(f"s3tables.{'.'.join(watched.name)} (wiped)" in note for note in result.notes)
    watched.push()
    assert watched.bucket.lineage(watched.name)
    assert not watched.tick(ROUND).pushes


def test_a_catalog_that_cannot_be_asked_has_lost_nothing(watched: Watched) -> None:
    watched.tick()
    watched.wipe()
    catalog = watched.client._catalogs_of(watched._settings())._open["s3tables"]
    with_faults(catalog, Fault("GET", answer(403), times=1))  # type: ignore[arg-type]
    result = watched.tick(ROUND)
    assert not result.pushes
    assert not watched.cursor.losses
    assert result.refresh is None
    # The catalog is opened again.
    assert [push.repair for push in watched.tick().pushes] == [True]


def test_a_table_that_a_connector_makes_leads_to_a_refresh_and_others_do_not(watched: Watched) -> None:
    assert watched.tick().refresh is None
    namespace = watched.name[0]
    watched.bucket.create((namespace, "unrelated"))
    assert watched.tick().refresh is None
    watched.which = "all"
    assert "unrelated" in str(watched.tick().refresh)
    watched.which = "connected"
    watched.discover("v2")
    assert watched.tick().refresh is None
    watched.bucket.create((namespace, "returns"))
    result = watched.tick()
    assert result.refresh is not None
    assert f"tables of catalog s3tables: new: {namespace}.returns" in result.refresh.reason
    watched.discover("v3")
    assert watched.tick().refresh is None
    assert len(watched.loaded.tables) == 2


def test_a_namespace_that_cannot_be_listed_is_no_empty_one(watched: Watched) -> None:
    watched.tick()
    catalog = watched.client._catalogs_of(watched._settings())._open["s3tables"]
    with_faults(catalog, Fault("GET", answer(503), times=9))  # type: ignore[arg-type]
    with pytest.raises(LineageBridgeError):
        list(watched.client(ListScope(ICEBERG, "", "s3tables")))


def test_a_catalog_that_is_not_configured_any_more_has_no_tables(watched: Watched) -> None:
    assert list(watched.client(ListScope(ICEBERG, "", "gone"))) == []
    assert list(watched.client.tables("gone", [watched.name])) == []


def test_many_namespaces_are_listed_in_turn_and_tables_of_the_others_stay(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iceberg_client, "NAMESPACES_A_CALL", 1)
    namespace = watched.name[0]
    others = [watched.bucket.create((f"{namespace}_{number}", "orders"))[0] for number in range(2)]
    settings = watched.bucket.settings(namespaces=[*others, namespace], discover="connected")
    client = ListClient(lambda: Settings(catalogs=CatalogsSettings(named={"s3tables": settings})))
    known = NamedTables(frozenset({".".join(watched.name), f"{others[0]}.gone"}), ())
    scope = ListScope(ICEBERG, "", "s3tables", lambda: known)
    kept = {".".join(watched.name)}
    # The first namespace has its turn, and the table that it lost is gone; the last one is not listed yet.
    assert [set(client(scope)) for _ in range(3)] == [kept] * 3
    watched.bucket.open().drop_table(watched.name)
    assert [set(client(scope)) for _ in range(3)] == [kept, kept, set()]
    for other in others:
        watched.bucket.open().drop_table((other, "orders"))
