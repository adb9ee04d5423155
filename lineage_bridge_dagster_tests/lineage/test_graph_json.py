from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.chains import chain_of
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_json import dump, dumps, load, loads, write_atomically
from lineage_bridge_dagster.lineage.graph_parquet import dump_folder
from lineage_bridge_dagster.lineage.model import Edge, Graph, Node
from lineage_bridge_dagster_tests.lineage.graphs import coverage, shop


def same(a: Discovery, b: Discovery) -> bool:
    return (
        list(a.graph.nodes.values()) == list(b.graph.nodes.values())
        and list(a.graph.edges.values()) == list(b.graph.edges.values())
        and sorted(a.coverage, key=lambda r: r.scope) == sorted(b.coverage, key=lambda r: r.scope)
        and a.discovered_at == b.discovered_at
    )


def shop_discovery() -> Discovery:
    return Discovery(shop(), coverage(flink=Status.FAILED), "2026-04-30T12:34:56.789Z")


MINIMAL_NODE = {"node_id": "n", "node_type": "kafka_topic", "qualified_name": "orders"}


def test_file_gives_back_the_discovery_and_its_coverage(tmp_path: Path) -> None:
    dump(shop_discovery(), tmp_path / "lineage_graph.json")

    assert same(load(tmp_path / "lineage_graph.json"), shop_discovery())


def test_folder_gives_back_the_discovery_and_its_coverage(tmp_path: Path) -> None:
    dump_folder(shop_discovery(), tmp_path / "graph")
    back = load(tmp_path / "graph")
    back.discovered_at = shop_discovery().discovered_at

    assert same(back, shop_discovery())


def test_folder_without_coverage_says_nothing_of_it(tmp_path: Path) -> None:
    dump_folder(shop_discovery(), tmp_path)
    dump_folder(Discovery(Graph()), tmp_path)

    assert len(load(tmp_path).coverage) == 0
    assert len(load(tmp_path).graph) == 0


def test_file_without_coverage_has_an_empty_one() -> None:
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


def test_cache_on_the_nodes_of_an_older_state_is_dropped() -> None:
    node = {**MINIMAL_NODE, "attributes": {"sql": "SELECT 1", "sql_cache": {"version": "1"}}}

    assert loads(json.dumps({"nodes": [node], "edges": []})).graph.nodes["n"].attributes == {
        "sql": "SELECT 1"
    }


def test_fields_are_named_as_others_read_them() -> None:
    document = json.loads(dumps(shop_discovery()))

    assert list(document["nodes"][0]) == [
        "node_id",
        "system",
        "node_type",
        "qualified_name",
        "display_name",
        "environment_id",
        "environment_name",
        "cluster_id",
        "cluster_name",
        "catalog_type",
        "attributes",
        "tags",
        "url",
        "first_seen",
        "last_seen",
    ]
    assert list(document["edges"][0]) == [
        "src_id",
        "dst_id",
        "edge_type",
        "confidence",
        "attributes",
        "first_seen",
        "last_seen",
    ]
    glue = [
        n for n in document["nodes"] if n["node_type"] == "catalog_table" and n["catalog_type"] == "AWS_GLUE"
    ]
    assert len(glue) == 1


def test_one_node_is_one_line() -> None:
    assert sum(line.startswith('{"node_id"') for line in dumps(shop_discovery()).splitlines()) == len(shop())


def test_minimal_graph_is_filled_with_defaults() -> None:
    graph = loads(json.dumps({"nodes": [MINIMAL_NODE], "edges": []})).graph

    assert graph.nodes["n"] == Node("n", "", "kafka_topic", "orders")


def test_unknown_kinds_are_kept_and_unknown_fields_passed_over() -> None:
    document = {
        "version": 7,
        "nodes": [
            {**MINIMAL_NODE, "node_type": "dashboard", "colour": "red"},
            {
                **MINIMAL_NODE,
                "node_id": "t",
                "node_type": "catalog_table",
                "display_name": None,
                "tags": None,
            },
        ],
        "edges": [
            {"src_id": "n", "dst_id": "t", "edge_type": "inspires", "weight": 3},
            {"src_id": "nobody", "dst_id": "t", "edge_type": "produces", "confidence": 1},
        ],
    }
    graph = loads(json.dumps(document)).graph

    assert graph.nodes["n"].node_type == "dashboard"
    assert len(graph.edges) == 2
    assert chain_of(graph, "t").hops == ()


def test_ids_are_opaque() -> None:
    odd = "not:an/id of ours  ü"
    graph = loads(json.dumps({"nodes": [{**MINIMAL_NODE, "node_id": odd}], "edges": []})).graph

    assert odd in graph


@pytest.mark.parametrize(
    ("document", "place", "hint"),
    [
        ([], "a list", "extract"),
        ({}, "nodes is missing", "list"),
        ({"nodes": {}, "edges": []}, "nodes is an object", "list"),
        ({"nodes": []}, "edges is missing", "list"),
        ({"nodes": [MINIMAL_NODE, 5], "edges": []}, "nodes[1] is a number", "object"),
        ({"nodes": [{"node_type": "x"}], "edges": []}, "nodes[0].node_id is missing", '"node_id"'),
        ({"nodes": [{**MINIMAL_NODE, "node_id": ""}], "edges": []}, "nodes[0].node_id", '"node_id"'),
        (
            {"nodes": [{**MINIMAL_NODE, "node_id": 3}], "edges": []},
            "nodes[0].node_id is a number '3'",
            '"node_id"',
        ),
        (
            {"nodes": [{**MINIMAL_NODE, "attributes": "x"}], "edges": []},
            "nodes[0].attributes",
            '"attributes"',
        ),
        ({"nodes": [{**MINIMAL_NODE, "tags": ["a", 1]}], "edges": []}, "nodes[0].tags", '"tags"'),
        ({"nodes": [{**MINIMAL_NODE, "url": True}], "edges": []}, "nodes[0].url is a truth value", '"url"'),
        (
            {"nodes": [], "edges": [{"src_id": "a", "edge_type": "x"}]},
            "edges[0].dst_id is missing",
            '"dst_id"',
        ),
        (
            {"nodes": [], "edges": [{"src_id": "a", "dst_id": "b", "edge_type": "x", "confidence": 2}]},
            "edges[0].confidence",
            '"confidence"',
        ),
        ({"nodes": [], "edges": [], "coverage": {}}, "coverage is an object", "list"),
        (
            {"nodes": [], "edges": [], "coverage": [{"scope": "kafka:e:c", "status": "fine"}]},
            "coverage[0].status",
            "complete",
        ),
    ],
)
def test_malformed_graph_is_refused_by_its_place(
    tmp_path: Path, document: Any, place: str, hint: str
) -> None:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(document))

    with pytest.raises(ConfigurationError) as caught:
        load(path)

    assert str(path) in caught.value.message
    assert place in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"nodes": [\n  {,', "line 2, column 4"),
        (b"\xff\xfe", "UTF-8"),
        (b"", "line 1"),
        (b"[" * 100_000, "nested"),
    ],
)
def test_text_that_is_no_json_is_refused_with_its_place(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "graph.json"
    path.write_bytes(content)

    with pytest.raises(ConfigurationError, match=said):
        load(path)


def test_missing_file_names_the_command_that_writes_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(tmp_path / "nothing.json")

    assert "lineage-bridge extract" in caught.value.hint


def test_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text('\ufeff{"nodes": [], "edges": []}', encoding="utf-8")

    assert len(load(path).graph) == 0


def test_folder_without_edges_names_the_file(tmp_path: Path) -> None:
    dump_folder(shop_discovery(), tmp_path)
    (tmp_path / "edges.parquet").unlink()

    with pytest.raises(ConfigurationError, match=r"edges\.parquet"):
        load(tmp_path)


def test_folder_with_a_broken_file_or_attribute_names_it(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    dump_folder(shop_discovery(), tmp_path)
    pq.write_table(pa.Table.from_pylist([{**MINIMAL_NODE, "attributes": "{no"}]), tmp_path / "nodes.parquet")
    with pytest.raises(ConfigurationError, match=r"nodes\[0\]\.attributes"):
        load(tmp_path)
    (tmp_path / "nodes.parquet").write_text("no parquet")
    with pytest.raises(ConfigurationError, match=r"nodes\.parquet"):
        load(tmp_path)


def test_folder_with_times_and_without_optional_columns_is_read(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    dump_folder(Discovery(Graph()), tmp_path)
    row = {**MINIMAL_NODE, "attributes": '{"a": [1]}', "first_seen": datetime(2026, 1, 2, tzinfo=UTC)}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "nodes.parquet")

    node = load(tmp_path).graph.nodes["n"]

    assert node.attributes == {"a": [1]}
    assert node.first_seen == "2026-01-02T00:00:00.000Z"


def test_values_that_json_lacks_become_ones_it_has() -> None:
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


def test_failed_write_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text("old")

    def broken() -> Iterator[str]:
        yield "new"
        raise RuntimeError("the disk is gone")

    with pytest.raises(RuntimeError):
        write_atomically(path, broken())

    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["graph.json"]  # noqa: PTH208


def test_written_file_has_the_rights_of_any_new_file_and_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    count = write_atomically(link, ["a", "b"])

    assert count == 2
    assert link.is_symlink()
    assert (tmp_path / "real").read_text() == "ab"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == stat.S_IMODE(
        (tmp_path / "plain").stat().st_mode
    )


def test_what_is_no_regular_file_is_written_as_it_is() -> None:
    assert write_atomically("/dev/null", ["a"]) == 1


def test_folder_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be written"):
        dump(shop_discovery(), tmp_path / "nowhere" / "graph.json")


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
_NODES = st.builds(
    Node,
    node_id=st.text(min_size=1),
    system=st.text(),
    node_type=st.text(min_size=1),
    qualified_name=st.text(min_size=1),
    display_name=st.text(),
    environment_id=st.none() | st.text(min_size=1),
    attributes=st.dictionaries(st.text(), _JSON, max_size=3),
    tags=st.lists(st.text(), max_size=3, unique=True).map(tuple),
    url=st.none() | st.text(min_size=1),
)
_EDGES = st.builds(
    Edge,
    st.text(min_size=1),
    st.text(min_size=1),
    st.text(min_size=1),
    st.floats(0, 1),
    attributes=st.dictionaries(st.text(), _JSON, max_size=3),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(_NODES, max_size=5), st.lists(_EDGES, max_size=5))
def test_any_graph_survives_both_forms(
    tmp_path_factory: pytest.TempPathFactory, nodes: list[Node], edges: list[Edge]
) -> None:
    discovery = Discovery(Graph(nodes, edges))
    folder = tmp_path_factory.mktemp("graph")
    dump_folder(discovery, folder)

    assert same(loads(dumps(discovery)), discovery)
    assert same(load(folder), discovery)


def test_graph_of_a_many_nodes_goes_through_a_file(tmp_path: Path) -> None:
    graph = Graph(
        Node(f"n{i}", "c", "kafka_topic", f"t{i}", attributes={"scope": "kafka:e:c"}) for i in range(30_000)
    )
    dump(Discovery(graph), tmp_path / "graph.json")

    assert len(load(tmp_path / "graph.json").graph) == 30_000
