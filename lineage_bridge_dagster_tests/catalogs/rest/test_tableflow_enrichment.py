"""Tables that Tableflow's own catalog has: their facts, the nodes of those that Glue lacks, and the push."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog

from lineage_bridge_dagster.assets.inventory import build_inventory
from lineage_bridge_dagster.catalogs.errors import AccessDeniedError
from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog
from lineage_bridge_dagster.catalogs.iceberg.table_reading import read_tables
from lineage_bridge_dagster.catalogs.rest.enrichment import without_other_catalogs
from lineage_bridge_dagster.catalogs.rest.tableflow_enrichment import (
    TAKES_NO_PROPERTIES,
    enrich_from_tableflow,
)
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TableflowPlace
from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.rest.server import TABLEFLOW, IcebergRest
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.catalog_tables import tableflow_places
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_digest import graph_digest
from lineage_bridge_dagster.lineage.model import Graph, Node, NodeType
from lineage_bridge_dagster.lineage.nodes import GlueTableNode, IcebergTableNode, TableflowNode
from lineage_bridge_dagster.lineage.push_results import PushReport, PushStatus
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster_tests.catalogs.glue.graphs import add_table, complete_coverage
from lineage_bridge_dagster_tests.catalogs.glue.runs import clock, push_to_rest, report_of
from lineage_bridge_dagster_tests.catalogs.rest.tables import Bucket

pytestmark = pytest.mark.xdist_group("rest")

ENVIRONMENT = world.ENVIRONMENT_ID
NAME = f"tableflow_{ENVIRONMENT.replace('-', '_')}_us_east_1"
KEY = world.api_key("tableflow")
SCOPE = Scope("iceberg", "", NAME)


@pytest.fixture
def cluster(bucket: Bucket) -> Iterator[str]:
    """A cluster whose Tableflow tables are `orders.v1`, with two rows, and `empty-1`, with none."""
    writer = writer_of(bucket)
    namespace = f"lkc-{uuid.uuid4().hex[:8]}"
    writer.create_namespace(namespace)
    schema = pa.schema([pa.field("id", pa.int64(), metadata={"doc": "The order"}), ("country", pa.string())])
    table = writer.create_table((namespace, "orders.v1"), schema)
    table.append(pa.table({"id": [1, 2], "country": ["de", "fr"]}, schema=schema))
    writer.create_table((namespace, "empty-1"), schema)
    yield namespace
    for name in writer.list_tables(namespace):
        writer.drop_table(name)
    writer.drop_namespace(namespace)


def writer_of(bucket: Bucket) -> RestCatalog:
    """The catalog as the service itself writes it."""
    return RestCatalog(
        "writer",
        uri=bucket.rest.backend(TABLEFLOW),
        **{"s3.endpoint": bucket.aws.endpoint_url, "s3.access-key-id": "any", "s3.secret-access-key": "any"},
    )


def confluent(cluster: str, *topics: str, glue: bool = False, **attributes: Any) -> Discovery:
    """Topics with Tableflow on, each behind a connector, and with a table in Glue if asked for."""
    graph = Graph()
    for topic in topics:
        add_table(graph, topic, cluster=cluster, environment=ENVIRONMENT, glue=glue)
    for node in graph.of_type(NodeType.TABLEFLOW_TABLE):
        graph.add_node(
            node.with_attributes(
                organization_id=world.ORGANIZATION_ID,
                cluster_cloud="AWS",
                cluster_region="us-east-1",
                storage_kind="Managed",
            )
        )
    if attributes:
        for node in graph.of_type(NodeType.CATALOG_TABLE):
            graph.add_node(node.with_attributes(**attributes))
    report = ScopeReport(Scope("tableflow", ENVIRONMENT, cluster), Status.COMPLETE)
    return Discovery(graph, complete_coverage(report), "2026-04-30T00:00:00Z")


def catalogs(rest: IcebergRest, found: Discovery, secret: str = KEY.secret, **entry: str) -> Catalogs:
    variables = {
        "LINEAGE_BRIDGE_TABLEFLOW_API_KEY": KEY.key,
        "LINEAGE_BRIDGE_TABLEFLOW_API_SECRET": secret,
        "LINEAGE_BRIDGE_TABLEFLOW_CATALOG": rest.glue_url.removesuffix("/iceberg"),
    }
    settings = Settings.from_env(variables)
    return settings.all_catalogs(map(TableflowPlace._make, tableflow_places(found.graph)))


def enriched(rest: IcebergRest, found: Discovery, **options: str) -> Discovery:
    return enrich_from_tableflow(found, catalogs(rest, found, **options), clock=clock)


def push(found: Discovery) -> PushReport:
    # Opens no catalog: the places, so also the catalogs, are unknown here.
    return push_to_rest(found, Settings().all_catalogs(), PushSettings())


def source_of(found: Discovery, topic: str) -> Node:
    (node,) = (
        each
        for each in found.graph.of_type(NodeType.TABLEFLOW_TABLE)
        if TableflowNode.of(each).topic == topic
    )
    return node


def test_a_table_that_glue_never_sees_is_an_asset_with_schema_snapshot_rows_and_chain(
    bucket: Bucket, cluster: str
) -> None:
    found = enriched(bucket.rest, confluent(cluster, "orders.v1"))
    (node,) = found.graph.of_kind(IcebergTableNode)
    assert node.node_id == f"iceberg:table:{ENVIRONMENT}:{NAME}/{cluster}/orders.v1"
    assert (node.environment_id, node.cluster_id) == (ENVIRONMENT, cluster)
    facts = node
    assert (facts.catalog, facts.rows, facts.snapshot_id.isdecimal()) == (NAME, 2, True)
    assert facts.last_commit.startswith("20")
    assert [(c.name, c.type) for c in GlueTableNode.of(node).columns] == [
        ("id", "long"),
        ("country", "string"),
    ]
    assert found.coverage.get(SCOPE) == ScopeReport(SCOPE, Status.COMPLETE, count=2)

    inventory = build_inventory(found, LineageTranslator().get_asset_spec)
    (asset,) = (
        each for each in (*inventory.external, *inventory.tables) if each.node.node_id == node.node_id
    )
    assert asset.key.to_user_string() == f"glue/{NAME}/{cluster}/orders.v1"
    metadata = asset.spec.metadata
    assert metadata["lineage_bridge/catalog"] == NAME
    assert (metadata["lineage_bridge/database"], metadata["lineage_bridge/table"]) == (cluster, "orders.v1")
    assert [column.name for column in metadata["dagster/column_schema"].value.columns] == ["id", "country"]
    page = asset.spec.description or ""
    first, *_ = page.splitlines()
    assert first.startswith(
        f"Iceberg table orders.v1 in namespace {cluster} of catalog {NAME}, from Kafka topic orders.v1"
    )
    assert "└─ topic orders.v1" in page
    assert "| Rows | 2 |" in page
    assert f"| Snapshot | {facts.snapshot_id} |" in page
    assert f"| Not pushed | {TAKES_NO_PROPERTIES} |" in page
    assert f'FROM "{NAME}"."{cluster}"."orders.v1" LIMIT 10;' in page
    assert "credential_chain" not in page
    assert KEY.secret not in page
    assert metadata["lineage_bridge/written_by"] == f"Confluent Tableflow from {cluster}.orders.v1"
    assert metadata["lineage_bridge/written_by_tableflow"] is True


def test_its_push_is_skipped_with_the_reason(bucket: Bucket, cluster: str) -> None:
    report = push(enriched(bucket.rest, confluent(cluster, "orders.v1", "empty-1")))
    assert {(result.status, result.reason) for result in report.results} == {
        (PushStatus.SKIPPED, TAKES_NO_PROPERTIES)
    }
    assert len(report.results) == 2
    assert report.calls == {}


def test_a_table_that_glue_has_gets_the_facts_and_no_second_asset(bucket: Bucket, cluster: str) -> None:
    found = enriched(bucket.rest, confluent(cluster, "orders.v1", glue=True))
    assert list(found.graph.of_kind(IcebergTableNode)) == []
    facts = TableflowNode.of(source_of(found, "orders.v1"))
    assert (facts.catalog, facts.rows) == (NAME, 2)
    inventory = build_inventory(found, LineageTranslator().get_asset_spec)
    (table,) = inventory.tables
    assert "| Rows | 2 |" in (table.spec.description or "")


@pytest.mark.parametrize(
    ("status", "absence", "own"),
    [
        ("missing", "storage_unsupported", True),
        ("missing", "sync_failed", True),
        ("missing", "not_synced_yet", False),
        ("unknown", "glue_unread", False),
    ],
)
def test_a_table_that_glue_surely_lacks_has_an_asset_of_its_own(
    bucket: Bucket, cluster: str, status: str, absence: str, own: bool
) -> None:
    given = confluent(cluster, "orders.v1", glue=True, glue_status=status, glue_absence=absence)
    assert len(list(enriched(bucket.rest, given).graph.of_kind(IcebergTableNode))) == own


def test_a_topic_without_a_table_yet_has_no_asset_and_its_catalog_counts_as_read(
    bucket: Bucket, cluster: str
) -> None:
    found = enriched(bucket.rest, confluent(cluster, "pending"))
    assert list(found.graph.of_kind(IcebergTableNode)) == []
    elsewhere = enriched(bucket.rest, confluent("lkc-new", "pending"))
    report = report_of(elsewhere, SCOPE)
    assert report.status is Status.COMPLETE, report.reason


def test_a_commit_changes_the_facts_and_not_the_digest(bucket: Bucket, cluster: str) -> None:
    given = confluent(cluster, "orders.v1")
    before = enriched(bucket.rest, given)
    writer_of(bucket).load_table((cluster, "orders.v1")).append(
        pa.table(
            {"id": [3], "country": ["it"]}, schema=pa.schema([("id", pa.int64()), ("country", pa.string())])
        )
    )
    after = enriched(bucket.rest, given)
    (node,) = after.graph.of_kind(IcebergTableNode)
    assert node.rows == 3
    assert graph_digest(before) == graph_digest(after)


def test_a_wrong_key_is_denied_says_what_to_do_and_keeps_what_is_known(bucket: Bucket, cluster: str) -> None:
    given = confluent(cluster, "orders.v1")
    last = carry_forward(enriched(bucket.rest, given), None)
    now = carry_forward(enriched(bucket.rest, given, secret="hunter2"), last)
    report = report_of(now, SCOPE)
    assert (report.status, "hunter2" in report.reason) == (Status.DENIED, False)
    assert "LINEAGE_BRIDGE_TABLEFLOW_API_KEY" in report.reason
    (node,) = now.graph.of_kind(IcebergTableNode)
    assert node.attributes["stale_since"]
    assert now.coverage.covers_all_table_sources
    assert push(now).results[0].status is PushStatus.SKIPPED


def test_a_session_that_expired_is_renewed(
    bucket: Bucket, cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_catalog(catalogs(bucket.rest, confluent(cluster, "orders.v1")), NAME)
    before = opened.list_tables(cluster)
    now = bucket.rest.issuer.now
    monkeypatch.setattr(bucket.rest.issuer, "now", lambda: now() + 24 * 3600)
    assert opened.list_tables(cluster) == before
    # A key that was deleted since then renews nothing.
    monkeypatch.setattr(bucket.rest.issuer, "now", lambda: now() + 48 * 3600)
    monkeypatch.setattr(bucket.rest.issuer, "clients", {})
    with pytest.raises(AccessDeniedError, match="invalid_client"):
        read_tables(opened)


def test_a_topic_with_tableflow_off_takes_its_table_away(bucket: Bucket, cluster: str) -> None:
    last = carry_forward(enriched(bucket.rest, confluent(cluster, "orders.v1", "empty-1")), None)
    now = carry_forward(enriched(bucket.rest, confluent(cluster, "empty-1")), last)
    assert [node.attributes["table_name"] for node in now.graph.of_kind(IcebergTableNode)] == ["empty-1"]


def test_an_environment_of_which_confluent_tells_no_region_is_left_out(
    bucket: Bucket, cluster: str, caplog: pytest.LogCaptureFixture
) -> None:
    given = confluent(cluster, "orders.v1")
    source = source_of(given, "orders.v1").with_attributes(cluster_region="")
    found = enriched(bucket.rest, replace(given, graph=Graph([*given.graph.nodes.values(), source])))
    assert list(found.graph.of_kind(IcebergTableNode)) == []
    assert f"Tableflow's catalog of environment {ENVIRONMENT} is not read" in caplog.text


def test_tables_go_with_the_setting_and_stay_when_tableflow_cannot_be_read(
    bucket: Bucket, cluster: str
) -> None:
    given = confluent(cluster, "orders.v1")
    last = carry_forward(enriched(bucket.rest, given), None)
    off = carry_forward(given, without_other_catalogs(last, Settings().all_catalogs()))
    assert list(off.graph.of_kind(IcebergTableNode)) == []
    failed = Discovery(
        Graph(), Coverage([ScopeReport(Scope("tableflow", ENVIRONMENT, cluster), Status.FAILED)])
    )
    kept = carry_forward(failed, without_other_catalogs(last, catalogs(bucket.rest, failed)))
    assert len(list(kept.graph.of_kind(IcebergTableNode))) == 1


def test_nothing_is_asked_without_the_setting(cluster: str) -> None:
    given = confluent(cluster, "orders.v1")
    places = map(TableflowPlace._make, tableflow_places(given.graph))
    found = enrich_from_tableflow(given, Settings().all_catalogs(places), clock=clock)
    assert graph_digest(found) == graph_digest(given)


def test_discovery_without_coverage_of_tableflow_is_not_widened(bucket: Bucket, cluster: str) -> None:
    empty = Discovery(Graph(), Coverage())
    assert len(enriched(bucket.rest, empty).coverage) == 0
