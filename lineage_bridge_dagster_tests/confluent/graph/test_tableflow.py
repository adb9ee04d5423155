from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.lineage.nodes import TableflowNode
from lineage_bridge_dagster_tests.confluent.discovered import (
    ENRICH,
    ORDERS_A,
    TABLE,
    A,
    B,
    Run,
    edges,
    node,
    reason,
    status,
)
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    by_cluster,
    environment,
    failure,
    glue_integration,
    kafka_path,
    listing,
    tableflow_topic,
)


def tables(run: Run, world: FakeConfluent, *topics: dict[str, Any]) -> Discovery:
    world.routes["/tableflow/v1/tableflow-topics"] = by_cluster({"lkc-a": listing(*topics)})
    return run()


def test_attributes(run: Run, world: FakeConfluent) -> None:
    found = tables(
        run,
        world,
        tableflow_topic(
            "enriched",
            table_formats=[],
            suspended=True,
            status={
                "phase": "FAILED",
                "write_mode": "UPSERT",
                "catalog_sync_statuses": [
                    {
                        "catalog_integration_id": "tci-1",
                        "catalog_type": "AWS_GLUE",
                        "sync_status": "DISCONNECTED",
                        "error_message": "role gone",
                    }
                ],
                "failing_table_formats": [{"format": "ICEBERG", "error_message": "Schema failed"}],
            },
        ),
    )
    attributes = node(found, TABLE).attributes
    assert attributes["topic"] == "enriched"
    assert attributes["glue_database"] == "lkc-a"
    assert attributes["glue_table"] == "enriched"
    assert attributes["table_path"] == "s3://lake/1/enriched"
    assert attributes["catalog_types"] == ["AWS_GLUE"]
    assert attributes["catalog_sync"] == [
        {"type": "AWS_GLUE", "status": "DISCONNECTED", "error": "role gone"}
    ]
    assert (attributes["phase"], attributes["write_mode"]) == ("FAILED", "UPSERT")
    assert attributes["table_formats"] == ["ICEBERG"]
    assert attributes["suspended"] is True
    assert attributes["storage_kind"] == "ByobAws"
    assert attributes["failing_table_formats"] == [{"format": "ICEBERG", "error": "Schema failed"}]
    assert node(found, TABLE).qualified_name == "lkc-a.enriched"


def test_the_place_of_tableflows_own_catalog_is_that_of_the_cluster(run: Run, world: FakeConfluent) -> None:
    crn = f"crn://confluent.cloud/organization=9bb441c4-edef/environment={environment()['id']}"
    world.routes["/org/v2/environments"] = listing({**environment(), "metadata": {"resource_name": crn}})
    table = TableflowNode.of(node(tables(run, world, tableflow_topic("enriched")), TABLE))
    assert table.own_catalog == ("9bb441c4-edef", environment()["id"], "AWS", "us-east-1")


def test_without_a_resource_name_the_organization_is_unknown(run: Run, world: FakeConfluent) -> None:
    table = TableflowNode.of(node(tables(run, world, tableflow_topic("enriched")), TABLE))
    assert table.organization_id == ""


def test_custom_database_takes_precedence_and_table_name_is_lower_case(
    run: Run, world: FakeConfluent
) -> None:
    world.routes["/tableflow/v1/catalog-integrations"] = by_cluster(
        {"lkc-a": listing(glue_integration(custom_database="shop"))}
    )
    found = tables(run, world, tableflow_topic("Orders.V1"))
    attributes = node(found, ids.tableflow_table_id(*A, "Orders.V1")).attributes
    assert (attributes["glue_database"], attributes["glue_table"]) == ("shop", "orders.v1")


def test_database_is_unknown_without_integrations(run: Run, world: FakeConfluent) -> None:
    last = run()
    world.routes["/tableflow/v1/catalog-integrations"] = failure(500)
    found = run()
    assert status(found, "catalog_integrations", *B) is Status.FAILED
    table = ids.tableflow_table_id(*B, "orders")
    assert "glue_database" not in node(found, table).attributes
    assert node(carry_forward(found, last), table).attributes["glue_database"] == "analytics_db"


def test_database_is_that_of_the_integration_which_synced_the_table(run: Run, world: FakeConfluent) -> None:
    world.routes["/tableflow/v1/catalog-integrations"] = by_cluster(
        {"lkc-a": listing(glue_integration("tci-1", "one"), glue_integration("tci-2", "two"))}
    )
    sync = {"catalog_integration_id": "tci-2", "catalog_type": "AWS_GLUE", "sync_status": "SYNCED"}
    found = tables(
        run,
        world,
        tableflow_topic("enriched", status={"phase": "RUNNING", "catalog_sync_statuses": [sync]}),
        tableflow_topic("orders"),
    )
    assert node(found, TABLE).attributes["glue_database"] == "two"
    assert "glue_database" not in node(found, ids.tableflow_table_id(*A, "orders")).attributes


def test_pending_table_has_no_path(run: Run, world: FakeConfluent) -> None:
    pending = tableflow_topic("enriched", storage={"kind": "Managed", "table_path": None})
    attributes = node(tables(run, world, pending), TABLE).attributes
    assert "table_path" not in attributes
    assert attributes["storage_kind"] == "Managed"


def test_settings_of_a_table_are_read(run: Run, world: FakeConfluent) -> None:
    config = {
        "enable_compaction": True,
        "enable_partitioning": False,
        "retention_ms": "604800000",
        "data_retention_ms": "2592000000",
        "metadata_column_naming_scheme": "PORTABLE",
    }
    storage = {
        "kind": "AzureDataLakeStorageGen2",
        "storage_account_name": "lake1",
        "container_name": "tables",
        "storage_region": "centralus",
        "provider_integration_id": "cspi-6nxn5",
    }
    topic = tableflow_topic("enriched", config=config, storage=storage, table_formats=["DELTA", "ICEBERG"])
    view = TableflowNode.of(node(tables(run, world, topic), TABLE))
    assert (view.enable_compaction, view.enable_partitioning) == (True, False)
    assert (view.retention_ms, view.data_retention_ms) == (604_800_000, 2_592_000_000)
    assert view.metadata_column_naming_scheme == "PORTABLE"
    assert (view.storage_kind, view.region) == ("AzureDataLakeStorageGen2", "centralus")
    assert (view.storage_account_name, view.container_name) == ("lake1", "tables")
    assert view.provider_integration_id == "cspi-6nxn5"
    assert view.table_formats == ("DELTA", "ICEBERG")
    assert view.error_handling == ("", "")


def test_settings_of_another_version_of_the_api_lose_no_topic(run: Run, world: FakeConfluent) -> None:
    config = {
        "enable_compaction": "auto",
        "retention_ms": None,
        "data_retention_ms": "forever",
        "error_handling": {"mode": "QUARANTINE", "target": "bad", "after": 3},
        "sorting": {"by": ["id"]},
    }
    topic = tableflow_topic("enriched", config=config, storage={"kind": "ByobGcp", "bucket_name": "b"})
    view = TableflowNode.of(node(tables(run, world, topic), TABLE))
    assert (view.enable_compaction, view.retention_ms, view.data_retention_ms) == (None, None, None)
    assert view.error_handling == ("QUARANTINE", "bad")
    assert (view.storage_kind, view.bucket_name) == ("ByobGcp", "b")


def test_deprecated_strategy_is_the_error_handling_where_there_is_no_other(
    run: Run, world: FakeConfluent
) -> None:
    topic = tableflow_topic("enriched", config={"record_failure_strategy": "SKIP"})
    assert TableflowNode.of(node(tables(run, world, topic), TABLE)).error_handling == ("SKIP", "")


@pytest.mark.parametrize(
    ("target", "expected"), [("dlq-lcc-s3-archive", "dlq-lcc-s3-archive"), (None, "error_log")]
)
def test_error_log_topic_has_an_edge_if_it_exists(
    run: Run, world: FakeConfluent, target: str | None, expected: str
) -> None:
    handling = {"error_handling": {"mode": "LOG", "target": target}}
    found = tables(run, world, tableflow_topic("enriched", config=handling))
    assert node(found, TABLE).attributes["error_handling"] == {"mode": "LOG", "target": expected}
    listed = ids.topic_id(*A, expected) in found.graph
    assert listed is (target is not None)
    assert ((TABLE, ids.topic_id(*A, expected)) in edges(found, EdgeType.PRODUCES)) is listed


def test_unlisted_topic_of_tableflow_is_a_node(run: Run, world: FakeConfluent) -> None:
    found = tables(run, world, tableflow_topic("unlisted"))
    topic_id = ids.topic_id(*A, "unlisted")
    assert (topic_id, ids.tableflow_table_id(*A, "unlisted")) in edges(found, EdgeType.MATERIALIZES)
    assert node(found, topic_id).attributes["observed"] is False


def test_topic_list_without_a_topic_of_tableflow_is_incomplete(run: Run, world: FakeConfluent) -> None:
    """A key without permissions on topics gets an empty list instead of a 403."""
    last = carry_forward(run(), None)
    world.routes[kafka_path("lkc-a", "/topics")] = listing()
    found = run()
    assert status(found, "kafka", *A) is Status.PARTIAL
    assert "DeveloperRead" in reason(found, "kafka", *A)
    assert (ORDERS_A, ENRICH) in edges(found)
    kept = carry_forward(found, last)
    assert set(kept.graph.nodes) == set(last.graph.nodes)
    assert set(kept.graph.edges) == set(last.graph.edges)
