from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_json import dump, dumps, load, loads
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node, NodeType
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
        (b"\xff", "UTF-8"),
        (b"\x1f\x8b", "gzip"),
        (b"9" * 5_000, "a number that is too long"),
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


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_mark_tells_the_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "graph.json"
    path.write_text('{"nodes": [], "edges": []}', encoding=encoding)

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


class _TheirSystem(StrEnum):
    """The systems of LineageBridge's model, which refuses a file with another one."""

    CONFLUENT = "confluent"
    DATABRICKS = "databricks"
    AWS = "aws"
    GOOGLE = "google"
    EXTERNAL = "external"


class _TheirNodeType(StrEnum):
    """The types of nodes of LineageBridge's model, which refuses a file with another one."""

    KAFKA_TOPIC = "kafka_topic"
    CONNECTOR = "connector"
    KSQLDB_QUERY = "ksqldb_query"
    FLINK_JOB = "flink_job"
    TABLEFLOW_TABLE = "tableflow_table"
    CATALOG_TABLE = "catalog_table"
    SCHEMA = "schema"
    EXTERNAL_DATASET = "external_dataset"
    CONSUMER_GROUP = "consumer_group"


class _TheirNode(BaseModel):
    """A node as LineageBridge's model validates it."""

    node_id: str
    system: _TheirSystem
    node_type: _TheirNodeType
    qualified_name: str
    display_name: str
    environment_id: str | None = None
    cluster_id: str | None = None
    catalog_type: str | None = None
    attributes: dict[str, Any] = {}
    tags: list[str] = []
    url: str | None = None
    first_seen: datetime = datetime.now(UTC)
    last_seen: datetime = datetime.now(UTC)


class _TheirEdge(BaseModel):
    """An edge as LineageBridge's model validates it."""

    src_id: str
    dst_id: str
    edge_type: EdgeType
    confidence: float = Field(default=1.0, ge=0.0, le=1.0)
    attributes: dict[str, Any] = {}
    first_seen: datetime = datetime.now(UTC)
    last_seen: datetime = datetime.now(UTC)


NOW = "2026-04-30T12:34:56.789Z"
SYSTEMS = [*_TheirSystem, "iceberg", "snowflake", "", "Confluent", "é\ud800"]


@pytest.mark.parametrize("whole", [False, True])
def test_lineagebridge_reads_what_is_written_and_ours_has_every_system_again(
    tmp_path: Path, whole: bool
) -> None:
    """The reader of one record a line, and of any other JSON."""
    seen = {"first_seen": NOW, "last_seen": NOW}
    nodes = [
        Node(f"my:id:{i}", system, "catalog_table", "t", "t", attributes={"n": i}, **seen)
        for i, system in enumerate(map(str, SYSTEMS))
    ]
    nodes += [
        Node(f"my:id:{kind}", "external", kind, "t", "t", attributes={"n": 1}, **seen) for kind in NodeType
    ]
    edges = [Edge("my:id:0", "my:id:5", "materializes", 0.5, {"n": 1}, NOW, NOW)]
    found = Discovery(Graph(nodes, edges))
    path = tmp_path / "lineage_graph.json"
    dump(found, path)
    document = json.loads(path.read_text())
    for node in document["nodes"]:
        _TheirNode.model_validate(node)
    for each in document["edges"]:
        _TheirEdge.model_validate(each)
    if whole:
        path.write_text(json.dumps(document, indent=2))

    assert same(load(path), found)
    again = tmp_path / "again.json"
    dump(load(path), again)
    assert whole or again.read_bytes() == path.read_bytes()
