"""Reading the part of a stored graph that is downstream of some nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_json import dump, dumps
from lineage_bridge_dagster.lineage.graph_part import load_downstream
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Node, NodeType
from lineage_bridge_dagster_tests.assets.world import World

CLUSTER = "lkc-a"


def discovery(topic: str = "orders") -> Discovery:
    """Two chains of which one has a second input."""
    world = World()
    connector = world.connector(CLUSTER, "cdc", "PostgresCdcSourceV2")
    orders, other, clean = (world.topic(CLUSTER, name) for name in (topic, "other", "clean"))
    world.edge(connector, orders, EdgeType.PRODUCES)
    world.statement("s", "INSERT INTO clean SELECT 1", [orders, other], [clean])
    apart = world.topic(CLUSTER, "apart")
    world.statement("t", "INSERT INTO copy SELECT 1", [apart], [world.topic(CLUSTER, "copy")])
    return world.discovery()


def names(found: Discovery) -> set[str]:
    return {node.qualified_name for node in found.graph.nodes.values()}


def test_the_part_is_what_is_downstream_with_its_other_inputs(tmp_path: Path) -> None:
    path, whole = tmp_path / "lineage_graph.json", discovery()
    dump(whole, path)
    part = load_downstream(path, ["orders"])
    assert names(part) == {"cdc", "orders", "other", "s", "clean"}
    assert all(whole.graph.nodes[node_id] == node for node_id, node in part.graph.nodes.items())
    assert all(whole.graph.edges[key] == edge for key, edge in part.graph.edges.items())
    assert len(part.graph.edges) == 4
    assert set(part.coverage) == set(whole.coverage)
    assert part.discovered_at == whole.discovered_at


@pytest.mark.parametrize("topic", ['a"b\\', "größe", "x\\\\"])
def test_names_may_hold_any_letter(tmp_path: Path, topic: str) -> None:
    dump(discovery(topic), path := tmp_path / "lineage_graph.json")
    assert names(load_downstream(path, [topic])) == {"cdc", topic, "other", "s", "clean"}


def test_a_file_of_another_form_is_read_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "lineage_graph.json"
    path.write_text(dumps(discovery()).replace("\n", " "))
    assert "apart" in names(load_downstream(path, ["orders"]))
    with pytest.raises(ConfigurationError):
        load_downstream(tmp_path / "missing.json", ["orders"])


def test_an_unknown_name_has_no_part(tmp_path: Path) -> None:
    dump(discovery(), path := tmp_path / "lineage_graph.json")
    assert names(load_downstream(path, ["nothing"])) == set()


def test_topics_are_downstream_of_their_schemas_and_these_come_with_what_they_refer_to(
    tmp_path: Path,
) -> None:
    whole = discovery()
    orders = next(node for node in whole.graph.nodes.values() if node.qualified_name == "orders")
    for subject, refers_to in {"com.Order": "com.Address", "com.Address": "com.City", "com.City": ""}.items():
        references = [{"name": "n", "subject": refers_to, "version": 1}] if refers_to else []
        whole.graph.add_node(
            Node(subject, "confluent", NodeType.SCHEMA, subject, attributes={"references": references})
        )
    whole.graph.add_edge(Edge(orders.node_id, "com.Order", EdgeType.HAS_SCHEMA))
    dump(whole, path := tmp_path / "lineage_graph.json")
    part = names(load_downstream(path, ["com.Order"]))
    assert part == {"cdc", "orders", "other", "s", "clean", "com.Order", "com.Address", "com.City"}
