from __future__ import annotations

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex
from lineage_bridge_dagster_tests.confluent.discovered import (
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
    status,
)
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    connect_path,
    connector,
    environment,
    failure,
    flink_path,
    kafka_path,
    listing,
    statement,
)


def test_environments_and_clusters_are_selected_by_id_or_name(run: Run, world: FakeConfluent) -> None:
    world.routes["/org/v2/environments"] = listing(environment(), environment("env-2", "staging"))
    found = run(environments=["prod"], clusters=["lkc-b"])
    assert not [request for request in world.requests if "env-2" in str(request.url)]
    assert status(found, "kafka", *A) is None
    assert status(found, "kafka", *B) is Status.COMPLETE


@pytest.fixture
def mirrored(world: FakeConfluent) -> FakeConfluent:
    """Cluster `analytics` has a mirror of the topic that a connector fills in cluster `orders`."""
    world.routes[connect_path("lkc-a")] = {
        **connector("s3-archive", "sink", {"connector.class": "S3_SINK", "topics": "enriched"}),
        **connector("generator", "source", {"connector.class": "DatagenSource", "kafka.topic": "orders"}),
    }
    world.routes[kafka_path("lkc-b", "/links/-/mirrors")] = listing(
        {
            "link_name": "from-orders",
            "mirror_topic_name": "orders",
            "source_topic_name": "orders",
            "mirror_status": "ACTIVE",
        }
    )
    world.routes[kafka_path("lkc-b", "/links")] = listing(
        {"link_name": "from-orders", "source_cluster_id": "lkc-a", "link_state": "ACTIVE"}
    )
    return world


GENERATOR = ids.connector_id(*A, "generator")
TABLE_B = ids.tableflow_table_id(*B, "orders")


def chain(found: Discovery) -> set[str]:
    return {*UpstreamIndex.of(found.graph).distances(TABLE_B)}


def test_lineage_goes_on_in_clusters_that_are_not_selected(run: Run, mirrored: FakeConfluent) -> None:
    whole, found = run(), run(clusters=["analytics"])
    assert chain(found) == chain(whole) >= {ORDERS_B, ORDERS_A, GENERATOR}
    assert node(found, ORDERS_A).attributes["outside_selection"] is True
    assert "outside_selection" not in node(found, ORDERS_B).attributes


def test_of_another_cluster_only_what_feeds_the_selected_ones_is_read(
    run: Run, mirrored: FakeConfluent
) -> None:
    found = run(clusters=["lkc-b"])
    assert {each for each in found.graph.nodes if "lkc-a" in each} == {ORDERS_A, GENERATOR}
    assert ENRICH not in found.graph
    assert status(found, "connect", *A) is Status.COMPLETE
    assert status(found, "tableflow", *A) is status(found, "consumer_groups", *A) is None


def test_a_cluster_that_feeds_nothing_of_the_selected_ones_is_not_read(
    run: Run, mirrored: FakeConfluent
) -> None:
    found = run(clusters=["lkc-a"])
    assert status(found, "kafka", *B) is None
    # What it is copied to belongs to it nevertheless.
    assert not mirrored.requests_to("lkc-b")
    assert TABLE in found.graph


def test_sql_of_a_selected_cluster_is_followed_into_another_one(run: Run, world: FakeConfluent) -> None:
    world.routes[flink_path("eu-west-1")] = listing(
        statement("count", "INSERT INTO totals SELECT id FROM `orders`.`enriched`", database="lkc-b")
    )
    found = run(clusters=["analytics"])
    enriched = ids.topic_id(*A, "enriched")
    assert {(ORDERS_A, ENRICH), (ENRICH, enriched), (enriched, COUNT)} <= edges(found)
    assert node(found, enriched).attributes["outside_selection"] is True


@pytest.mark.parametrize("failing", [kafka_path("lkc-b", "/links/-/mirrors"), kafka_path("lkc-b", "/links")])
def test_what_feeds_a_cluster_is_kept_while_the_mirrors_cannot_be_read(
    run: Run, mirrored: FakeConfluent, failing: str
) -> None:
    last = run(clusters=["lkc-b"])
    working, mirrored.routes[failing] = mirrored.routes[failing], failure(503)
    found = carry_forward(run(clusters=["lkc-b"], last=last), last)
    assert chain(found) == chain(last)
    mirrored.routes[failing] = working
    again = carry_forward(run(clusters=["lkc-b"], last=found), found)
    assert edges(again) == edges(last)


def test_a_cluster_that_no_longer_feeds_the_selected_ones_is_left_out_again(
    run: Run, mirrored: FakeConfluent
) -> None:
    last = run(clusters=["lkc-b"])
    mirrored.routes[kafka_path("lkc-b", "/links/-/mirrors")] = listing()
    for _ in range(2):
        last = carry_forward(run(clusters=["lkc-b"], last=last), last)
    assert not chain(last) & {ORDERS_A, GENERATOR}
    assert not [each for each in last.graph.nodes if "lkc-a" in each]
    assert status(last, "kafka", *A) is None


@pytest.mark.parametrize("field", ["environments", "clusters"])
def test_unknown_name_is_rejected_with_the_existing_ones(run: Run, field: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        run(**{field: ["nope"]})
    assert "'nope'" in raised.value.message
    assert ("env-1 (prod)" if field == "environments" else "lkc-a (orders)") in raised.value.hint
    assert f"LINEAGE_BRIDGE_{field.upper()}" in raised.value.hint


def test_incomplete_list_rejects_no_name(run: Run, world: FakeConfluent) -> None:
    world.routes["/org/v2/environments"] = listing(environment(), "malformed")
    found = run(environments=["elsewhere"])
    assert status(found, "environments") is Status.PARTIAL
