from __future__ import annotations

from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster_tests.confluent.discovered import (
    ORDERS_A,
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
    connect_path,
    connector,
    failure,
    kafka_path,
    listing,
    topic,
)


def test_source_connector_has_edges_from_its_datasets(run: Run, world: FakeConfluent) -> None:
    world.routes[kafka_path("lkc-b", "/topics")] = listing(
        topic("orders"), topic("shop.public.users"), topic("dbhistory.shop")
    )
    world.routes[connect_path("lkc-b")] = connector(
        "pg",
        "source",
        {
            "connector.class": "PostgresCdcSourceV2",
            "database.hostname": "pg1.example",
            "database.port": "5432",
            "database.dbname": "shop",
            "database.password": "hunter2",
            "topic.prefix": "shop",
            "table.include.list": "public.users",
        },
    )
    found = run()
    source = ids.connector_id(*B, "pg")
    dataset = ids.external_dataset_id("postgres://pg1.example:5432/shop.public.users")
    assert (dataset, source) in edges(found, EdgeType.CONSUMES)
    assert (source, ids.topic_id(*B, "shop.public.users")) in edges(found, EdgeType.PRODUCES)
    assert node(found, dataset).system == "external"
    assert node(found, dataset).environment_id is None
    assert "hunter2" not in repr(node(found, source))
    assert node(found, source).attributes["state"] == "RUNNING"


def test_topic_missing_from_a_complete_list_is_a_warning_not_a_node(run: Run, world: FakeConfluent) -> None:
    world.routes[connect_path("lkc-a")] = connector(
        "s3", "sink", {"connector.class": "S3_SINK", "topics": "orders,gone", "s3.bucket.name": "b"}
    )
    found = run()
    assert ids.topic_id(*A, "gone") not in found.graph
    assert "gone" in " ".join(node(found, ids.connector_id(*A, "s3")).attributes["warnings"])


def test_connector_that_needs_a_failed_topic_list_makes_its_scope_partial(
    run: Run, world: FakeConfluent
) -> None:
    world.routes[connect_path("lkc-a")] = connector(
        "s3", "sink", {"connector.class": "S3_SINK", "topics.regex": "ord.*", "s3.bucket.name": "b"}
    )
    last = run()
    world.routes[kafka_path("lkc-a", "/topics")] = failure(500)
    found = run()
    assert status(found, "connect", *A) is Status.PARTIAL
    assert "s3" in reason(found, "connect", *A)
    kept = carry_forward(found, last)
    assert (ORDERS_A, ids.connector_id(*A, "s3")) in edges(kept)
