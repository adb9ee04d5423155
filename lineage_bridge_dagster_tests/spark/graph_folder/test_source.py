"""A folder tells of a graph what the graph itself does."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lineage_bridge_dagster.lineage.affected import GraphChange, affected
from lineage_bridge_dagster.lineage.catalog_tables import tables_of
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.graph_folder import Provenance
from lineage_bridge_dagster.lineage.model import Edge, EdgeType
from lineage_bridge_dagster.lineage.sql_policy import limited
from lineage_bridge_dagster.spark.chains.places import Places
from lineage_bridge_dagster.spark.chains.source import DiscoverySource
from lineage_bridge_dagster.spark.graph_folder.source import FolderSource
from lineage_bridge_dagster.spark.graph_folder.writer import dump_folder
from lineage_bridge_dagster_tests.spark.graphs import ENV, tangle


def source(folder: Path, discovery: Discovery) -> FolderSource:
    about = Provenance.of_folder(folder)
    assert about is not None
    return FolderSource(folder, about, discovery.coverage)


@pytest.mark.parametrize("seed", range(6))
def test_source_of_a_folder_is_that_of_its_discovery(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311
    discovery = limited(tangle(seed), "redacted")
    graph = discovery.graph
    for key in rng.sample(list(graph.edges), 9):
        scope = {"scope": str(Scope("flink", ENV, rng.choice(["aws.us-east-1", "aws.eu-west-1", "other"])))}
        graph.edges[key] = replace(graph.edges[key], attributes={**graph.edges[key].attributes, **scope})
        # Some lead from nodes that are not there.
        graph.add_edge(Edge("gone", key[1], EdgeType.PRODUCES, attributes=scope))
    for src, dst, kind in [key for key, edge in graph.edges.items() if edge.inputs][::3]:
        # By another edge, all inputs count.
        graph.add_edge(Edge(src, dst, EdgeType.TRANSFORMS if kind == EdgeType.PRODUCES else kind))
    for node_id in rng.sample(list(graph.nodes), 5):
        graph.nodes[node_id] = graph.nodes[node_id].with_attributes(stale_since="2026-01-01T00:00:00Z")
    dump_folder(discovery, tmp_path / "graph")
    folder = source(tmp_path / "graph", discovery)
    memory = DiscoverySource(discovery)
    assert folder.tables() == memory.tables()
    for ours, theirs in zip(folder.records(), memory.records(), strict=True):
        assert (ours.table, ours.keys, ours.content) == (theirs.table, theirs.keys, theirs.content)
        assert np.array_equal(ours.digests, theirs.digests)
        some = np.array(rng.sample(range(len(ours)), min(9, len(ours))))
        if ours.keys:
            assert ours.key_columns(some).equals(theirs.key_columns(some))
            assert np.array_equal(ours.contents(some), theirs.contents(some))
            assert ours.has_any(theirs.key_columns(some)) is True
            other = theirs.key_columns(some[:1]).to_pylist()[0] | {ours.keys[0]: "other"}
            assert ours.has_any(type(theirs.key_columns(some)).from_pylist([other], ours.key_schema)) is False
    tables = {table.node_id for table in tables_of(graph)}
    ids = [*graph.nodes, "unknown"]
    for count, removed in ((0, "gone"), (1, ""), (2, "gone")):
        nodes, targets = set(rng.sample(ids, count)), set(rng.sample(ids, count // 2))
        change = GraphChange(nodes, {removed} - {""}, targets)
        assert folder.affected(change) == affected(graph, change) & tables
    part = folder.part(folder.tables(), len(tables))
    places = Places.of(discovery, memory.tables(), len(tables))
    for name in ("uncovered", "stale", "contents"):
        assert np.array_equal(getattr(part.arrays, name), getattr(places.arrays, name))
    assert part.tables.equals(places.tables)
    for number in range(len(graph)):
        assert part.arrays.distances(number) == places.arrays.distances(number)


def test_part_of_some_tables_has_only_those(tmp_path: Path) -> None:
    discovery = limited(tangle(1), "redacted")
    dump_folder(discovery, tmp_path / "graph")
    folder = source(tmp_path / "graph", discovery)
    some = [folder.tables()[5], folder.tables()[2]]
    assert set(folder.part(some, len(folder.tables())).tables["table_id"].to_pylist()) == set(some)
    assert folder.missing([*some, "gone"]) == ["gone"]
