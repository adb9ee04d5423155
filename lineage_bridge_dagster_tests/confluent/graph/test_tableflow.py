from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType
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


def test_a_custom_database_wins_and_the_table_is_folded(run: Run, world: FakeConfluent) -> None:
    world.routes["/tableflow/v1/catalog-integrations"] = by_cluster(
        {"lkc-a": listing(glue_integration(custom_database="shop"))}
    )
    found = tables(run, world, tableflow_topic("Orders.V1"))
    attributes = node(found, ids.tableflow_table_id(*A, "Orders.V1")).attributes
    assert (attributes["glue_database"], attributes["glue_table"]) == ("shop", "orders.v1")


def test_without_the_integrations_the_database_is_not_guessed(run: Run, world: FakeConfluent) -> None:
    last = run()
    world.routes["/tableflow/v1/catalog-integrations"] = failure(500)
    found = run()
    assert status(found, "catalog_integrations", *B) is Status.FAILED
    table = ids.tableflow_table_id(*B, "orders")
    assert "glue_database" not in node(found, table).attributes
    assert node(carry_forward(found, last), table).attributes["glue_database"] == "analytics_db"


def test_the_integration_that_synced_a_table_tells_its_database(run: Run, world: FakeConfluent) -> None:
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


def test_pending_tables_have_no_path_yet(run: Run, world: FakeConfluent) -> None:
    pending = tableflow_topic("enriched", storage={"kind": "Managed", "table_path": None})
    attributes = node(tables(run, world, pending), TABLE).attributes
    assert "table_path" not in attributes
    assert attributes["storage_kind"] == "Managed"


@pytest.mark.parametrize(
    ("target", "expected"), [("dlq-lcc-s3-archive", "dlq-lcc-s3-archive"), (None, "error_log")]
)
def test_bad_records_go_to_their_topic(
    run: Run, world: FakeConfluent, target: str | None, expected: str
) -> None:
    handling = {"error_handling": {"mode": "LOG", "target": target}}
    found = tables(run, world, tableflow_topic("enriched", config=handling))
    assert node(found, TABLE).attributes["error_handling"] == {"mode": "LOG", "target": expected}
    listed = ids.topic_id(*A, expected) in found.graph
    assert listed is (target is not None)
    assert ((TABLE, ids.topic_id(*A, expected)) in edges(found, EdgeType.PRODUCES)) is listed


def test_a_topic_that_the_key_may_not_list_is_there_for_tableflow_says_so(
    run: Run, world: FakeConfluent
) -> None:
    found = tables(run, world, tableflow_topic("unlisted"))
    topic_id = ids.topic_id(*A, "unlisted")
    assert (topic_id, ids.tableflow_table_id(*A, "unlisted")) in edges(found, EdgeType.MATERIALIZES)
    assert node(found, topic_id).attributes["observed"] is False


def test_a_list_that_lacks_a_topic_of_tableflows_is_not_whole(run: Run, world: FakeConfluent) -> None:
    """A key without rights on topics is answered an empty list: no 403, and nothing is gone."""
    last = carry_forward(run(), None)
    world.routes[kafka_path("lkc-a", "/topics")] = listing()
    found = run()
    assert status(found, "kafka", *A) is Status.PARTIAL
    assert "DeveloperRead" in reason(found, "kafka", *A)
    assert (ORDERS_A, ENRICH) in edges(found)
    kept = carry_forward(found, last)
    assert set(kept.graph.nodes) == set(last.graph.nodes)
    assert set(kept.graph.edges) == set(last.graph.edges)
