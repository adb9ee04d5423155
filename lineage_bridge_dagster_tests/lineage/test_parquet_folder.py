"""A graph written as a folder of Parquet files."""

from __future__ import annotations

from pathlib import Path

import pytest

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_json import load
from lineage_bridge_dagster.lineage.model import Edge, Graph, Node
from lineage_bridge_dagster.lineage.parquet_folder import EDGES, NODES, Provenance, dump_folder
from lineage_bridge_dagster.lineage.sql_policy import limited, mode_of
from lineage_bridge_dagster_tests.lineage.graphs import same, shop_discovery


def test_discovery_is_read_back_with_its_coverage_its_time_and_the_limit_of_its_statements(
    tmp_path: Path,
) -> None:
    discovery = limited(shop_discovery(), "hash")
    dump_folder(discovery, tmp_path / "graph")
    back = load(tmp_path / "graph")
    assert same(back, discovery)
    assert mode_of(back) == "hash"


def test_statements_as_written_are_not_called_limited(tmp_path: Path) -> None:
    dump_folder(shop_discovery(), tmp_path / "graph")
    assert mode_of(load(tmp_path / "graph")) is None


def test_text_that_utf8_cannot_have_is_replaced(tmp_path: Path) -> None:
    nodes = [Node(f"{i}", "s", "t", "\ud800name", attributes={"a": "\udfff"}) for i in range(2)]
    dump_folder(Discovery(Graph(nodes, [Edge("0", "1", "e")])), tmp_path / "graph")
    back = load(tmp_path / "graph").graph
    assert [node.qualified_name for node in back.nodes.values()] == ["\ufffdname"] * 2


def test_earlier_graph_is_replaced_and_other_files_are_not(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    dump_folder(shop_discovery(), folder)
    dump_folder(Discovery(Graph()), folder)
    assert len(load(folder).graph) == 0
    assert [file.name for file in tmp_path.iterdir()] == ["graph"]
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(ConfigurationError, match=r"holds notes\.txt"):
        dump_folder(shop_discovery(), folder)
    with pytest.raises(ConfigurationError, match="is a file"):
        dump_folder(shop_discovery(), folder / "notes.txt")
    assert len(load(folder).graph) == 0


def test_files_of_two_graphs_are_not_read_as_one(tmp_path: Path) -> None:
    for name in ("a", "b"):
        dump_folder(shop_discovery(), tmp_path / name)
    (tmp_path / "a" / NODES).replace(tmp_path / "b" / NODES)
    with pytest.raises(ConfigurationError, match="not of one graph"):
        load(tmp_path / "b")


def test_files_of_others_and_files_that_cannot_be_read_tell_nothing(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    assert Provenance.of_folder(tmp_path) is None
    later = pa.table({"a": [1]}).replace_schema_metadata({"lineage_bridge": '{"version": 3}'})
    for name in (NODES, EDGES):
        pq.write_table(later, tmp_path / name)
    assert Provenance.of_folder(tmp_path) is None
    dump_folder(shop_discovery(), tmp_path / "graph")
    assert Provenance.of_folder(tmp_path / "graph") is not None
    whole = (tmp_path / "graph" / EDGES).read_bytes()
    (tmp_path / "graph" / EDGES).write_bytes(whole[: len(whole) // 2])
    assert Provenance.of_folder(tmp_path / "graph") is None
    with pytest.raises(ConfigurationError, match=r"edges\.parquet is not a readable Parquet file"):
        load(tmp_path / "graph")
