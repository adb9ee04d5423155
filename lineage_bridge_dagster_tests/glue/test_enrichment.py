"""A discovery enriched from Glue: matches, conflicts, leftovers, and what could not be asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.glue import enrich, push_tables
from lineage_bridge_dagster.glue.scan import scan_catalog
from lineage_bridge_dagster.glue.tables import normalize_location
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.coverage import Scope, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node, scopes_of
from lineage_bridge_dagster_tests.glue.graphs import (
    CLUSTER,
    ENVIRONMENT,
    REGION,
    Catalog,
    add_table,
    clock,
    complete_coverage,
    discovery,
    no_sleep,
    tableflow_node,
)

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

    from lineage_bridge_dagster.embedded.aws import StrictAws

SCOPE = Scope("glue", "", REGION)


def enriched(client: GlueClient, *nodes: Node, **options: Any) -> Discovery:
    return enrich(Discovery(Graph(nodes)), client, region=REGION, clock=clock, **options)


def tables_of(found: Discovery) -> dict[str, Node]:
    return {node.node_id: node for node in found.graph.nodes.values() if node.node_type == "catalog_table"}


def table_of(found: Discovery, node: Node) -> str | None:
    """The id of the Glue table that a Tableflow table leads to."""
    edges = [edge for edge in found.graph.edges.values() if edge.src_id == node.node_id]
    return edges[0].dst_id if edges else None


def test_a_glue_table_carries_the_documented_attributes(client: GlueClient, catalog: Catalog) -> None:
    catalog.create(
        "orders.v1",
        PartitionKeys=[{"Name": "day", "Type": "date", "Comment": "of the order"}],
        Description="mine",
    )
    found = enriched(client, tableflow_node("orders.v1"))
    node = tables_of(found)[f"aws:glue_table:{ENVIRONMENT}:glue://{CLUSTER}/orders.v1"]
    assert node.qualified_name == f"glue://{CLUSTER}/orders.v1"
    assert (node.system, node.catalog_type, node.environment_id) == ("aws", "AWS_GLUE", ENVIRONMENT)
    attributes = node.attributes
    assert {
        "database", "table_name", "aws_region", "owner", "table_type", "columns", "partition_keys",
        "storage_location", "input_format", "output_format", "serde_info", "parameters", "create_time",
        "update_time",
    } <= set(attributes)  # fmt: skip
    assert attributes["columns"] == [{"name": "id", "type": "bigint", "comment": "the key"}]
    assert attributes["partition_keys"] == [{"name": "day", "type": "date", "comment": "of the order"}]
    assert attributes["storage_location"] == "s3://bucket/orders.v1"
    assert attributes["parameters"]["table_type"] == "ICEBERG"
    assert attributes["create_time"].endswith("Z")
    assert node.url is not None
    assert "orders.v1?database=lkc-abc123" in node.url
    json.dumps(dict(attributes))


def test_the_edge_leads_from_tableflow_to_glue(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.v1")
    source = tableflow_node("orders.v1")
    found = enriched(client, source)
    (edge,) = found.graph.edges.values()
    assert (edge.src_id, edge.edge_type) == (source.node_id, EdgeType.MATERIALIZES)
    assert found.graph.nodes[source.node_id].attributes["glue_status"] == "found"
    assert found.coverage.get(SCOPE).status is Status.COMPLETE  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "path", ["s3://bucket/real", "s3://bucket/real/", "s3a://bucket/real", "S3://bucket/real"]
)
def test_the_storage_location_wins_over_the_name(client: GlueClient, catalog: Catalog, path: str) -> None:
    catalog.create("orders")
    storage = {"Location": "s3://bucket/real", "Columns": []}
    catalog.create("renamed_by_tableflow", "elsewhere", StorageDescriptor=storage)
    source = tableflow_node("orders", path=path)
    found = enriched(client, source)
    assert table_of(found, source) == f"aws:glue_table:{ENVIRONMENT}:glue://elsewhere/renamed_by_tableflow"
    assert len(tables_of(found)) == 1


def test_of_several_tables_at_one_location_the_expected_name_wins(
    client: GlueClient, catalog: Catalog
) -> None:
    storage = {"Location": "s3://bucket/orders", "Columns": []}
    catalog.create("orders", StorageDescriptor=storage)
    catalog.create("a_copy", "aaa", StorageDescriptor=storage)
    source = tableflow_node("orders", path="s3://bucket/orders")
    assert (
        table_of(enriched(client, source), source) == f"aws:glue_table:{ENVIRONMENT}:glue://{CLUSTER}/orders"
    )


def test_a_match_by_name_alone_says_that_the_location_differs(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders")
    found = enriched(client, tableflow_node("orders", path="s3://bucket/another"))
    (edge,) = found.graph.edges.values()
    assert edge.attributes["location_differs"]
    assert edge.confidence < 1


def test_the_custom_database_and_folded_name_are_found(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders.eu", "shop")
    source = tableflow_node("Orders.EU", database="Shop")
    assert table_of(enriched(client, source), source) == f"aws:glue_table:{ENVIRONMENT}:glue://shop/orders.eu"


def test_a_table_that_is_not_in_glue_yet_is_noted_on_tableflow(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("other")
    source = tableflow_node("orders")
    found = enriched(client, source)
    assert not tables_of(found)
    assert found.graph.nodes[source.node_id].attributes["glue_status"] == "not_found"


def test_a_database_that_nobody_told_is_not_guessed(client: GlueClient, catalog: Catalog) -> None:
    """The integrations could not be read: the cluster's own database may hold an older table of the name."""
    catalog.create("orders")
    source = tableflow_node("orders", glue_database=None)
    found = enriched(client, source)
    assert not tables_of(found)
    attributes = found.graph.nodes[source.node_id].attributes
    assert attributes["glue_status"] == "unknown"
    assert "integrations" in attributes["glue_reason"]


def test_a_storage_location_tells_where_nobody_told_the_database(
    client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders", "shop")
    source = tableflow_node("orders", glue_database=None, path="s3://bucket/orders")
    assert table_of(enriched(client, source), source) == f"aws:glue_table:{ENVIRONMENT}:glue://shop/orders"


def test_an_outage_of_the_integrations_keeps_the_way_to_a_table_that_was_found_by_name(
    client: GlueClient, catalog: Catalog
) -> None:
    """Glue still shows the table, with our lineage on it: the table is seen, and its edge must not go."""
    from lineage_bridge_dagster.lineage.carry import carry_forward
    from lineage_bridge_dagster.lineage.coverage import ScopeReport

    catalog.create("orders", "shop")
    graph = Graph()
    add_table(graph, "orders", database="shop", glue=False)
    last = enrich(Discovery(graph, complete_coverage(), "t1"), client, region=REGION, clock=clock)
    push_tables(last, client, PushSettings(), clock=clock, sleep=no_sleep)
    (table,) = tables_of(last)

    unsaid = [
        node.with_attributes(glue_database=None, catalog_types=[])
        if node.node_type == "tableflow_table"
        else node
        for node in graph.nodes.values()
    ]
    now = Discovery(Graph(unsaid, graph.edges.values()), complete_coverage(), "t2")
    now.coverage.add(ScopeReport(Scope("catalog_integrations", ENVIRONMENT, CLUSTER), Status.FAILED, "500"))
    carried = carry_forward(enrich(now, client, region=REGION, clock=clock), last)

    assert set(last.graph.edges) <= set(carried.graph.edges)
    assert not chain_of(carried.graph, table, coverage=carried.coverage).complete


def test_tables_of_other_catalogs_are_not_looked_for(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders")
    found = enriched(client, tableflow_node("orders", catalog_types=["UNITY"]))
    assert not tables_of(found)


def test_two_topics_that_fold_to_one_table_are_a_conflict_named_on_both(
    client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders")
    upper, lower = tableflow_node("Orders"), tableflow_node("orders")
    found = enriched(client, upper, lower)
    for node in (upper, lower):
        attributes = found.graph.nodes[node.node_id].attributes
        assert attributes["glue_status"] == "conflict"
        assert f"{CLUSTER}.Orders and {CLUSTER}.orders" in attributes["conflict"]
    (table,) = tables_of(found).values()
    assert "Orders" in table.attributes["conflict"]
    report = push_tables(found, client, PushSettings(), clock=clock, sleep=no_sleep)
    assert report.counts["refused"] == 1


def test_what_tableflow_named_apart_is_no_conflict(client: GlueClient, catalog: Catalog) -> None:
    for name in ("orders", "orders_1"):
        catalog.create(name)
    upper = tableflow_node("Orders", path="s3://bucket/orders_1")
    lower = tableflow_node("orders", path="s3://bucket/orders")
    found = enriched(client, upper, lower)
    assert not [node for node in found.graph.nodes.values() if node.attributes.get("conflict")]
    assert len(tables_of(found)) == 2


def test_the_discovery_given_is_left_as_it_was(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders")
    given = Discovery(Graph([tableflow_node("orders")]), complete_coverage())
    before = (dict(given.graph.nodes), dict(given.graph.edges), len(given.coverage))
    enrich(given, client, region=REGION, clock=clock)
    assert (dict(given.graph.nodes), dict(given.graph.edges), len(given.coverage)) == before


def test_a_table_that_only_carries_our_lineage_is_found_under_its_old_id(
    client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders")
    graph = Graph()
    table = add_table(graph, "orders")
    push_tables(discovery(graph), client, PushSettings(), clock=clock, sleep=no_sleep)
    found = enriched(client)
    assert list(tables_of(found)) == [table.node_id]
    assert chain_of(found.graph, table.node_id).hops == ()


def test_a_glue_table_belongs_to_tableflows_scope_as_well(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders")
    found = enriched(client, tableflow_node("orders"))
    (table,) = tables_of(found).values()
    apis = ("tableflow", "catalog_integrations")
    wanted = {str(SCOPE), *(f"{api}:{ENVIRONMENT}:{CLUSTER}" for api in apis)}
    assert scopes_of(table.attributes) == wanted
    (edge,) = found.graph.edges.values()
    assert scopes_of(edge.attributes) == wanted


# What could not be asked


def test_more_tables_than_a_page_are_all_read(aws: StrictAws, client: GlueClient, catalog: Catalog) -> None:
    for number in range(101):
        catalog.create(f"t{number:03d}")
    aws.clear_faults()
    found = enriched(client, tableflow_node("t100"))
    assert len(tables_of(found)) == 1
    assert aws.calls["GetTables"] == 2
    assert found.coverage.get(SCOPE).count == 101  # type: ignore[union-attr]


def test_only_tables_that_concern_us_are_kept(client: GlueClient, catalog: Catalog) -> None:
    """A catalog is all of an account's; ours may be a few of very many."""
    for name in ("by_name", "by_place", "ours", "else_1", "else_2"):
        catalog.create(name)
    graph = Graph()
    add_table(graph, "ours")
    push_tables(discovery(graph), client, PushSettings(), clock=clock, sleep=no_sleep)
    sources = (tableflow_node("by_name"), tableflow_node("elsewhere", path="s3://bucket/by_place"))
    kept: list[str] = []
    with pytest.MonkeyPatch.context() as patched:
        from lineage_bridge_dagster.glue import enrichment

        def spy(*given: Any, **options: Any) -> Any:
            inventory = scan_catalog(*given, **options)
            kept.extend(table.name for table in inventory.tables)
            return inventory

        patched.setattr(enrichment, "scan_catalog", spy)
        found = enriched(client, *sources)
    assert sorted(kept) == ["by_name", "by_place", "ours"]
    report = found.coverage.get(SCOPE)
    assert report is not None
    assert report.count == 5


def test_a_page_that_fails_half_way_makes_the_scope_partial_and_not_empty(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    for number in range(101):
        catalog.create(f"t{number:03d}")
    aws.fail("GetTables", "AccessDeniedException", times=-1, matching="NextToken")
    first, last = tableflow_node("t000"), tableflow_node("t100")
    found = enriched(client, first, last)
    report = found.coverage.get(SCOPE)
    assert report is not None
    assert report.status is Status.PARTIAL
    assert "glue:GetTables" in report.reason
    assert found.graph.nodes[first.node_id].attributes["glue_status"] == "found"
    assert found.graph.nodes[last.node_id].attributes["glue_status"] == "unknown"


def test_a_denied_database_is_partial_and_the_others_are_read(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders", "open")
    catalog.create("orders", "closed")
    aws.fail("GetTables", "AccessDeniedException", times=-1, matching='"closed"')
    found = enriched(client, tableflow_node("orders", database="open"))
    report = found.coverage.get(SCOPE)
    assert report is not None
    assert report.status is Status.PARTIAL
    assert "closed" in report.reason
    assert "Lake Formation" in report.reason
    assert len(tables_of(found)) == 1


def test_without_the_right_to_list_the_expected_databases_are_read_by_name(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders")
    aws.fail("GetDatabases", "AccessDeniedException", times=-1)
    found = enriched(client, tableflow_node("orders"))
    assert len(tables_of(found)) == 1
    report = found.coverage.get(SCOPE)
    assert report is not None
    assert report.status is Status.PARTIAL
    assert "glue:GetDatabases" in report.reason


def test_everything_denied_is_denied(aws: StrictAws, client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders")
    aws.fail("*", "AccessDeniedException", times=-1)
    report = enriched(client, tableflow_node("orders")).coverage.get(SCOPE)
    assert report is not None
    assert report.status is Status.DENIED


def test_an_endpoint_that_does_not_answer_is_a_failed_scope(credentials: None) -> None:
    from lineage_bridge_dagster.config.settings import AwsSettings
    from lineage_bridge_dagster.glue import glue_client

    closed = glue_client(AwsSettings(region=REGION, endpoint_url="http://127.0.0.1:1"))
    closed.meta.events.register("before-send.glue", _refuse)
    report = enriched(closed, tableflow_node("orders")).coverage.get(SCOPE)
    assert report is not None
    assert report.status is Status.FAILED
    assert "LINEAGE_BRIDGE_AWS_ENDPOINT_URL" in report.reason


def _refuse(**_: Any) -> None:
    from botocore.exceptions import ProxyConnectionError

    raise ProxyConnectionError(proxy_url="http://127.0.0.1:1")


def test_only_the_databases_asked_for_are_read(aws: StrictAws, client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders")
    catalog.create("orders", "other")
    aws.clear_faults()
    found = enriched(client, tableflow_node("orders"), databases=[CLUSTER, "missing"])
    assert len(tables_of(found)) == 1
    assert dict(aws.calls) == {"GetTables": 2}
    assert found.coverage.get(SCOPE).status is Status.COMPLETE  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "body", [b"<html>a proxy's page</html>", b"{}", b'{"TableList": "none"}', b'{"TableList": [{}]}']
)
def test_a_malformed_answer_is_never_an_empty_list(client: GlueClient, catalog: Catalog, body: bytes) -> None:
    catalog.create("orders")

    def garble(response_dict: dict[str, Any], **_: Any) -> None:
        response_dict["body"] = body

    client.meta.events.register_first("before-parse.glue.GetTables", garble)
    report = enriched(client, tableflow_node("orders")).coverage.get(SCOPE)
    assert report is not None
    assert report.status is Status.FAILED
    assert "malformed" in report.reason.lower()


def test_endless_pages_end(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders")

    def loop(response_dict: dict[str, Any], **_: Any) -> None:
        answer = json.loads(response_dict["body"])
        response_dict["body"] = json.dumps({**answer, "NextToken": "again"}).encode()

    client.meta.events.register_first("before-parse.glue.GetTables", loop)
    # The server knows no such token, so only what the client sees is changed.
    client.meta.events.register_first(
        "provide-client-params.glue.GetTables", lambda params, **_: params.pop("NextToken", None) and None
    )
    report = enriched(client, tableflow_node("orders")).coverage.get(SCOPE)
    assert report is not None
    assert "same page token twice" in report.reason


def test_links_views_and_databases_elsewhere_are_told_apart(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders", TableType="VIRTUAL_VIEW", ViewOriginalText="select 1")
    catalog.glue.create_database(
        DatabaseInput={"Name": "link", "TargetDatabase": {"CatalogId": "1", "DatabaseName": "x"}}
    )
    found = enriched(client, tableflow_node("orders"))
    (table,) = tables_of(found).values()
    assert table.attributes["not_writable"] == "it is a view"
    report = push_tables(
        Discovery(_with_source(found.graph), complete_coverage()),
        client,
        PushSettings(),
        clock=clock,
        sleep=no_sleep,
    )
    assert report.counts["refused"] == 1
    assert "view" in report.results[0].reason


def _with_source(graph: Graph) -> Graph:
    flow = next(node for node in graph.nodes.values() if node.node_type == "tableflow_table")
    topic = graph.add_node(Node("t", "confluent", "kafka_topic", "orders"))
    graph.add_edge(Edge(topic.node_id, flow.node_id, EdgeType.MATERIALIZES))
    return graph


@pytest.mark.parametrize(
    ("one", "other"),
    [("s3://b/p/", "s3a://b/p"), ("s3n://b/p", "s3://b/p//"), ("S3://b/p", "s3://b/p")],
)
def test_locations_are_compared_by_meaning(one: str, other: str) -> None:
    assert normalize_location(one) == normalize_location(other)
    assert normalize_location("s3://b/P") != normalize_location("s3://b/p")


@pytest.mark.parametrize("failed", ["tableflow", "glue"])
def test_an_outage_of_tableflow_or_of_glue_loses_no_table(
    aws: StrictAws, client: GlueClient, catalog: Catalog, failed: str
) -> None:
    """Both had to answer for a table to be known; either one failing takes nothing away."""
    from lineage_bridge_dagster.lineage.carry import carry_forward
    from lineage_bridge_dagster.lineage.coverage import ScopeReport

    catalog.create("orders")
    graph = Graph()
    source = add_table(graph, "orders", glue=False)
    last = enrich(Discovery(graph, complete_coverage(), "t1"), client, region=REGION, clock=clock)
    (table,) = tables_of(last)
    hops = [hop.node.node_id for hop in chain_of(last.graph, table).hops]
    now = Discovery(Graph(graph.nodes.values(), graph.edges.values()), complete_coverage(), "t2")
    if failed == "tableflow":
        scope = Scope("tableflow", ENVIRONMENT, CLUSTER)
        now.coverage.add(ScopeReport(scope, Status.FAILED, "500"))
        del now.graph.nodes[source.node_id]
        now.graph.edges = {key: edge for key, edge in graph.edges.items() if source.node_id not in key}
    else:
        aws.fail("*", "InternalServiceException", status=500, times=-1)
    carried = carry_forward(enrich(now, client, region=REGION, clock=clock), last)
    assert table in carried.graph
    chain = chain_of(carried.graph, table, coverage=carried.coverage)
    assert [hop.node.node_id for hop in chain.hops] == hops
    assert not chain.complete
