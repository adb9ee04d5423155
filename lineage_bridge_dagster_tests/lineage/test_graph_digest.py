from __future__ import annotations

from dataclasses import replace

from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_digest import graph_digest
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.assets.world import EAST, World, many, world


def test_times_order_and_commits_leave_the_digest_unchanged() -> None:
    first = world().discovery("2026-01-01T00:00:00Z")
    nodes = [
        replace(
            node.with_attributes(
                parameters={"metadata_location": "s3://b/2.json"}, version_id="9", update_time="later"
            ),
            last_seen="2026-02-02T00:00:00Z",
        )
        for node in reversed(first.graph.nodes.values())
    ]
    edges = [replace(edge, last_seen="2026-02-02T00:00:00Z") for edge in reversed(first.graph.edges.values())]
    again = Discovery(Graph(nodes, edges), first.coverage, "2026-02-02T00:00:00Z")
    assert graph_digest(again) == graph_digest(first)


def test_new_node_edge_attribute_name_or_failing_api_changes_the_digest() -> None:
    def failing() -> World:
        w = many(2)
        w.report("connect", EAST, Status.FAILED, "HTTP 500")
        return w

    def altered() -> World:
        w = many(2)
        node = next(iter(w.graph.of_type("kafka_topic")))
        w.graph.nodes[node.node_id] = node.with_attributes(partitions_count=12)
        return w

    def renamed() -> World:
        w = many(2)
        node = next(iter(w.graph.of_type("kafka_topic")))
        w.graph.nodes[node.node_id] = replace(node, environment_name="production")
        return w

    def without_an_edge() -> World:
        w = many(2)
        w.graph.edges.pop(next(iter(w.graph.edges)))
        return w

    def with_inputs(*inputs: str) -> World:
        w = many(2)
        key, edge = next((key, edge) for key, edge in w.graph.edges.items() if edge.edge_type == "produces")
        w.graph.edges[key] = edge.with_attributes(inputs=list(inputs))
        return w

    found = [many(2), many(3), failing(), altered(), renamed(), without_an_edge()]
    found += [with_inputs(), with_inputs("a"), with_inputs("a", "b")]
    assert len({graph_digest(w.discovery()) for w in found}) == len(found)
