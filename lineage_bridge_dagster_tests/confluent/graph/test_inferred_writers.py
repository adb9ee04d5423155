"""What a connector claims by the names of topics alone, against what is known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.carry import carry_forward
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import EdgeType, NodeType
from lineage_bridge_dagster.lineage.writers import is_inferred
from lineage_bridge_dagster_tests.confluent.discovered import A, Run, node
from lineage_bridge_dagster_tests.confluent.fake import (
    FakeConfluent,
    avro,
    connect_path,
    connector,
    failure,
    flink_path,
    kafka_path,
    listing,
    offsets,
    offsets_path,
    statement,
    topic,
)

CASES = [
    json.loads(line)
    for line in Path(__file__).with_name("inferred_writers.jsonl").read_text().splitlines()
    if line
]


def put(world: FakeConfluent, case: Mapping[str, Any]) -> None:
    """Make the first cluster of a world that of a case."""
    routes = world.routes
    routes[kafka_path("lkc-a", "/topics")] = listing(*map(topic, case["topics"]))
    connectors: dict[str, Any] = {}
    for one in case["connectors"]:
        connectors |= connector(one["name"], one["type"], one["config"])
        if "offsets" in one:
            routes[offsets_path("lkc-a", one["name"])] = offsets(*one["offsets"], name=one["name"])
    routes[connect_path("lkc-a")] = connectors
    routes[flink_path("us-east-1")] = listing(*(statement("s", sql) for sql in case["statements"]))
    if "mirrors" in case:
        routes[kafka_path("lkc-b", "/topics")] = listing(*map(topic, ("orders", "totals", *case["mirrors"])))
        mirrors = [
            {
                "link_name": "l",
                "mirror_topic_name": name,
                "source_topic_name": name,
                "mirror_status": "ACTIVE",
            }
            for name in case["mirrors"]
        ]
        routes[kafka_path("lkc-a", "/links/-/mirrors")] = listing(*mirrors)
        link = {"link_name": "l", "source_cluster_id": "lkc-b", "link_state": "ACTIVE"}
        routes[kafka_path("lkc-a", "/links")] = listing(link)


def writers(found: Discovery, topic_name: str) -> dict[str, str]:
    """How each writer of a topic is known."""
    topic_id = ids.topic_id(*A, topic_name)
    return {
        found.graph.nodes[edge.src_id].label: "inferred" if is_inferred(edge) else "known"
        for edge in found.graph.edges.values()
        if edge.dst_id == topic_id and edge.edge_type in (EdgeType.PRODUCES, EdgeType.TRANSFORMS)
    }


def datasets(found: Discovery, topic_name: str) -> set[str]:
    """What a topic's writers make it of, outside Confluent."""
    topic_id = ids.topic_id(*A, topic_name)
    return {
        found.graph.nodes[source].label
        for edge in found.graph.edges.values()
        if edge.dst_id == topic_id and edge.edge_type == EdgeType.PRODUCES
        for source in edge.inputs or ()
        if found.graph.nodes[source].node_type == NodeType.EXTERNAL_DATASET
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_what_is_known_excludes_what_a_name_tells(
    case: Mapping[str, Any], run: Run, world: FakeConfluent
) -> None:
    put(world, case)
    found, name = run(), case["topic"]
    assert writers(found, name) == case["writers"]
    assert datasets(found, name) == {*case["datasets"]}
    inferred = "inferred" in case["writers"].values()
    marked = {one.label for one in found.graph.of_type(NodeType.KAFKA_TOPIC) if one.writer}
    assert (name in marked) is inferred
    edges = [edge for edge in found.graph.edges.values() if is_inferred(edge)]
    assert all(edge.confidence < 1 for edge in edges)
    # A dataset that only a name told goes with the claim.
    ends = {end for key in found.graph.edges for end in key[:2]}
    assert {one.node_id for one in found.graph.of_type(NodeType.EXTERNAL_DATASET)} <= ends


def case_of(name: str) -> Mapping[str, Any]:
    return next(case for case in CASES if case["id"] == name)


def warnings(found: Discovery, name: str) -> str:
    return " ".join((node(found, ids.connector_id(*A, name))).warnings)


def test_connector_says_which_topics_it_does_not_claim_and_why(run: Run, world: FakeConfluent) -> None:
    put(world, case_of("debezium-postgres-derived-topic"))
    assert "others write them: shop.public.orders_enriched (s)" in warnings(run(), "c")


def test_topic_of_two_patterns_leaves_both_connectors_open(run: Run, world: FakeConfluent) -> None:
    put(world, case_of("two-jdbc-sources-with-the-same-prefix"))
    found = run()
    assert "shown for none: pg-orders (b)" in warnings(found, "a")
    assert "shown for none: pg-orders (a)" in warnings(found, "b")
    assert node(found, ids.connector_id(*A, "a")).attributes["unknown"] == ["topics"]


def test_statement_that_cannot_be_read_again_still_excludes_a_name(run: Run, world: FakeConfluent) -> None:
    put(world, case_of("debezium-postgres-derived-topic"))
    last = carry_forward(run(), None)
    world.routes[flink_path("us-east-1")] = failure(500)
    alone = run()
    assert writers(alone, "shop.public.orders_enriched") == {"c": "inferred"}
    carried = carry_forward(alone, last)
    assert writers(carried, "shop.public.orders_enriched") == {"s": "known"}
    enriched = node(carried, ids.topic_id(*A, "shop.public.orders_enriched"))
    assert enriched.writer == ""


def test_connector_names_no_subject_of_a_topic_that_it_does_not_write(run: Run, world: FakeConfluent) -> None:
    case = case_of("debezium-postgres-derived-topic")
    (source,) = case["connectors"]
    context = {**source, "config": {**source["config"], "schema.context.name": "team-a"}}
    put(world, {**case, "connectors": [context]})
    subjects = [f"{prefix}{name}-value" for name in case["topics"] for prefix in ("", ":.team-a:")]
    world.routes["psrc-1.us-east-1.aws.confluent.cloud/schemas"] = [avro(name, "id") for name in subjects]
    found = run()
    assert {
        one.qualified_name: one.attributes["schema_subject"]
        for one in found.graph.of_type(NodeType.KAFKA_TOPIC)
        if one.qualified_name in case["topics"]
    } == {
        "shop.public.orders": ":.team-a:shop.public.orders-value",
        "shop.public.orders_enriched": "shop.public.orders_enriched-value",
    }


def test_topic_that_a_statement_writes_no_more_loses_nothing_but_certainty(
    run: Run, world: FakeConfluent
) -> None:
    put(world, case_of("debezium-postgres-derived-topic"))
    last = carry_forward(run(), None)
    world.routes[flink_path("us-east-1")] = listing()
    found = carry_forward(run(), last)
    assert writers(found, "shop.public.orders_enriched") == {"c": "inferred"}
