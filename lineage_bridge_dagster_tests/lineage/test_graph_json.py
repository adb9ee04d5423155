from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_json import dump, dumps, load, loads
from lineage_bridge_dagster.lineage.model import Graph, Node
from lineage_bridge_dagster_tests.lineage.graphs import same, shop, shop_discovery


def test_file_round_trips_a_discovery_and_its_coverage(tmp_path: Path) -> None:
    dump(shop_discovery(), tmp_path / "lineage_graph.json")

    assert same(load(tmp_path / "lineage_graph.json"), shop_discovery())


def test_file_without_coverage_gives_an_empty_one() -> None:
    text = dumps(Discovery(shop()))

    assert "coverage" not in json.loads(text)
    assert len(loads(text).coverage) == 0


def test_caches_are_written_only_on_request() -> None:
    discovery = replace(shop_discovery(), caches={"sql": {"version": "1", "entries": {}}})

    assert loads(dumps(discovery, with_caches=True)).caches == discovery.caches
    assert "caches" not in json.loads(dumps(discovery))


@pytest.mark.parametrize("caches", [None, 3, [], "x"])
def test_malformed_caches_count_as_none(caches: object) -> None:
    assert loads(json.dumps({"nodes": [], "edges": [], "caches": caches})).caches == {}


def test_each_node_is_on_a_line_of_its_own() -> None:
    assert sum(line.startswith('{"node_id"') for line in dumps(shop_discovery()).splitlines()) == len(shop())


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"nodes": [\n  {,', "line 2, column 4"),
        (b"\xff\xfe", "UTF-8"),
        (b"", "line 1"),
        (b"[" * 100_000, "nested"),
    ],
)
def test_error_locates_invalid_json(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "graph.json"
    path.write_bytes(content)

    with pytest.raises(ConfigurationError, match=problem):
        load(path)


def test_missing_file_error_names_the_command_that_writes_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path / "nothing.json")

    assert "lineage-bridge extract" in caught.value.hint


def test_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text('\ufeff{"nodes": [], "edges": []}', encoding="utf-8")

    assert len(load(path).graph) == 0


def test_values_without_a_json_form_are_converted() -> None:
    odd = {
        "when": datetime(2026, 1, 2, tzinfo=UTC),
        "nan": float("nan"),
        "set": {"b", "a"},
        "lone": "\ud800",
        "p": Path("x"),
    }
    text = dumps(Discovery(Graph([Node("n", "", "kafka_topic", "o", attributes=odd)])))
    text.encode()

    assert loads(text).graph.nodes["n"].attributes == {
        "when": "2026-01-02T00:00:00.000Z",
        "nan": None,
        "set": ["a", "b"],
        "lone": "\ud800",
        "p": "x",
    }


def test_missing_folder_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="Cannot write"):
        dump(shop_discovery(), tmp_path / "nowhere" / "graph.json")


def test_graph_of_30_000_nodes_round_trips(tmp_path: Path) -> None:
    graph = Graph(
        Node(f"n{i}", "c", "kafka_topic", f"t{i}", attributes={"scope": "kafka:e:c"}) for i in range(30_000)
    )
    dump(Discovery(graph), tmp_path / "graph.json")

    assert len(load(tmp_path / "graph.json").graph) == 30_000
