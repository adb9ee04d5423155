from __future__ import annotations

import json
from pathlib import Path

import pytest

from lineage_bridge_dagster.confluent.connectors.java_regex import patterns
from lineage_bridge_dagster.confluent.discovery import require_environments
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.jars import worker
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster_tests.confluent.discovered import (
    ARCHIVE,
    COUNT,
    ENRICH,
    ORDERS_A,
    ORDERS_B,
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
    cluster,
    connect_path,
    connector,
    failure,
    flink_path,
    listing,
    statement,
)


def test_complete_world_is_found_and_covered(run: Run) -> None:
    found = run()
    assert found.coverage.complete
    assert found.discovered_at == "2026-04-30T12:34:56.789Z"
    assert edges(found, EdgeType.CONSUMES, EdgeType.PRODUCES, EdgeType.MATERIALIZES) == {
        (ORDERS_A, ENRICH),
        (ENRICH, ids.topic_id(*A, "enriched")),
        (ORDERS_B, COUNT),
        (COUNT, ids.topic_id(*B, "totals")),
        (ORDERS_A, ARCHIVE),
        (ARCHIVE, ids.topic_id(*A, "dlq-lcc-s3-archive")),
        (ARCHIVE, ids.external_dataset_id("s3://archive/topics/orders")),
        (ids.topic_id(*A, "enriched"), TABLE),
        (ORDERS_B, ids.tableflow_table_id(*B, "orders")),
    }


def test_same_topic_name_in_two_clusters_makes_two_nodes(run: Run) -> None:
    found = run()
    names = [n.node_id for n in found.graph.nodes.values() if n.qualified_name == "orders"]
    assert names == [ORDERS_A, ORDERS_B]
    assert {n.cluster_name for n in map(found.graph.nodes.__getitem__, names)} == {"orders", "analytics"}


def test_every_node_and_edge_has_scope_and_time(run: Run) -> None:
    found = run()
    reported = {str(report.scope) for report in found.coverage}
    for thing in (*found.graph.nodes.values(), *found.graph.edges.values()):
        assert thing.attributes["scope"] in reported
        assert thing.first_seen == thing.last_seen == found.discovered_at
    for edge in found.graph.edges.values():
        assert edge.src_id in found.graph
        assert edge.dst_id in found.graph


def test_nodes_link_to_the_console(run: Run) -> None:
    found = run()
    home = "https://confluent.cloud/environments/env-1"
    assert node(found, ORDERS_A).url == f"{home}/clusters/lkc-a/topics/orders/overview"
    assert node(found, ENRICH).url == f"{home}/flink/statements/enrich/activity"
    assert node(found, ARCHIVE).url == f"{home}/clusters/lkc-a/connectors/s3-archive/overview"


def test_secrets_are_absent_from_nodes_and_coverage(run: Run, world: FakeConfluent) -> None:
    world.routes[flink_path("us-east-1")] = listing(
        statement("enrich", "INSERT INTO enriched SELECT id FROM orders /*+ OPTIONS('api_key'='hunter2') */")
    )
    found = run()
    shown = repr(found.graph.nodes) + repr(list(found.coverage))
    assert "do-not-show-me" not in shown
    assert "hunter2" not in shown
    assert node(found, ARCHIVE).attributes["connector_class"] == "S3_SINK"


def test_discovery_is_deterministic(run: Run) -> None:
    first, second = run(), run()
    assert first.graph.nodes == second.graph.nodes
    assert list(first.graph.edges) == list(second.graph.edges)
    assert list(first.coverage) == list(second.coverage)


def test_without_java_expressions_are_unknown_and_what_they_told_before_is_kept(
    run: Run, world: FakeConfluent, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {"connector.class": "S3_SINK", "topics.regex": "ord.*", "s3.bucket.name": "archive"}
    world.routes[connect_path("lkc-a")] = connector("s3-archive", "sink", config)
    last = carry_forward(run(), None)
    assert (ORDERS_A, ARCHIVE) in edges(last, EdgeType.CONSUMES)

    def no_java() -> Path:
        raise ConfigurationError("no Java was found", hint="apt-get install it")

    monkeypatch.setattr(worker, "java", no_java)
    patterns.EXPRESSIONS.close()
    found = run()
    assert status(found, "connect", *A) is Status.PARTIAL
    assert "could not be evaluated" in reason(found, "connect", *A)
    assert "no Java was found. apt-get install it" in reason(found, "connect", *A)
    (warning,) = node(found, ARCHIVE).attributes["warnings"]
    assert warning.startswith("topics.regex cannot be applied: 'ord.*': it cannot be evaluated")
    assert (ORDERS_A, ARCHIVE) not in edges(found, EdgeType.CONSUMES)
    assert (ORDERS_A, ARCHIVE) in edges(carry_forward(found, last), EdgeType.CONSUMES)
    monkeypatch.undo()
    assert run().coverage.complete


@pytest.mark.parametrize("code", [401, 403, 500])
def test_discovery_without_environments_is_rejected_with_the_reason(
    run: Run, world: FakeConfluent, code: int
) -> None:
    world.routes["/org/v2/environments"] = failure(code)
    found = run()
    with pytest.raises(LineageBridgeError) as raised:
        require_environments(found)
    assert "/org/v2/environments" in str(raised.value)
    if code == 401:
        assert "LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY" in str(raised.value)


def test_key_that_sees_no_environment_deletes_nothing(run: Run, world: FakeConfluent) -> None:
    last = carry_forward(run(), None)
    world.routes["/org/v2/environments"] = listing()
    found = run(environments=["env-1"])
    assert status(found, "environments") is Status.DENIED
    with pytest.raises(LineageBridgeError, match="LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY"):
        require_environments(found)
    kept = carry_forward(found, last)
    assert set(kept.graph.nodes) == set(last.graph.nodes)
    assert set(kept.graph.edges) == set(last.graph.edges)


def test_deleted_cluster_is_removed(run: Run, world: FakeConfluent) -> None:
    last = run()
    world.routes["/cmk/v2/clusters"] = listing(cluster("lkc-b", "analytics"))
    kept = carry_forward(run(), last)
    remaining = [
        i for i, n in kept.graph.nodes.items() if n.cluster_id == "lkc-a" and "observed" not in n.attributes
    ]
    assert remaining == []


def test_attributes_are_json_serializable(run: Run) -> None:
    found = run()
    json.dumps([dict(n.attributes) for n in found.graph.nodes.values()])
    json.dumps([dict(e.attributes) for e in found.graph.edges.values()])
