"""Glue tables that `topic_to_iceberg` loads: found by their stamp, pushed, and kept in outages."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.assets.check_outcomes import schema_matches, tableflow_healthy
from lineage_bridge_dagster.catalogs.errors import CallError
from lineage_bridge_dagster.catalogs.glue.enrichment import enrich
from lineage_bridge_dagster.catalogs.glue.stamp import stamp_table
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.ids import topic_id
from lineage_bridge_dagster.lineage.loaded_topics import STAMP
from lineage_bridge_dagster.lineage.model import Graph, Node, NodeType
from lineage_bridge_dagster.specs.graph_view import GraphView
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import (
    CLUSTER,
    ENVIRONMENT,
    REGION,
    complete_coverage,
    tableflow_node,
)
from lineage_bridge_dagster_tests.catalogs.glue.runs import clock, enriched, glue_nodes, push

STAMPED = {STAMP: f"{ENVIRONMENT}/{CLUSTER}/orders.v1"}


def topic(**attributes: Any) -> Node:
    return Node(
        topic_id(ENVIRONMENT, CLUSTER, "orders.v1"),
        "confluent",
        NodeType.KAFKA_TOPIC,
        "orders.v1",
        display_name="orders.v1",
        environment_id=ENVIRONMENT,
        cluster_id=CLUSTER,
        attributes={"scope": f"kafka:{ENVIRONMENT}:{CLUSTER}", **attributes},
    )


def discovered(client: GlueClient, *nodes: Node, at: str = "t1", last: Discovery | None = None) -> Discovery:
    found = Discovery(Graph(nodes), complete_coverage(), at)
    return enrich(found, client, region=REGION, clock=clock, last=last)


def test_a_stamped_table_is_found_and_pushed_without_tableflow(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders", "sales", parameters=STAMPED)
    found = discovered(client, topic())
    (table,) = glue_nodes(found).values()
    assert (table.environment_id, table.cluster_id) == (ENVIRONMENT, CLUSTER)
    assert [hop.node.qualified_name for hop in chain_of(found.graph, table.node_id).hops] == ["orders.v1"]
    report = push(client, found)
    assert [str(result.status) for result in report.results] == ["updated"]
    parameters = catalog.table("orders", "sales")["Parameters"]
    assert parameters["lineage_bridge.pipeline_type"] == "topic_to_iceberg"
    assert parameters["lineage_bridge.source_topics"] == "orders.v1"
    assert parameters[STAMP] == STAMPED[STAMP]


def test_a_table_without_a_stamp_is_none_of_ours(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders", "sales")
    assert not glue_nodes(discovered(client, topic()))


def test_a_table_that_tableflow_claims_too_is_a_conflict_that_names_both(
    client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders.v1", parameters=STAMPED)
    source = tableflow_node("orders.v1")
    found = enriched(client, topic(), source)
    (table,) = glue_nodes(found).values()
    assert table.attributes["conflict"] == (
        f"{CLUSTER}.orders.v1 by Tableflow and {CLUSTER}.orders.v1 by topic_to_iceberg both become "
        f"glue://{CLUSTER}/orders.v1"
    )
    assert found.graph.nodes[source.node_id].attributes["glue_status"] == "conflict"
    (result,) = push(client, found).results
    assert str(result.status) == "refused"


@pytest.mark.usefixtures("hurried")
def test_the_lineage_stays_while_glue_cannot_be_asked(
    aws: StrictAws, client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders", "sales", parameters=STAMPED)
    last = discovered(client, topic())
    aws.fail("*", "InternalServiceException", status=500, times=None)
    now = carry_forward(discovered(client, topic(), at="t2", last=last), last)
    (table,) = glue_nodes(now).values()
    assert table.attributes["stale_since"]
    assert [hop.node.qualified_name for hop in chain_of(now.graph, table.node_id).hops] == ["orders.v1"]


def test_a_dropped_table_is_gone_with_the_next_discovery(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders", "sales", parameters=STAMPED)
    last = discovered(client, topic())
    catalog.glue.delete_table(DatabaseName="sales", Name="orders")
    assert not glue_nodes(carry_forward(discovered(client, topic(), at="t2", last=last), last))


def test_the_checks_of_a_table_judge_it_by_its_topic(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders", "sales", parameters=STAMPED)
    fields = [{"name": "id", "type": "long"}, {"name": "item", "type": "string"}]
    found = discovered(client, topic(schema_fields=fields, schema_type="AVRO"))
    (table,) = glue_nodes(found).values()
    view = GraphView.of(found)
    healthy = tableflow_healthy(table, view)
    assert healthy.passed
    assert f"topic_to_iceberg loads it from {CLUSTER}.orders.v1" in healthy.summary
    outcome = schema_matches(table, view)
    assert not outcome.passed
    assert "1 of 2 fields" in outcome.summary


def test_columns_of_a_json_topic_are_compared_by_the_types_of_its_table(
    client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders", "sales", parameters=STAMPED)
    fields = [{"name": "id", "type": "integer"}]
    found = discovered(
        client, topic(schema_fields=fields, schema_type="JSON", column_types={"id": "timestamptz"})
    )
    (table,) = glue_nodes(found).values()
    outcome = schema_matches(table, GraphView.of(found))
    assert not outcome.passed
    assert "id is integer, its column is bigint" in outcome.summary


class TestStamping:
    def test_it_adds_one_parameter_and_keeps_all_else(self, client: GlueClient, catalog: Catalog) -> None:
        catalog.create("orders", "sales", parameters={"team": "shop"}, Description="Orders.")
        before = catalog.table("orders", "sales")
        place = GluePlace("sales", "orders")
        assert stamp_table(client, place, STAMP, "e/c/t")
        after = catalog.table("orders", "sales")
        assert after["Parameters"] == {**before["Parameters"], STAMP: "e/c/t"}
        for field in ("Description", "StorageDescriptor", "Owner", "TableType", "Retention"):
            assert after[field] == before[field]
        # A second run writes nothing.
        assert not stamp_table(client, place, STAMP, "e/c/t")
        assert catalog.table("orders", "sales")["VersionId"] == after["VersionId"]

    def test_it_reads_again_after_a_commit_in_between(
        self, client: GlueClient, catalog: Catalog, aws: StrictAws
    ) -> None:
        catalog.create("orders", "sales")
        aws.fail("UpdateTable", "ConcurrentModificationException", times=2)
        assert stamp_table(client, GluePlace("sales", "orders"), STAMP, "e/c/t", sleep=lambda _s: None)
        assert catalog.table("orders", "sales")["Parameters"][STAMP] == "e/c/t"

    def test_a_missing_table_is_an_error(self, client: GlueClient, catalog: Catalog) -> None:
        catalog.create("other", "sales")
        with pytest.raises(CallError, match=r"sales\.orders does not exist"):
            stamp_table(client, GluePlace("sales", "orders"), STAMP, "e/c/t")
