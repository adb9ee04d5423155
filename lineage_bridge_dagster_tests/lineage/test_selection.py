"""What belongs to some Kafka clusters, in a graph of several."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lineage_bridge_dagster.lineage.model import EdgeType, Graph
from lineage_bridge_dagster.lineage.selection import ClusterSelection
from lineage_bridge_dagster.lineage.upstream import UpstreamIndex
from lineage_bridge_dagster.openlineage.events import process_events
from lineage_bridge_dagster_tests.assets.world import EAST, ENV, WEST, World

FURTHER = "lkc-further"


class Across(World):
    """A statement joins topics of two clusters into a third, whose table a sink does not read."""

    def __init__(self) -> None:
        super().__init__()
        self.raw, self.rates = self.topic(EAST, "raw"), self.topic(FURTHER, "rates")
        self.cdc, self.source = (
            self.connector(EAST, "cdc", "PostgresCdcSourceV2"),
            self.dataset("postgres://a"),
        )
        self.edge(self.source, self.cdc, EdgeType.CONSUMES)
        self.edge(self.cdc, self.raw, EdgeType.PRODUCES)
        self.joined = self.topic(WEST, "joined")
        self.join = self.statement("join", "INSERT INTO joined ...", [self.raw, self.rates], [self.joined])
        self.table = self.glue(WEST, "joined")
        self.sink, self.bucket = (
            self.connector(WEST, "s3-sink", "S3_SINK"),
            self.dataset("s3://bucket/joined"),
        )
        self.edge(self.joined, self.sink, EdgeType.CONSUMES)
        self.edge(self.sink, self.bucket, EdgeType.PRODUCES)
        self.second = self.topic(EAST, "second")
        self.edge(self.cdc, self.second, EdgeType.PRODUCES)
        self.other = self.topic(EAST, "other")
        self.copy = self.statement("copy", "INSERT INTO other ...", [self.raw, self.second], [self.other])
        self.unread = self.statement("unread", "?", [], [])


def outside(graph: Graph) -> set[str]:
    return {node_id for node_id, node in graph.nodes.items() if node.attributes.get("outside_selection")}


def test_a_table_keeps_all_its_upstream_and_what_has_nothing_to_do_with_the_cluster_goes() -> None:
    w = Across()
    found = ClusterSelection([WEST], None).of(w.graph)
    assert {*w.graph.nodes} - {*found.nodes} == {w.other, w.copy}
    assert outside(found) == {w.raw, w.rates, w.second}
    whole, kept = UpstreamIndex.of(w.graph), UpstreamIndex.of(found)
    assert kept.distances(w.table) == whole.distances(w.table)


def test_what_a_cluster_feeds_in_others_is_kept_too() -> None:
    w = Across()
    found = ClusterSelection(["further"], None).of(w.graph)
    assert {w.rates, w.join, w.joined, w.table, w.sink, w.bucket} <= {*found.nodes}
    assert not {w.cdc, w.source, w.other} & {*found.nodes}


def test_each_selection_sends_the_same_events_of_a_process() -> None:
    """A receiver would have them replaced by those of the other selection, again and again."""
    w = Across()

    def events_of(graph: Graph) -> dict[str, object]:
        found = process_events(replace(w.discovery(), graph=graph))
        return {json.dumps(event["job"]): event for _, event in found}

    whole = events_of(w.graph)
    for cluster in (EAST, WEST, FURTHER):
        assert events_of(ClusterSelection([cluster], None).of(w.graph)).items() <= whole.items()


@pytest.mark.parametrize(("selected", "feeding"), [(WEST, {EAST, FURTHER}), (EAST, set()), (FURTHER, set())])
def test_only_clusters_upstream_of_the_selected_ones_feed_them(selected: str, feeding: set[str]) -> None:
    selection = ClusterSelection([selected], None)
    assert selection.feeding(Across().graph) == {(ENV, cluster) for cluster in feeding}


def test_a_connection_that_the_last_discovery_had_counts_until_the_next_one() -> None:
    """Why it is missing now is not known here: its API may have failed."""
    last, w = Across(), Across()
    del w.graph.edges[w.raw, w.join, EdgeType.CONSUMES]
    selection = ClusterSelection([WEST], last.graph)
    assert (ENV, EAST) in selection.feeding(w.graph)
    found = selection.of(w.graph)
    assert w.cdc in found
    assert w.cdc not in ClusterSelection([WEST], found).of(w.graph)


def test_without_a_selection_everything_belongs() -> None:
    graph = Across().graph
    assert ClusterSelection([], None).of(graph) is graph
    assert ClusterSelection([], None).feeding(graph) == set()
