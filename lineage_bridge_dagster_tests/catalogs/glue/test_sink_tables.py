"""Glue tables that sink connectors write: found, pushed, checked, kept in outages, and cleaned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from lineage_bridge_dagster.assets.check_outcomes import tableflow_healthy
from lineage_bridge_dagster.assets.inventory import build_inventory
from lineage_bridge_dagster.catalogs.glue.enrichment import enrich
from lineage_bridge_dagster.catalogs.glue.sink_tables import SinkTables
from lineage_bridge_dagster.confluent.connectors import ConnectorRecord, resolve
from lineage_bridge_dagster.confluent.connectors.record import ExistingTopics
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.coverage import Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType, Graph, NodeType
from lineage_bridge_dagster.lineage.unknowns import ELSEWHERE_TABLES
from lineage_bridge_dagster.specs.graph_view import GraphView
from lineage_bridge_dagster.specs.translator import LineageTranslator
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient, glue_table
from lineage_bridge_dagster_tests.catalogs.glue.graphs import (
    CLUSTER,
    ENVIRONMENT,
    REGION,
    add_sink,
    complete_coverage,
)
from lineage_bridge_dagster_tests.catalogs.glue.runs import cleaning as new_cleaning
from lineage_bridge_dagster_tests.catalogs.glue.runs import clock, glue_nodes, ours, push

#: In place of the account of the Glue of a test, which has one of its own.
ACCOUNT = "123456789012"

ICEBERG = {
    "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
    "topics": "orders",
    "iceberg.tables": "sales.orders",
    "iceberg.catalog.catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog",
    "iceberg.catalog.warehouse": "s3://lake/warehouse",
    "iceberg.catalog.client.region": REGION,
}
S3 = {
    "connector.class": "io.confluent.connect.s3.S3SinkConnector",
    "topics": "orders",
    "s3.bucket.name": "lake",
    "s3.region": REGION,
}
FILES = {"table_type": "", "classification": "parquet"}


def sink(config: Mapping[str, str], name: str = "sink", environment: str = ENVIRONMENT) -> Graph:
    """A topic, and the connector of a configuration with the datasets that it resolves to."""
    record = ConnectorRecord(name=name, type="sink", config={"name": name, **config})
    lineage = resolve(record, ExistingTopics(("orders", "payments")))
    made_of = {
        written: [topic for topic, dataset in lineage.pairs if dataset == written]
        for written in lineage.datasets_written
    }
    graph = Graph()
    told = {"config": dict(config), "connector_class": config["connector.class"]}
    add_sink(graph, lineage.topics_read, made_of, name=name, environment=environment, **told)
    return graph


def discovered(
    client: GlueClient,
    graph: Graph,
    last: Discovery | None = None,
    connect: Status = Status.COMPLETE,
    region: str = REGION,
) -> Discovery:
    report = ScopeReport(Scope("connect", ENVIRONMENT, CLUSTER), connect)
    found = Discovery(graph, complete_coverage(report), "2026-05-01T00:00:00Z")
    return carry_forward(enrich(found, client, region=region, clock=clock, last=last), last)


def topics_of(catalog: Catalog, name: str, database: str) -> str | None:
    found: str | None = catalog.table(name, database)["Parameters"].get("lineage_bridge.source_topics")
    return found


def at(location: str) -> dict[str, Any]:
    return {"StorageDescriptor": {"Location": location, "Columns": [{"Name": "id", "Type": "bigint"}]}}


#: The configuration, the table in Glue, and how sure it is that the one writes the other; None: it does not.
CASES: dict[str, tuple[dict[str, str], dict[str, Any], float | None]] = {
    "iceberg, account told": (
        {**ICEBERG, "iceberg.catalog.glue.id": ACCOUNT},
        {"name": "orders", "database": "sales", **at("s3://elsewhere/x")},
        1.0,
    ),
    "iceberg by its type": (
        {**ICEBERG, "iceberg.catalog.catalog-impl": "", "iceberg.catalog.type": "glue"},
        {"name": "orders", "database": "sales", **at("s3://lake/warehouse/sales.db/orders")},
        1.0,
    ),
    "iceberg, at its folder": (
        ICEBERG,
        {"name": "orders", "database": "sales", **at("s3://lake/warehouse/sales.db/orders")},
        1.0,
    ),
    "iceberg, in the folder of its database": (
        ICEBERG,
        {"name": "orders", "database": "sales", **at("s3://sales-bucket/orders")},
        0.8,
    ),
    "iceberg, folded to lower case": (
        {
            **ICEBERG,
            "iceberg.tables": "Sales.Orders",
            "iceberg.catalog.glue.skip-name-validation": "true",
            "iceberg.catalog.glue.id": ACCOUNT,
        },
        {"name": "orders", "database": "sales"},
        1.0,
    ),
    "iceberg by Glue's REST endpoint": (
        {
            **ICEBERG,
            "iceberg.catalog.catalog-impl": "",
            "iceberg.catalog.type": "rest",
            "iceberg.catalog.uri": f"https://glue.{REGION}.amazonaws.com/iceberg",
            "iceberg.catalog.warehouse": ACCOUNT,
        },
        {"name": "orders", "database": "sales"},
        1.0,
    ),
    "iceberg of another account": (
        {**ICEBERG, "iceberg.catalog.glue.id": "999999999999"},
        {"name": "orders", "database": "sales"},
        None,
    ),
    "iceberg of another region": (
        {**ICEBERG, "iceberg.catalog.client.region": "eu-west-1", "iceberg.catalog.glue.id": ACCOUNT},
        {"name": "orders", "database": "sales"},
        None,
    ),
    "a table of the name that is not Iceberg's": (
        ICEBERG,
        {"name": "orders", "database": "sales", "parameters": FILES, **at("s3://other/orders")},
        None,
    ),
    "iceberg in a Hive catalog": (
        {
            **ICEBERG,
            "iceberg.catalog.catalog-impl": "",
            "iceberg.catalog.type": "hive",
            "iceberg.catalog.uri": "thrift://hive.example.com:9083",
        },
        {"name": "orders", "database": "sales"},
        None,
    ),
    "S3, a crawler's table": (
        S3,
        {"name": "orders", "database": "raw", "parameters": FILES, **at("s3://lake/topics/orders/")},
        1.0,
    ),
    "S3, with another scheme": (
        S3,
        {"name": "orders", "database": "raw", "parameters": FILES, **at("s3a://lake/topics/orders")},
        1.0,
    ),
    "S3, a folder of its own": (
        {**S3, "topics.dir": "landing/kafka"},
        {"name": "o", "database": "raw", "parameters": FILES, **at("s3://lake/landing/kafka/orders")},
        1.0,
    ),
    "S3, a table over all topics": (
        S3,
        {"name": "all", "database": "raw", "parameters": FILES, **at("s3://lake/topics")},
        0.8,
    ),
    "S3, a table over the whole bucket": (
        S3,
        {"name": "all", "database": "raw", "parameters": FILES, **at("s3://lake/")},
        None,
    ),
    "S3, an Iceberg table above": (
        S3,
        {"name": "all", "database": "raw", **at("s3://lake/topics")},
        None,
    ),
    "S3, another folder with the same beginning": (
        S3,
        {"name": "o2", "database": "raw", "parameters": FILES, **at("s3://lake/topics/orders2")},
        None,
    ),
    "S3, another bucket": (
        S3,
        {"name": "o", "database": "raw", "parameters": FILES, **at("s3://lake2/topics/orders")},
        None,
    ),
    "GCS": (
        {
            "connector.class": "GcsSink",
            "topics": "orders",
            "gcs.bucket.name": "lake",
        },
        {"name": "o", "database": "raw", "parameters": FILES, **at("gs://lake/topics/orders")},
        1.0,
    ),
    "Hudi": (
        {
            "connector.class": "org.apache.hudi.connect.HoodieSinkConnector",
            "topics": "orders",
            "hoodie.base.path": "s3a://lake/hudi/orders",
        },
        {"name": "o", "database": "raw", "parameters": FILES, **at("s3://lake/hudi/orders")},
        1.0,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_table_of_a_sink_is_an_asset_with_its_chain(
    client: GlueClient, catalog: Catalog, case: str
) -> None:
    config, table, sure = CASES[case]
    config = {key: value.replace(ACCOUNT, catalog.aws.account_id) for key, value in config.items()}
    catalog.create(**table)
    found = discovered(client, sink(config))
    if sure is None:
        assert not glue_nodes(found)
        return
    (node,) = glue_nodes(found).values()
    assert (node.environment_id, node.cluster_id) == (ENVIRONMENT, CLUSTER)
    hops = [hop.node.node_type for hop in chain_of(found.graph, node.node_id).hops]
    assert hops == [NodeType.EXTERNAL_DATASET, NodeType.CONNECTOR, NodeType.KAFKA_TOPIC]
    (edge,) = (edge for edge in found.graph.edges.values() if edge.dst_id == node.node_id)
    assert (edge.edge_type, edge.confidence) == (EdgeType.MATERIALIZES, sure)
    report = push(client, found)
    assert [str(result.status) for result in report.results] == ["updated"]
    parameters = catalog.table(table["name"], table["database"])["Parameters"]
    assert parameters["lineage_bridge.pipeline_type"] == "sink_connector"
    assert parameters["lineage_bridge.source_connectors"] == "sink"
    # What is found again is the same asset, in sync.
    again = discovered(client, sink(config), last=found)
    assert glue_nodes(again).keys() == {node.node_id}
    assert [str(result.status) for result in push(client, again).results] == ["unchanged"]


def test_a_table_of_two_topics_has_both(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("all", "raw", parameters=FILES, **at("s3://lake/topics"))
    found = discovered(client, sink({**S3, "topics": "orders,payments"}))
    push(client, found)
    assert topics_of(catalog, "all", "raw") == "orders,payments"


def test_an_outage_of_the_connectors_or_of_glue_keeps_table_and_lineage(
    client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders", "sales", **at("s3://lake/warehouse/sales.db/orders"))
    last = discovered(client, sink(ICEBERG))
    push(client, last)
    now = discovered(client, Graph(), last=last, connect=Status.FAILED)
    assert glue_nodes(now).keys() == glue_nodes(last).keys()
    (table,) = glue_nodes(now).values()
    assert len(chain_of(now.graph, table.node_id).hops) == 3
    push(client, now)
    assert topics_of(catalog, "orders", "sales") == "orders"


def test_a_connector_that_is_gone_takes_its_lineage_along(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders", "sales", **at("s3://lake/warehouse/sales.db/orders"))
    last = discovered(client, sink(ICEBERG))
    push(client, last)
    now = discovered(client, Graph(), last=last)
    refused = push(client, now, settings={"max_removal_share": 0})
    assert [str(result.status) for result in refused.results] == ["refused"]
    push(client, now, settings={"max_removal_share": 1})
    assert not ours(catalog.table("orders", "sales")["Parameters"])


def test_a_connector_that_reads_another_topic_changes_the_lineage(
    client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders", "sales", **at("s3://lake/warehouse/sales.db/orders"))
    last = discovered(client, sink(ICEBERG))
    push(client, last)
    push(client, discovered(client, sink({**ICEBERG, "topics": "payments"}), last=last))
    assert topics_of(catalog, "orders", "sales") == "payments"


def test_a_table_keeps_its_environment_when_another_one_writes_it_too(
    client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders", "sales", **at("s3://lake/warehouse/sales.db/orders"))
    last = discovered(client, sink(ICEBERG))
    push(client, last)
    other = sink(ICEBERG, "a-sink", "env-000000")
    mine = sink(ICEBERG)
    both = Graph([*mine.nodes.values(), *other.nodes.values()], [*mine.edges.values(), *other.edges.values()])
    assert glue_nodes(discovered(client, both, last=last)).keys() == glue_nodes(last).keys()


def test_tables_of_other_accounts_and_regions_are_named(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders", "sales")
    for config in (
        {**ICEBERG, "iceberg.catalog.glue.id": "999999999999"},
        {**ICEBERG, "iceberg.catalog.client.region": "eu-west-1", "iceberg.catalog.glue.id": ACCOUNT},
    ):
        report = discovered(client, sink(config)).coverage.get(Scope("glue", "", REGION))
        assert report is not None
        (names,) = [note.names for note in report.notes if note.kind == ELSEWHERE_TABLES]
        assert report.status is Status.COMPLETE
        assert names[0].endswith("/table/sales/orders")


def test_a_link_to_the_table_is_not_the_table() -> None:
    linked = glue_table("orders", "sales", TargetTable={"DatabaseName": "d", "Name": "t"})
    sinks = SinkTables(sink({**ICEBERG, "iceberg.catalog.glue.id": ACCOUNT}), REGION)
    assert sinks.matches(linked) == []
    assert len(sinks.matches(replace(linked, raw={}))) == 1


def test_its_page_and_check_say_who_writes_it(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders", "raw", parameters=FILES, **at("s3://lake/topics/orders"))
    view = GraphView.of(discovered(client, sink(S3)))
    (table,) = (node for node in view.graph.nodes.values() if node.node_type == NodeType.CATALOG_TABLE)
    outcome = tableflow_healthy(table, view)
    assert (outcome.passed, outcome.summary) == (True, "The table is not Tableflow's: written by sink.")


def test_a_table_that_was_dropped_is_gone_whatever_tableflow_tells(
    client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders", "sales", **at("s3://lake/warehouse/sales.db/orders"))
    last = discovered(client, sink(ICEBERG))
    catalog.glue.delete_table(DatabaseName="sales", Name="orders")
    denied = ScopeReport(Scope("tableflow", ENVIRONMENT, CLUSTER), Status.DENIED)
    found = Discovery(sink(ICEBERG), complete_coverage(denied), "2026-05-02T00:00:00Z")
    found.coverage.add(ScopeReport(Scope("connect", ENVIRONMENT, CLUSTER), Status.COMPLETE))
    now = carry_forward(enrich(found, client, region=REGION, clock=clock, last=last), last)
    assert not glue_nodes(now)


def test_lineage_that_is_wiped_is_pushed_again_and_clean_removes_it(
    client: GlueClient, catalog: Catalog
) -> None:
    catalog.create("orders", "raw", parameters=FILES, **at("s3://lake/topics/orders"))
    found = discovered(client, sink(S3))
    push(client, found)
    before = ours(catalog.table("orders", "raw")["Parameters"])
    # A crawler writes the table again.
    catalog.glue.update_table(
        DatabaseName="raw",
        TableInput={"Name": "orders", "Parameters": FILES, **at("s3://lake/topics/orders")},
    )
    push(client, found)
    again = ours(catalog.table("orders", "raw")["Parameters"])
    assert again["lineage_bridge.digest"] == before["lineage_bridge.digest"]
    cleaning = new_cleaning(client)
    report = cleaning.remove(cleaning.find())
    assert report.counts["updated"] == 1
    assert not ours(catalog.table("orders", "raw")["Parameters"])


def test_the_table_and_its_chain_are_assets(client: GlueClient, catalog: Catalog) -> None:
    catalog.create("orders", "raw", parameters=FILES, **at("s3://lake/topics/orders"))
    inventory = build_inventory(discovered(client, sink(S3)), LineageTranslator().get_asset_spec)
    deps = {
        key.to_user_string(): [each.to_user_string() for each in upstream]
        for key, upstream in inventory.deps_of.items()
    }
    assert deps["glue/raw/orders"] == ["upstream_chain/raw/orders"]
    assert deps["upstream_chain/raw/orders"] == ["external/s3:||lake|topics|orders"]
    (table,) = inventory.tables
    assert "Table orders in the Glue database raw, from Kafka topic orders" in str(table.spec.description)
