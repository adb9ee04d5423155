"""Tables of a table bucket in the graph, and the push to them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.table import Table

from lineage_bridge_dagster.catalogs.rest.enrichment import enrich, without_other_catalogs
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.discovery.discover import dataset_of
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.documents import KEY_SOURCE_CONNECTORS, KEY_SOURCE_TOPICS
from lineage_bridge_dagster.lineage.loaded_topics import STAMP
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.nodes import IcebergTableNode
from lineage_bridge_dagster.lineage.push_results import PushReport, PushStatus
from lineage_bridge_dagster.lineage.unknowns import note_text
from lineage_bridge_dagster_tests.catalogs.glue.graphs import (
    CLUSTER,
    ENVIRONMENT,
    add_sink,
    complete_coverage,
    topic_node,
)
from lineage_bridge_dagster_tests.catalogs.glue.runs import clock, push_to_rest
from lineage_bridge_dagster_tests.catalogs.rest.tables import Bucket, Name

pytestmark = pytest.mark.xdist_group("rest")


@pytest.fixture
def name(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Iterator[Name]:
    """A table that a connector writes; beside it there is one that nothing known writes."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    namespace = f"ns_{uuid.uuid4().hex[:8]}"
    bucket.create((namespace, "unknown"))
    yield bucket.create((namespace, "orders"))
    for table in ("orders", "unknown"):
        bucket.open().drop_table((namespace, table))


def confluent(bucket: Bucket, name: Name, connect: Status = Status.COMPLETE) -> Discovery:
    """A topic and a sink connector to the table, unless the connectors could not be read."""
    graph = Graph()
    if connect is Status.COMPLETE:
        dataset = dataset_of(bucket.catalogs()["s3tables"], ".".join(name))
        add_sink(graph, ["orders.v1"], {dataset: ()}, name="to-lake")
    else:
        graph.add_node(topic_node("orders.v1"))
    report = ScopeReport(Scope("connect", ENVIRONMENT, CLUSTER), connect)
    return Discovery(graph, complete_coverage(report), "2026-04-30T00:00:00Z")


def enriched(found: Discovery, configured: Catalogs, last: Discovery | None = None) -> Discovery:
    return enrich(found, configured, dataset_name=dataset_of, clock=clock, last=last)


def push(found: Discovery, configured: Catalogs, **options: object) -> PushReport:
    settings = PushSettings.model_validate(options.pop("settings", {}))
    return push_to_rest(found, configured, settings, **options)  # type: ignore[arg-type]


def tables(found: Discovery) -> list[str]:
    return [node.display_name or "" for node in found.graph.of_kind(IcebergTableNode)]


def report_of(found: Discovery) -> ScopeReport:
    report = found.coverage.get(Scope("iceberg", "", "s3tables"))
    assert report is not None
    return report


def test_the_table_of_a_connector_is_a_node_with_schema_and_snapshot(bucket: Bucket, name: Name) -> None:
    found = enriched(confluent(bucket, name), bucket.catalogs())
    assert tables(found) == [f"s3tables.{name[0]}.orders"]
    (node,) = found.graph.of_kind(IcebergTableNode)
    assert node.node_id == f"iceberg:table::s3tables/{name[0]}/orders"
    assert [column["name"] for column in node.attributes["columns"]] == ["id"]
    assert node.attributes["rows"] == 1
    assert node.attributes["snapshot_id"].isdecimal()
    assert report_of(found).status is Status.COMPLETE


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the tables that are loaded."""
    found: list[str] = []
    load = RestCatalog.load_table

    def counted(self: RestCatalog, identifier: tuple[str, ...]) -> Table:
        found.append(identifier[-1])
        return load(self, identifier)

    monkeypatch.setattr(RestCatalog, "load_table", counted)
    return found


def test_tables_that_nobody_known_writes_are_counted_and_loaded_once(
    bucket: Bucket, name: Name, loaded: list[str]
) -> None:
    configured = bucket.catalogs()
    first = enriched(confluent(bucket, name), configured)
    assert sorted(loaded) == ["orders", "unknown"]
    (note,) = report_of(first).notes
    assert note_text(note) == (
        "1 namespace with tables that no known process writes (discover: all of the catalog makes them "
        f"assets): {name[0]} (1 table)"
    )
    loaded.clear()
    second = enriched(confluent(bucket, name), configured, last=first)
    assert loaded == ["orders"]
    assert (tables(second), report_of(second).notes) == (tables(first), report_of(first).notes)


def test_a_new_table_is_loaded_once_and_its_stamp_shows_the_topic(
    bucket: Bucket, name: Name, loaded: list[str]
) -> None:
    configured = bucket.catalogs()
    last = enriched(confluent(bucket, name), configured)
    stamped = bucket.create((name[0], "stamped"))
    try:
        with bucket.open().load_table(stamped).transaction() as change:
            change.set_properties({STAMP: f"{ENVIRONMENT}/{CLUSTER}/orders.v1"})
        loaded.clear()
        # A stored state has lists in place of tuples.
        stored = graph_json.loads(graph_json.dumps(last, with_caches=True))
        found = enriched(confluent(bucket, name), configured, last=stored)
        assert sorted(loaded) == ["orders", "stamped"]
        node = next(
            node for node in found.graph.of_kind(IcebergTableNode) if node.display_name.endswith("stamped")
        )
        assert [hop.node.qualified_name for hop in chain_of(found.graph, node.node_id).hops] == ["orders.v1"]
        assert push(found, configured).counts["updated"] == 2
        lineage = bucket.lineage(stamped)
        assert lineage["lineage_bridge.pipeline_type"] == "topic_to_iceberg"
    finally:
        bucket.open().drop_table(stamped)


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 1),
        ({"discover": "all"}, 2),
        ({"named": True}, 2),
        ({"named": True, "discover": "connected"}, 1),
    ],
)
def test_every_table_of_a_named_namespace_is_an_asset(
    bucket: Bucket, name: Name, changes: dict[str, object], count: int
) -> None:
    if changes.pop("named", False):
        changes["namespaces"] = [name[0]]
    found = enriched(confluent(bucket, name), bucket.catalogs(**changes))
    assert len(tables(found)) == count
    report = push(found, bucket.catalogs(**changes))
    assert report.counts["unchanged"] == count - 1


def test_lineage_goes_to_the_table_and_then_the_table_is_known_by_it(bucket: Bucket, name: Name) -> None:
    configured = bucket.catalogs()
    found = enriched(confluent(bucket, name), configured)
    report = push(found, configured)
    assert [result.status for result in report.results] == [PushStatus.UPDATED], report.results[0].reason
    lineage = bucket.lineage(name)
    assert (lineage[KEY_SOURCE_TOPICS], lineage[KEY_SOURCE_CONNECTORS]) == ("orders.v1", "to-lake")
    assert push(found, configured).counts["unchanged"] == 1
    alone = enriched(Discovery(Graph(), Coverage()), configured)
    assert tables(alone) == [f"s3tables.{name[0]}.orders"]


def test_an_outage_of_the_connectors_keeps_the_table_and_its_lineage(bucket: Bucket, name: Name) -> None:
    configured = bucket.catalogs()
    last = carry_forward(enriched(confluent(bucket, name), configured), None)
    push(last, configured)
    before = bucket.lineage(name)
    now = carry_forward(enriched(confluent(bucket, name, Status.FAILED), configured), last)
    assert tables(now) == tables(last)
    assert push(now, configured).results[0].status in (PushStatus.UNCHANGED, PushStatus.HELD)
    assert bucket.lineage(name) == before


def test_a_connector_that_is_gone_takes_the_lineage_with_it(bucket: Bucket, name: Name) -> None:
    configured = bucket.catalogs()
    push(enriched(confluent(bucket, name), configured), configured)
    gone = enriched(Discovery(Graph(), complete_coverage(), "2026-05-01T00:00:00Z"), configured)
    refused = push(gone, configured, settings={"max_removal_share": 0})
    assert [result.status for result in refused.results] == [PushStatus.REFUSED]
    removed = push(gone, configured, settings={"max_removal_share": 1})
    assert [result.status for result in removed.results] == [PushStatus.UPDATED]
    assert bucket.lineage(name) == {}


def test_a_read_only_catalog_is_skipped_with_the_reason(bucket: Bucket, name: Name) -> None:
    configured = bucket.catalogs(read_only=True)
    found = enriched(confluent(bucket, name), configured)
    (result,) = push(found, configured).results
    assert (result.status, "read-only" in result.reason) == (PushStatus.SKIPPED, True)
    assert bucket.lineage(name) == {}


def test_a_catalog_that_is_not_read_any_more_takes_its_tables_along(bucket: Bucket, name: Name) -> None:
    last = carry_forward(enriched(confluent(bucket, name), bucket.catalogs()), None)
    off = Catalogs(CatalogSettings(), off=("s3tables",))
    now = enriched(confluent(bucket, name), off)
    assert tables(carry_forward(now, without_other_catalogs(last, off))) == []
    assert without_other_catalogs(last, bucket.catalogs()) is last


@pytest.mark.parametrize(
    ("changes", "status", "hint"),
    [
        ({"signing_region": "eu-west-1"}, Status.DENIED, "signing_region"),
        ({"uri": "http://127.0.0.1:9/iceberg"}, Status.FAILED, "Check uri"),
    ],
)
def test_a_catalog_that_cannot_be_read_is_in_the_coverage_and_stops_no_removal(
    bucket: Bucket, name: Name, changes: dict[str, str], status: Status, hint: str
) -> None:
    configured = bucket.catalogs(**changes)
    last = enriched(confluent(bucket, name), bucket.catalogs())
    found = carry_forward(enriched(confluent(bucket, name), configured), last)
    report = report_of(found)
    assert (report.status, hint in report.reason) == (status, True), report.reason
    assert tables(found) == tables(last)
    assert found.coverage.covers_all_table_sources
    (result,) = push(found, configured).results
    assert result.status is PushStatus.FAILED
    assert hint in result.hint
