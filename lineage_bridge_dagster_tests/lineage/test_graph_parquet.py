from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_json import dumps, load, loads
from lineage_bridge_dagster.lineage.model import Edge, Graph, Node
from lineage_bridge_dagster_tests.lineage.graphs import (
    MINIMAL_NODE,
    graphs_with_inputs,
    same,
    shop_discovery,
)
from lineage_bridge_dagster_tests.lineage.parquet_folder import dump_folder


def test_folder_gives_a_discovery_and_its_coverage(tmp_path: Path) -> None:
    dump_folder(shop_discovery(), tmp_path / "graph")
    back = load(tmp_path / "graph")
    back.discovered_at = shop_discovery().discovered_at

    assert same(back, shop_discovery())


def test_folder_without_coverage_gives_an_empty_one(tmp_path: Path) -> None:
    dump_folder(Discovery(Graph()), tmp_path)

    assert len(load(tmp_path).coverage) == 0
    assert len(load(tmp_path).graph) == 0


def test_missing_edges_file_is_named(tmp_path: Path) -> None:
    dump_folder(shop_discovery(), tmp_path)
    (tmp_path / "edges.parquet").unlink()

    with pytest.raises(ConfigurationError, match=r"edges\.parquet"):
        load(tmp_path)


def test_invalid_file_or_attribute_is_named(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    dump_folder(shop_discovery(), tmp_path)
    pq.write_table(pa.Table.from_pylist([{**MINIMAL_NODE, "attributes": "{no"}]), tmp_path / "nodes.parquet")
    with pytest.raises(ConfigurationError, match=r"nodes\[0\]\.attributes"):
        load(tmp_path)
    (tmp_path / "nodes.parquet").write_text("no parquet")
    with pytest.raises(ConfigurationError, match=r"nodes\.parquet"):
        load(tmp_path)


def test_timestamps_are_read_and_optional_columns_may_be_absent(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    dump_folder(Discovery(Graph()), tmp_path)
    row = {**MINIMAL_NODE, "attributes": '{"a": [1]}', "first_seen": datetime(2026, 1, 2, tzinfo=UTC)}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "nodes.parquet")

    node = load(tmp_path).graph.nodes["n"]

    assert node.attributes == {"a": [1]}
    assert node.first_seen == "2026-01-02T00:00:00.000Z"


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


@settings(max_examples=25)
@given(st.lists(_NODES, max_size=5), st.lists(_EDGES, max_size=5))
def test_any_graph_round_trips_through_both_forms(
    tmp_path_factory: pytest.TempPathFactory, nodes: list[Node], edges: list[Edge]
) -> None:
    discovery = Discovery(Graph(nodes, edges))
    folder = tmp_path_factory.mktemp("graph")
    dump_folder(discovery, folder)

    assert same(loads(dumps(discovery)), discovery)
    assert same(load(folder), discovery)


@settings(max_examples=25)
@given(graphs_with_inputs())
def test_inputs_round_trip_through_both_forms(tmp_path_factory: pytest.TempPathFactory, graph: Graph) -> None:
    folder = tmp_path_factory.mktemp("graph")
    dump_folder(Discovery(graph), folder)

    for back in (loads(dumps(Discovery(graph))), load(folder)):
        assert same(back, Discovery(graph))
        assert [e.inputs for e in back.graph.edges.values()] == [e.inputs for e in graph.edges.values()]
