"""Rows of Parquet files by their numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lineage_bridge_dagster.lineage.catalog_tables import name_of, tables_of
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Graph, Node
from lineage_bridge_dagster.spark.graph_folder.reader import EdgeFile, NodeFile, ParquetRows
from lineage_bridge_dagster.spark.graph_folder.writer import dump_folder
from lineage_bridge_dagster_tests.spark.graphs import discovery_of, tangle


@pytest.fixture
def rows(tmp_path: Path) -> ParquetRows:
    """Ten rows in groups of three, of which two are kept."""
    hop = [{"kind": f"k{i}", "fields": [{"name": f"f{i}"}] * (i % 3)} for i in range(10)]
    pq.write_table(pa.table({"id": range(10), "hop": hop}), tmp_path / "rows.parquet", row_group_size=3)
    return ParquetRows(tmp_path / "rows.parquet", ["id", "hop.kind", "hop.fields"], kept=2)


@pytest.mark.parametrize("numbers", [[9, 0, 9, 4, 3], [5], [2, 3], list(range(10)), []])
def test_rows_come_in_the_order_they_are_asked_for(rows: ParquetRows, numbers: list[int]) -> None:
    for _ in range(2):
        found = rows.take(np.array(numbers, dtype=np.int32))
        assert found["id"].to_pylist() == numbers
        assert found["hop.kind"].to_pylist() == [f"k{number}" for number in numbers]
        assert [len(fields) for fields in found["hop.fields"].to_pylist()] == [n % 3 for n in numbers]


def test_groups_are_all_rows(rows: ParquetRows) -> None:
    assert [group["id"].to_pylist() for group in rows.groups()] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]
    assert rows.starts.tolist() == [0, 3, 6, 9, 10]


def test_tables_and_ids_have_the_numbers_of_their_nodes(tmp_path: Path) -> None:
    graph = tangle(3).graph
    dump_folder(discovery_of(graph), tmp_path / "graph")
    nodes, ids = NodeFile(tmp_path / "graph"), list(graph.nodes)
    assert len(nodes) == len(ids)
    assert nodes.numbers_of([ids[7], ids[2], "unknown"]) == {ids[2]: 2, ids[7]: 7}
    assert nodes.tables.to_pylist() == [
        {
            "table": ids.index(table.node_id),
            "table_id": table.node_id,
            "database": name_of(table).database,
            "table_name": name_of(table).table,
        }
        for table in tables_of(graph)
    ]


def test_edges_tell_what_is_not_there(tmp_path: Path) -> None:
    graph = Graph([Node(name, "", "flink_job", name) for name in "abc"])
    for src, dst, kind, told in [
        ("a", "b", EdgeType.PRODUCES, {"inputs": ["c", "gone"]}),
        ("gone", "b", EdgeType.CONSUMES, {}),
        ("c", "gone", EdgeType.PRODUCES, {"inputs": ["a"]}),
        ("a", "c", EdgeType.HAS_SCHEMA, {}),
        ("c", "a", EdgeType.CONSUMES, {"inputs": ["b"]}),
    ]:
        graph.add_edge(Edge(src, dst, kind, attributes=told))
    dump_folder(discovery_of(graph), tmp_path / "graph")
    edges = EdgeFile.of(tmp_path / "graph")
    assert edges.sources.tolist() == [0, -1, 2, 0, 2]
    assert edges.targets.tolist() == [1, 1, -1, 2, 0]
    assert edges.between_nodes.tolist() == [True, False, False, False, True]
    assert edges.dangling.tolist() == [1]
    # Only `produces` edges tell inputs.
    assert edges.inputs() == {(0, 1): ["c", "gone"]}
