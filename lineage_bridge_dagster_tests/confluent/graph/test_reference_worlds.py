"""Cases of the reference material, `lineage.jsonl`: small worlds, and what each node of them reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lineage_bridge_dagster.confluent.discovery import discover
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.columns import flows_of
from lineage_bridge_dagster.lineage.model import EdgeType, Graph
from lineage_bridge_dagster.lineage.nodes import TopicNode
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.confluent.connectors.scoring import lineage_of
from lineage_bridge_dagster_tests.confluent.fake import (
    connect_path,
    connector,
    flink_path,
    kafka_path,
    listing,
    settings,
    small_world,
    statement,
    topic,
)
from lineage_bridge_dagster_tests.conftest import shared

Case = dict[str, Any]

pytestmark = [pytest.mark.shared, pytest.mark.xdist_group("flink")]


def graph_of(given: Case, parser: FlinkSqlParser) -> Graph:
    world = small_world()
    world.routes[kafka_path("lkc-a", "/topics")] = listing(*map(topic, given["topics"]))
    world.routes["psrc-1.us-east-1.aws.confluent.cloud/schemas"] = given["schemas"]
    world.routes[flink_path("eu-west-1")] = listing()
    world.routes[flink_path("us-east-1")] = listing(
        *(
            statement(s["name"], s["sql"], s["phase"], created_at=s["created_at"] or "2026-01-01T00:00:00Z")
            for s in given["statements"]
        )
    )
    world.routes[connect_path("lkc-a")] = {
        name: found
        for each in given["connectors"]
        for name, found in connector(each["name"], each["type"], each["config"]).items()
    }
    return discover(settings(), transport=world.transport, parser=parser).graph


def upstream(graph: Graph, node_id: str) -> Case:
    """What each writer of a topic makes it of, by names without the environment."""

    def short(found: str) -> str:
        kind, _, name = found.partition(":")
        return name.removeprefix("external_dataset:") if kind == "external" else name.replace(":env-1:", ":")

    edges = graph.edges.items()
    read_by = {
        src: [a for (a, b, kind), _ in edges if b == src and kind == EdgeType.CONSUMES]
        for (src, *_), _ in edges
    }
    return {
        short(src): sorted(map(short, read_by[src] if edge.inputs is None else edge.inputs))
        for (src, dst, kind), edge in edges
        if dst == node_id and kind == EdgeType.PRODUCES
    }


def columns(graph: Graph, node_id: str) -> Case:
    """The sources of a topic's columns."""
    found: dict[str, set[str]] = {}
    for flow in (flow for node in graph.nodes.values() for flow in flows_of(node)):
        if flow.column.node_id == node_id:
            sources = {f"{graph.nodes[of.node_id].qualified_name}.{of.name}" for of, _ in flow.sources}
            found.setdefault(flow.column.name, set()).update(sources)
    return {name: sorted(sources) for name, sources in found.items()}


def schema(graph: Graph, node_id: str) -> Case:
    """The subjects of a topic's values, and the fields that it shows."""
    subjects = [
        graph.nodes[dst].qualified_name
        for (src, dst, kind), edge in graph.edges.items()
        if src == node_id and kind == EdgeType.HAS_SCHEMA and edge.attributes.get("role") != "key"
    ]
    fields = [field.name for field in TopicNode.of(graph.nodes[node_id]).schema_fields]
    return {"subjects": sorted(subjects), "fields": fields}


def test_worlds_have_the_lineage_of_their_source(parser: FlinkSqlParser) -> None:
    views = {"upstream_of": upstream, "columns": columns, "schema": schema}
    wrong = []
    for case in map(json.loads, shared("cases", "lineage.jsonl").read_text("utf-8").splitlines()):
        given, expected = case["input"], case["expected"]
        if case["area"] == "connector":
            written = lineage_of({"id": "c", "lcc": "lcc-1", **given}).datasets_written
            found = {"datasets_written": sorted(written)}
        else:
            asked = given["asked"]
            found = views[asked["view"]](
                graph_of(given, parser), ids.topic_id("env-1", "lkc-a", asked["topic"])
            )
            expected = {
                name: sorted(of) if asked["view"] != "schema" else of for name, of in expected.items()
            }
        if found != expected:
            wrong.append((case["why"], found, expected))
    assert not wrong
