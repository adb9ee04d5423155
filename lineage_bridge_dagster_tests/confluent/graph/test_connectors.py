from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.confluent.connectors import ConnectorLineage
from lineage_bridge_dagster.confluent.graph import connectors
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.coverage import Scope, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, EdgeType
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex
from lineage_bridge_dagster_tests.confluent.discovered import (
    ORDERS_A,
    A,
    B,
    Run,
    edges,
    node,
    notes,
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


def outputs(found: Discovery, connector_id: str) -> dict[str, Edge]:
    return {
        found.graph.nodes[e.dst_id].qualified_name: e
        for e in found.graph.edges.values()
        if e.src_id == connector_id and e.edge_type == EdgeType.PRODUCES
    }


def test_each_topic_of_a_source_comes_from_its_own_table(run: Run, world: FakeConfluent) -> None:
    names = ("shop.public.users", "shop.public.orders")
    world.routes[kafka_path("lkc-b", "/topics")] = listing(*map(topic, names))
    world.routes[connect_path("lkc-b")] = connector(
        "pg",
        "source",
        {
            "connector.class": "PostgresCdcSourceV2",
            "database.hostname": "pg1.example",
            "database.port": "5432",
            "database.dbname": "shop",
            "topic.prefix": "shop",
            "table.include.list": "public.users,public.orders",
        },
    )
    found = run()
    written = outputs(found, ids.connector_id(*B, "pg"))
    assert {name: edge.inputs for name, edge in written.items()} == {
        name: (ids.external_dataset_id(f"postgres://pg1.example:5432/{name}"),) for name in names
    }
    assert {edge.confidence for edge in written.values()} == {1.0}
    index = UpstreamIndex.of(found.graph)
    assert index.distances(ids.topic_id(*B, names[0])) == {
        ids.connector_id(*B, "pg"): 1,
        ids.external_dataset_id(f"postgres://pg1.example:5432/{names[0]}"): 2,
    }


def with_lineage(
    monkeypatch: pytest.MonkeyPatch,
    run: Run,
    world: FakeConfluent,
    topics: tuple[str, ...] = ("orders", "users"),
    **lineage: Any,
) -> dict[str, Edge]:
    """The outputs of a sink whose configuration says this; `topics` are those that it reads."""
    world.routes[kafka_path("lkc-a", "/topics")] = listing(*map(topic, ("orders", "users", "dlq")))
    world.routes[connect_path("lkc-a")] = connector("sink", "sink", {"connector.class": "X"})
    resolved = ConnectorLineage(
        direction="sink", topics_read=topics, datasets_written=("db://o", "db://u"), **lineage
    )
    monkeypatch.setattr(connectors, "resolve", lambda *_: resolved)
    return outputs(run(), ids.connector_id(*A, "sink"))


def test_each_dataset_of_a_sink_comes_from_its_own_topics(
    monkeypatch: pytest.MonkeyPatch, run: Run, world: FakeConfluent
) -> None:
    written = with_lineage(
        monkeypatch,
        run,
        world,
        topics_written=("dlq",),
        dlq_topics=("dlq",),
        pairs=(("orders", "db://o"), ("users", "db://u"), ("orders", "db://u"), ("gone", "db://u")),
    )
    users = ids.topic_id(*A, "users")
    assert {name: edge.inputs for name, edge in written.items()} == {
        "db://o": (ORDERS_A,),
        "db://u": (ORDERS_A, users),
        "dlq": None,
    }
    assert {edge.confidence for edge in written.values()} == {1.0}


def test_output_that_may_be_made_of_any_of_several_inputs_has_less_confidence(
    monkeypatch: pytest.MonkeyPatch, run: Run, world: FakeConfluent
) -> None:
    written = with_lineage(monkeypatch, run, world, pairs=(("orders", "db://o"),))
    assert {name: edge.inputs for name, edge in written.items()} == {"db://o": (ORDERS_A,), "db://u": None}
    assert written["db://o"].confidence == 1.0
    assert written["db://u"].confidence < 1.0


def test_one_output_of_unknown_inputs_has_less_confidence_beside_one_that_is_known(
    monkeypatch: pytest.MonkeyPatch, run: Run, world: FakeConfluent
) -> None:
    """All inputs count for it, and the only one that is known may not be its own."""
    written = with_lineage(monkeypatch, run, world, topics=("orders",), pairs=(("orders", "db://o"),))
    assert written["db://o"].confidence == 1.0
    assert written["db://u"].inputs is None
    assert written["db://u"].confidence < 1.0


def test_unknown_class_is_shown_and_named_in_the_coverage_and_holds_nothing_back(
    run: Run, world: FakeConfluent
) -> None:
    config = {"connector.class": "com.example.CrmSink", "topics": "orders", "crm.url": "https://crm.example"}
    world.routes[connect_path("lkc-a")] = connector("crm", "sink", config)
    found = run()
    sink = ids.connector_id(*A, "crm")
    assert (ORDERS_A, sink) in edges(found, EdgeType.CONSUMES)
    assert node(found, sink).attributes["unknown"] == ["connector_class"]
    assert not outputs(found, sink)
    assert notes(found, "connect", *A) == ["1 connector of an unknown class: crm"]
    assert status(found, "connect", *A) is Status.COMPLETE
    assert found.coverage.proves_absence(Scope("connect", *A))


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


def pg(tables: str) -> dict[str, object]:
    return connector(
        "pg",
        "source",
        {
            "connector.class": "PostgresCdcSourceV2",
            "database.hostname": "pg1.example",
            "database.dbname": "shop",
            "topic.prefix": "shop",
            "table.include.list": tables,
        },
    )


def test_topic_that_a_connector_should_write_and_that_does_not_exist_is_named(
    run: Run, world: FakeConfluent
) -> None:
    world.routes[kafka_path("lkc-b", "/topics")] = listing(topic("orders"), topic("shop.public.users"))
    world.routes[connect_path("lkc-b")] = pg("public.users,public.gone,public.lost")
    found = run()
    source = ids.connector_id(*B, "pg")
    assert node(found, source).attributes["absent_topics"] == ["shop.public.gone", "shop.public.lost"]
    assert ids.topic_id(*B, "shop.public.gone") not in found.graph
    assert status(found, "connect", *B) is Status.COMPLETE
    assert notes(found, "connect", *B) == [
        "2 topics missing that connectors should write: shop.public.gone (pg), shop.public.lost (pg)"
    ]
    assert found.coverage.complete


def test_topic_of_an_incomplete_list_is_not_called_missing(run: Run, world: FakeConfluent) -> None:
    world.routes[connect_path("lkc-b")] = pg("public.users")
    world.routes[kafka_path("lkc-b", "/topics")] = failure(500)
    found = run()
    assert "absent_topics" not in node(found, ids.connector_id(*B, "pg")).attributes
    assert notes(found, "connect", *B) == []


def test_dead_letter_queue_that_no_record_needed_yet_is_not_missing(run: Run, world: FakeConfluent) -> None:
    config = {
        "connector.class": "S3_SINK",
        "topics": "orders",
        "s3.bucket.name": "b",
        "errors.deadletterqueue.topic.name": "dlq-of-mine",
    }
    world.routes[connect_path("lkc-a")] = connector("s3", "sink", config)
    found = run()
    assert "absent_topics" not in node(found, ids.connector_id(*A, "s3")).attributes
    assert notes(found, "connect", *A) == []


def test_topic_that_no_connector_is_expected_to_write_is_claimed_by_none(
    run: Run, world: FakeConfluent
) -> None:
    names = ("orders", "shop.public.users", "shop.public.users_backup", "shop.publicity", "shopping")
    world.routes[kafka_path("lkc-b", "/topics")] = listing(*map(topic, names))
    world.routes[connect_path("lkc-b")] = pg("public[.]users")
    found = run()
    source = ids.connector_id(*B, "pg")
    targets = {dst for src, dst in edges(found, EdgeType.PRODUCES) if src == source}
    assert targets == {ids.topic_id(*B, "shop.public.users")}
