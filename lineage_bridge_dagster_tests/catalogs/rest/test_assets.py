"""Tables of a table bucket as assets: materialized and checked beside those of Glue."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from dagster import AssetCheckEvaluation, AssetKey, DagsterInstance, ExecuteInProcessResult
from pyiceberg.catalog.rest import RestCatalog

from lineage_bridge_dagster.catalogs.rest.enrichment import enrich
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.discovery.discover import dataset_of
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.documents import KEY_SOURCE_CONNECTORS, KEY_SOURCE_TOPICS
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.spark.chains import write
from lineage_bridge_dagster_tests.assets.location import FakeSpark, Location, create_tables, latest
from lineage_bridge_dagster_tests.assets.world import EAST, REGION, World
from lineage_bridge_dagster_tests.catalogs.glue.runs import clock
from lineage_bridge_dagster_tests.catalogs.rest.tables import Bucket, Name
from lineage_bridge_dagster_tests.http_server import Answering, served

pytestmark = pytest.mark.xdist_group("rest")

IN_GLUE = "glue/lkc-east1/orders.v1"


class SparkWithCatalogs(FakeSpark):
    """A Spark resource that knows these catalogs."""

    def __init__(self, catalogs: Catalogs) -> None:
        super().__init__()
        self._catalogs = catalogs

    @property
    def all_catalogs(self) -> Catalogs:
        return self._catalogs


#: Builds a code location that knows the catalogs, from what they had when they were discovered.
Build = Callable[..., Location]


@pytest.fixture
def name(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[Name]:
    """A table of the bucket; the environment reaches it."""
    for variable, value in {
        "AWS_ENDPOINT_URL": bucket.aws.endpoint_url,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "LINEAGE_BRIDGE_AWS_REGION": REGION,
    }.items():
        monkeypatch.setenv(variable, value)
    created = bucket.create((f"ns_{uuid.uuid4().hex[:8]}", "orders"))
    yield created
    bucket.open().drop_table(created)
    glue = boto3.client("glue", region_name=REGION)
    for database in glue.get_databases()["DatabaseList"]:
        glue.delete_database(Name=database["Name"])


@pytest.fixture
def build(bucket: Bucket, name: Name, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    monkeypatch.setattr(write, "write_lineage", FakeSpark.write_lineage)

    def of(catalogs: Catalogs | None = None, found: Discovery | None = None) -> Location:
        known = catalogs or bucket.catalogs()
        state = tmp_path / "state.json"
        graph_json.dump(found or discovered(bucket, name, known), state)
        component = LineageBridgeComponent(aws={"region": REGION})
        definitions = component.build_defs_from_state(None, state)  # type: ignore[arg-type]
        return Location(definitions, component, {"spark": SparkWithCatalogs(known)})

    return of


def world(bucket: Bucket, name: Name) -> World:
    """A topic that becomes a Glue table, and that a connector copies to the table of the bucket."""
    made = World()
    topic = made.topic(EAST, "orders.v1")
    made.glue(EAST, "orders.v1")
    sink = made.connector(EAST, "to-lake", "IcebergSink")
    made.edge(topic, sink, EdgeType.CONSUMES)
    dataset = made.dataset(dataset_of(bucket.settings(), ".".join(name)))
    made.edge(sink, dataset, EdgeType.PRODUCES)
    return made


def discovered(bucket: Bucket, name: Name, catalogs: Catalogs) -> Discovery:
    made = world(bucket, name)
    create_tables(boto3.client("glue", region_name=REGION), made)
    return enrich(made.discovery(), catalogs, dataset_name=dataset_of, clock=clock)


def table_key(name: Name) -> str:
    return "/".join(("glue", "s3tables", *name))


def chain_key(name: Name) -> str:
    return "/".join(("upstream_chain", "s3tables", *name))


def checks(result: ExecuteInProcessResult, key: str) -> dict[str, AssetCheckEvaluation]:
    asset = AssetKey.from_user_string(key)
    found = result.get_asset_check_evaluations()
    return {each.check_name: each for each in found if each.asset_key == asset}


def failure(result: ExecuteInProcessResult) -> str:
    (event,) = result.get_step_failure_events()
    data: Any = event.event_specific_data
    return str(data.user_failure_data.description)


def test_both_kinds_of_table_are_pushed_in_one_run(bucket: Bucket, name: Name, build: Build) -> None:
    location = build()
    assert {table_key(name), chain_key(name), IN_GLUE} <= location.keys()
    assert location.parents(table_key(name)) == {chain_key(name)}
    with DagsterInstance.ephemeral() as instance:
        result = location.materialize(instance, job="materialize_lineage")
        assert result.success
        lineage = bucket.lineage(name)
        assert (lineage[KEY_SOURCE_TOPICS], lineage[KEY_SOURCE_CONNECTORS]) == ("orders.v1", "to-lake")
        # The chains of both tables are stored in one commit.
        assert [len(tables) for tables in location.definitions.resources["spark"].writes] == [2]  # type: ignore[index]
        metadata = latest(instance, table_key(name)).metadata
        assert metadata["lineage_bridge/outcome"].value == "updated"
        assert "| + | lineage_bridge.upstream_chain |" in metadata["lineage_bridge/diff"].value
        assert "connector: to-lake" in metadata["lineage_bridge/description_tree"].value
        assert "| owner | orders-team |" in metadata["lineage_bridge/parameters"].value
        before, after = (metadata[f"lineage_bridge/table_version_{w}"].value for w in ("before", "after"))
        assert before != after
        assert metadata["dagster/row_count"].value == 1
        assert int(metadata["lineage_bridge/snapshot_id"].value)
        assert metadata["lineage_bridge/hops"].value == 3
        assert "lineage_bridge/glue_description" not in metadata
        assert latest(instance, IN_GLUE).metadata["lineage_bridge/outcome"].value == "updated"
        found = checks(result, table_key(name))
        assert found.keys() == {"lineage_in_sync", "schema_matches", "table_fresh"}
        assert all(each.passed for each in found.values()), found
        assert "s3tables has this table's current lineage" in str(found["lineage_in_sync"].description)


def test_a_run_loads_a_table_three_times_and_commits_once(
    bucket: Bucket, name: Name, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = build()
    calls: Counter[str] = Counter()
    for method in ("load_table", "commit_table"):
        original = getattr(RestCatalog, method)

        def counted(*args: Any, _call: Callable[..., Any] = original, _name: str = method) -> Any:
            calls[_name] += 1
            return _call(*args)

        monkeypatch.setattr(RestCatalog, method, counted)
    with DagsterInstance.ephemeral() as instance:
        assert location.materialize(instance, job="materialize_lineage").success
        # To push, for its last commit, and for the check after the push.
        assert calls == {"load_table": 3, "commit_table": 1}
        assert location.materialize(instance, job="materialize_lineage").success
        assert calls == {"load_table": 6, "commit_table": 1}


def test_a_second_run_commits_nothing_and_keeps_the_data_version(
    bucket: Bucket, name: Name, build: Build
) -> None:
    location = build()
    versions = []
    with DagsterInstance.ephemeral() as instance:
        for _ in range(2):
            assert location.materialize(instance, table_key(name)).success
            versions.append(latest(instance, table_key(name)).tags["dagster/data_version"])
            before = bucket.open().load_table(name).metadata_location
        metadata = latest(instance, table_key(name)).metadata
    assert metadata["lineage_bridge/outcome"].value == "unchanged"
    assert metadata["lineage_bridge/table_version_after"].value == before
    assert versions[0] == versions[1]


def test_the_lineage_of_a_read_only_catalog_stays_in_dagster(
    bucket: Bucket, name: Name, build: Build
) -> None:
    location = build(bucket.catalogs(read_only=True))
    with DagsterInstance.ephemeral() as instance:
        result = location.materialize(instance, job="materialize_lineage")
        assert result.success
        assert bucket.lineage(name) == {}
        metadata = latest(instance, table_key(name)).metadata
        assert metadata["lineage_bridge/outcome"].value == "skipped"
        assert "read-only" in metadata["lineage_bridge/reason"].value
        assert metadata["lineage_bridge/hops"].value == 3
        assert metadata["dagster/row_count"].value == 1
        assert latest(instance, chain_key(name))
        in_sync = checks(result, table_key(name))["lineage_in_sync"]
        assert (in_sync.passed, "read-only" in str(in_sync.description)) == (True, True)


def test_a_catalog_that_is_turned_off_gets_no_commit_and_fails_no_run(
    bucket: Bucket, name: Name, build: Build
) -> None:
    found = discovered(bucket, name, bucket.catalogs())
    off = Catalogs(bucket.catalogs().default, off=("s3tables",))
    location = build(off, found)
    with DagsterInstance.ephemeral() as instance:
        assert location.materialize(instance, table_key(name), IN_GLUE).success
        assert bucket.lineage(name) == {}
        assert latest(instance, table_key(name)) is None
        assert latest(instance, IN_GLUE).metadata["lineage_bridge/outcome"].value == "updated"


@pytest.fixture
def web_page() -> Iterator[str]:
    """The URL of something that is not a catalog."""

    class Page(Answering):
        def do_GET(self) -> None:
            self.reply(200, b"<html>Sign in</html>")

    with served(Page) as url:
        yield f"{url}/iceberg"


@pytest.mark.parametrize("there", ["nothing", "a page"])
def test_a_catalog_that_cannot_be_reached_fails_its_own_tables_alone(
    bucket: Bucket, name: Name, build: Build, web_page: str, there: str
) -> None:
    found = discovered(bucket, name, bucket.catalogs())
    uri = web_page if there == "a page" else "http://127.0.0.1:9/iceberg"
    location = build(bucket.catalogs(uri=uri), found)
    with DagsterInstance.ephemeral() as instance:
        result = location.materialize(instance, table_key(name), IN_GLUE)
        assert f"s3tables.{name[0]}.orders (failed)" in failure(result)
        assert "Check uri" in failure(result)
        assert latest(instance, table_key(name)) is None
        assert latest(instance, IN_GLUE).metadata["lineage_bridge/outcome"].value == "updated"
