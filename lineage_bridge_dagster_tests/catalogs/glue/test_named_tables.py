"""Under a policy of `glue:GetTable` and `glue:UpdateTable` alone, expected tables are asked for by name."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.gaps import Gaps
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster_tests.aws.extended import ExtendedAws
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import (
    CLUSTER,
    complete_coverage,
    tableflow_node,
)
from lineage_bridge_dagster_tests.catalogs.glue.runs import (
    SCOPE,
    created,
    edge_target,
    enriched,
    glue_nodes,
    graph_of,
    ours,
    push,
    report_of,
)


def policy(*databases: str) -> dict[str, Any]:
    """The policy that LineageBridge documents, for these databases, by default for all."""
    names = databases or ("*",)
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": ["glue:GetTable", "glue:UpdateTable"],
                "Resource": [
                    "arn:aws:glue:*:*:catalog",
                    *(f"arn:aws:glue:*:*:database/{name}" for name in names),
                    *(f"arn:aws:glue:*:*:table/{name}/*" for name in names),
                ],
            }
        ],
    }


def status_of(found: Discovery, node: Node) -> str:
    return str(found.graph.nodes[node.node_id].attributes["glue_status"])


def test_found_tables_are_enriched_and_the_coverage_says_what_to_grant(
    aws: ExtendedAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders.v1")
    aws.restrict(policy())
    there, absent = tableflow_node("orders.v1"), tableflow_node("returns")
    found = enriched(client, there, absent)
    (node,) = [node for node in glue_nodes(found).values() if node.qualified_name.endswith("/orders.v1")]
    assert node.attributes["columns"] == [{"name": "id", "type": "bigint", "comment": "the key"}]
    assert status_of(found, there) == "found"
    assert status_of(found, absent) == "missing"
    report = report_of(found)
    assert report.status is Status.PARTIAL
    assert report.count == 1
    assert "glue:GetTable asked for 2 expected tables by name: 1 found, 1 missing." in report.reason
    assert "glue:GetDatabases" in report.reason
    assert "glue:GetTables" in report.reason


def test_calls_are_one_for_each_expected_table(
    aws: ExtendedAws, client: GlueClient, catalog: Catalog
) -> None:
    for number in range(30):
        catalog.create(f"t{number}")
    aws.restrict(policy())
    aws.clear_faults()
    enriched(client, *(tableflow_node(f"t{number}") for number in range(20)))
    assert aws.calls == {"GetDatabases": 1, "GetTables": 1, "GetTable": 20}


def test_table_that_may_not_be_read_is_unknown_and_others_are_found(
    aws: ExtendedAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders", "sales")
    catalog.create("people", "hr")
    aws.restrict(policy("sales"))
    orders, people = tableflow_node("orders", database="sales"), tableflow_node("people", database="hr")
    found = enriched(client, orders, people)
    assert (status_of(found, orders), status_of(found, people)) == ("found", "unknown")
    report = report_of(found)
    assert report.status is Status.PARTIAL
    assert "glue:GetTable" in report.reason
    assert "hr" in report.reason


def test_refusals_are_not_asked_for_without_end(
    aws: ExtendedAws, client: GlueClient, catalog: Catalog
) -> None:
    aws.restrict({"Statement": []})
    nodes = [tableflow_node(f"t{number}") for number in range(300)]
    found = enriched(client, *nodes)
    assert aws.calls["GetTable"] < 50
    assert {status_of(found, node) for node in nodes} == {"unknown"}
    assert report_of(found).status is Status.DENIED


def test_invalid_credentials_are_no_reason_to_ask_by_name(
    aws: ExtendedAws, client: GlueClient, catalog: Catalog
) -> None:
    aws.fail("*", "ExpiredTokenException", times=None)
    found = enriched(client, tableflow_node("orders"))
    assert "GetTable" not in aws.calls
    assert report_of(found).status is Status.DENIED


def test_second_page_that_is_denied_leaves_tables_to_ask_for(
    aws: ExtendedAws, client: GlueClient, catalog: Catalog
) -> None:
    for number in range(101):
        catalog.create(f"t{number:03d}")
    aws.fail("GetTables", "AccessDeniedException", times=None, matching="NextToken")
    first, last = tableflow_node("t000"), tableflow_node("t100")
    found = enriched(client, first, last)
    assert (status_of(found, first), status_of(found, last)) == ("found", "found")
    assert len(glue_nodes(found)) == 2


def test_push_writes_and_then_nothing_more(aws: ExtendedAws, client: GlueClient, catalog: Catalog) -> None:
    graph = created(catalog, ("a", "b", "c"))
    aws.restrict(policy())
    for expected in ("updated", "unchanged"):
        assert push(client, graph).counts[expected] == 3
    assert "topic" in ours(catalog.parameters("a"))["lineage_bridge.upstream_chain"]


def test_asked_by_name_nothing_upstream_of_a_table_is_hidden(
    aws: ExtendedAws, client: GlueClient, catalog: Catalog
) -> None:
    """Or a chain that became shorter would be held back for ever."""
    catalog.create("orders.v1")
    push(client, graph_of())
    aws.restrict(policy())
    without_connector = graph_of(connector=None, glue=False)
    found = enriched(client, *without_connector.nodes.values())
    for edge in without_connector.edges.values():
        found.graph.add_edge(edge)
    coverage = Coverage([*(r for r in complete_coverage() if r.scope != SCOPE), report_of(found)])
    (table,) = glue_nodes(found)
    assert Gaps(found.graph, coverage).of([table]) == ()
    assert push(client, found.graph, coverage).counts["updated"] == 1
    assert "lineage_bridge.source_connectors" not in catalog.parameters("orders.v1")


def test_table_that_was_found_under_another_name_is_asked_for_by_that_name(
    aws: ExtendedAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders_v1")
    source = tableflow_node("orders.v1", path="s3://bucket/orders_v1")
    last = enriched(client, source)
    assert edge_target(last, source) is not None
    aws.restrict(policy())
    now = enriched(client, source, last=last)
    assert edge_target(now, source) == edge_target(last, source)
    assert status_of(now, source) == "found"


def test_lineage_of_a_topic_that_left_tableflow_is_removed(
    aws: ExtendedAws, client: GlueClient, catalog: Catalog
) -> None:
    graph = created(catalog, ("orders.v1", "returns"))
    push(client, graph)
    aws.restrict(policy())
    returns = graph_of("returns", glue=False)
    found = enriched(client, *returns.nodes.values(), last=Discovery(graph))
    for edge in returns.edges.values():
        found.graph.add_edge(edge)
    coverage = Coverage([*(r for r in complete_coverage() if r.scope != SCOPE), report_of(found)])
    report = push(client, found.graph, coverage, settings={"max_removal_share": 0.5})
    assert report.counts["updated"] == 1
    assert ours(catalog.parameters("orders.v1")) == {}
    assert ours(catalog.parameters("returns"))


@pytest.mark.parametrize("databases", [(), ("elsewhere",)])
def test_table_of_a_topic_that_left_tableflow_is_carried_only_if_it_could_not_be_asked_for(
    databases: tuple[str, ...], aws: ExtendedAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders.v1")
    catalog.create("returns")
    before = enriched(client, tableflow_node("orders.v1"), tableflow_node("returns"))
    coverage = complete_coverage(
        ScopeReport(Scope("catalog_integrations", "env-abc123", CLUSTER), Status.COMPLETE)
    )
    last = Discovery(before.graph, coverage, "2026-04-30T00:00:00Z")
    aws.restrict(policy(*databases))
    now = enriched(client, tableflow_node("returns"))
    new = Discovery(
        now.graph,
        Coverage([*(r for r in coverage if r.scope != SCOPE), report_of(now)]),
        "2026-05-01T00:00:00Z",
    )
    carried = [node.qualified_name for node in carry_forward(new, last).graph.of_type("catalog_table")]
    gone = f"glue://{CLUSTER}/orders.v1" not in carried
    assert gone is (not databases)
