"""The scan of a Glue catalog: what it keeps, and what it reports when Glue fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ProxyConnectionError

from lineage_bridge_dagster.catalogs.glue import enrichment
from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.catalogs.glue.reader import GlueDatabase
from lineage_bridge_dagster.catalogs.glue.scan import scan_catalog
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.lineage.unknowns import note_text
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import (
    CLUSTER,
    REGION,
    discovery,
    tableflow_node,
)
from lineage_bridge_dagster_tests.catalogs.glue.runs import (
    enriched,
    glue_nodes,
    graph_of,
    push,
    report_of,
)


def test_only_tables_of_tableflow_or_with_lineage_are_kept(client: GlueClient, catalog: Catalog) -> None:
    """A catalog holds all tables of an account; ours may be few among many."""
    for name in ("by_name", "by_location", "ours", "other_1", "other_2"):
        catalog.create(name)
    graph = graph_of("ours")
    push(client, graph)
    sources = (tableflow_node("by_name"), tableflow_node("elsewhere", path="s3://bucket/by_location"))
    kept: list[str] = []
    with pytest.MonkeyPatch.context() as patched:

        def spy(*args: Any, **options: Any) -> Any:
            scan = scan_catalog(*args, **options)
            kept.extend(table.name for table in scan.tables)
            return scan

        patched.setattr(enrichment, "scan_catalog", spy)
        found = enriched(client, *sources)
    assert sorted(kept) == ["by_location", "by_name", "ours"]
    report = report_of(found)
    assert report.count == 5


def test_failed_second_page_makes_the_scope_partial(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    for number in range(101):
        catalog.create(f"t{number:03d}")
    aws.fail("GetTables", "InvalidInputException", times=None, matching="NextToken")
    first, last = tableflow_node("t000"), tableflow_node("t100")
    found = enriched(client, first, last)
    report = report_of(found)
    assert report.status is Status.PARTIAL
    assert "glue:GetTables" in report.reason
    assert found.graph.nodes[first.node_id].attributes["glue_status"] == "found"
    assert found.graph.nodes[last.node_id].attributes["glue_status"] == "unknown"


def test_denied_database_makes_the_scope_partial_and_others_are_read(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders", "readable")
    catalog.create("orders", "denied")
    aws.fail("GetTables", "AccessDeniedException", times=None, matching='"denied"')
    found = enriched(client, tableflow_node("orders", database="readable"))
    report = report_of(found)
    assert report.status is Status.PARTIAL
    assert "denied" in report.reason
    assert "Lake Formation" in report.reason
    assert len(glue_nodes(found)) == 1


def test_expected_databases_are_read_when_listing_databases_is_denied(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders")
    aws.fail("GetDatabases", "AccessDeniedException", times=None)
    found = enriched(client, tableflow_node("orders"))
    assert len(glue_nodes(found)) == 1
    report = report_of(found)
    assert report.status is Status.PARTIAL
    assert "glue:GetDatabases" in report.reason


def test_scope_is_denied_if_every_call_is_denied(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders")
    aws.fail("*", "AccessDeniedException", times=None)
    report = report_of(enriched(client, tableflow_node("orders")))
    assert report.status is Status.DENIED


@pytest.mark.usefixtures("hurried")
def test_unreachable_endpoint_makes_the_scope_failed(credentials: None) -> None:
    client = glue_client(AwsSettings(region=REGION, endpoint_url="http://127.0.0.1:1"))
    client.meta.events.register("before-send.glue", _refuse_connection)
    report = report_of(enriched(client, tableflow_node("orders")))
    assert report.status is Status.FAILED
    assert "LINEAGE_BRIDGE_AWS_ENDPOINT_URL" in report.reason


def _refuse_connection(**_: Any) -> None:
    raise ProxyConnectionError(proxy_url="http://127.0.0.1:1")


def link(client: GlueClient, name: str) -> None:
    """Create a resource link to a database of an S3 Tables catalog."""
    target = {"CatalogId": "111122223333:s3tablescatalog/lake", "DatabaseName": "sales"}
    client.create_database(DatabaseInput={"Name": name, "TargetDatabase": target})


def federated(client: GlueClient, name: str) -> None:
    """List a database of a federated connection, which the fake of Glue cannot store."""
    reference = {"Identifier": "hive.sales", "ConnectionName": "metastore", "ConnectionType": "HIVE"}

    def add(parsed: dict[str, Any], **_: Any) -> None:
        parsed["DatabaseList"].append({"Name": name, "FederatedDatabase": reference})

    client.meta.events.register("after-call.glue.GetDatabases", add)


def test_databases_whose_tables_are_elsewhere_are_named_and_the_scope_is_complete(
    client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders")
    link(client, "lake_sales")
    federated(client, "hive_sales")
    report = report_of(enriched(client, tableflow_node("orders")))
    assert (report.status, report.reason, report.count) == (Status.COMPLETE, "", 1)
    assert [note_text(note) for note in report.notes] == [
        "1 federated database whose tables are not read: hive_sales (connection metastore)",
        "1 linked database whose tables are not read: lake_sales "
        "(link to 111122223333:s3tablescatalog/lake.sales; to read it, add a rest catalog with the warehouse "
        "111122223333:s3tablescatalog/lake to catalogs)",
    ]


def test_databases_whose_catalog_is_read_besides_are_not_named(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders")
    link(client, "lake_sales")
    found = enrichment.enrich(
        discovery(Graph([tableflow_node("orders")])),
        client,
        region=REGION,
        warehouses=["111122223333:s3tablescatalog/lake"],
    )
    report = report_of(found)
    assert report.notes == ()


def test_a_federated_database_of_a_table_bucket_names_the_catalog_to_configure() -> None:
    arn = "arn:aws:s3tables:us-east-1:111122223333:bucket/lake/sales"
    database = GlueDatabase.from_raw({"Name": "sales", "FederatedDatabase": {"Identifier": arn}})
    assert database.warehouse == "111122223333:s3tablescatalog/lake"


@pytest.mark.parametrize(
    ("create", "what"), [(link, "a resource link to"), (federated, "federated through connection metastore")]
)
def test_tableflow_database_whose_tables_are_elsewhere_makes_the_scope_partial(
    client: GlueClient, catalog: Catalog, create: Callable[[GlueClient, str], None], what: str
) -> None:
    create(client, CLUSTER)
    # A table of another topic is found by its location in a database of this catalog.
    catalog.create("moved", "local")
    unread = tableflow_node("orders")
    moved = tableflow_node("moved", path="s3://bucket/moved")
    found = enriched(client, unread, moved)
    report = report_of(found)
    assert report.status is Status.PARTIAL
    assert (
        f"The Glue database {CLUSTER}, in which Tableflow's tables are expected, is {what}" in report.reason
    )
    assert "glue_table_found" in found.graph.nodes[moved.node_id].attributes
    attributes = found.graph.nodes[unread.node_id].attributes
    assert attributes["glue_status"] == "unknown"
    assert what in attributes["glue_reason"]


def test_tables_found_by_location_need_no_linked_database(client: GlueClient, catalog: Catalog) -> None:
    link(client, CLUSTER)
    catalog.create("moved", "local")
    report = report_of(enriched(client, tableflow_node("moved", path="s3://bucket/moved")))
    assert report.status is Status.COMPLETE
    assert report.notes
