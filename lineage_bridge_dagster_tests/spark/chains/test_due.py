"""Which chains a change can affect, without Spark."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.lineage.affected import GraphChange, affected, chain_content, part_above
from lineage_bridge_dagster.lineage.catalog_tables import name_of, tables_of
from lineage_bridge_dagster.lineage.chains import chains_of, to_json
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, Graph, Node, NodeType
from lineage_bridge_dagster.lineage.nodes import ICEBERG_REST, NodeView
from lineage_bridge_dagster.lineage.text import clean
from lineage_bridge_dagster.spark.chains.due import Due, Selection
from lineage_bridge_dagster.spark.chains.places import Places
from lineage_bridge_dagster.spark.chains.source import DiscoverySource
from lineage_bridge_dagster_tests.spark.chains.changes import REGIONS, changed
from lineage_bridge_dagster_tests.spark.graphs import (
    CLUSTER,
    ENV,
    add_table,
    table_of,
    tangle,
    topic_id,
    world,
)


def change_between(before: Graph, after: Graph) -> GraphChange:
    """How one graph differs from another, by their contents."""
    known = {node_id: chain_content(node) for node_id, node in before.nodes.items()}
    nodes = [node_id for node_id, node in after.nodes.items() if known.get(node_id) != chain_content(node)]
    edges = [key for key, edge in after.edges.items() if before.edges.get(key) != edge]
    edges += before.edges.keys() - after.edges.keys()
    return GraphChange(
        nodes=set(map(clean, nodes)),
        removed=set(map(clean, before.nodes.keys() - after.nodes.keys())),
        targets={clean(target) for _, target, _ in edges},
    )


def chains(discovery: Discovery, coverage: Coverage) -> dict[str, Any]:
    """All that is stored of each table's chain, but for times."""
    return {
        chain.table.node_id: (
            name_of(chain.table),
            to_json(chain, "full"),
            [(hop.node.node_id, hop.node.environment_id, hop.node.cluster_id) for hop in chain.hops],
            any(NodeView.of(hop.node).stale_since for hop in chain.hops),
            chain.incomplete_scopes,
        )
        for chain in chains_of(discovery.graph, coverage)
    }


#: What may have been read worse, and hide something of a node or of a table.
SCOPES = [
    *(Scope(api, ENV, CLUSTER) for api in ("kafka", "connect", "tableflow", "mirrors")),
    *(Scope("flink", env, f"aws.{region}") for env in (ENV, "env-2") for region in REGIONS),
    *(Scope("glue", "", region) for region in REGIONS),
    *(Scope(api, env) for api in ("compute_pools", "schema_registry", "ksqldb") for env in (ENV, "env-2")),
]


def read(*incomplete: Scope) -> Coverage:
    reports = (ScopeReport(s, Status.FAILED if s in incomplete else Status.COMPLETE) for s in SCOPES)
    return Coverage(reports)


@given(st.integers(0, 10**6), st.integers(1, 3), st.sets(st.sampled_from(SCOPES), max_size=2))
def test_chains_that_differ_are_among_those_that_the_change_can_affect(
    seed: int, changes: int, incomplete: set[Scope]
) -> None:
    rng = random.Random(seed)  # noqa: S311
    # The second one changes what the first one has changed.
    before = changed(tangle(seed, topics=8, edges=8), rng, 8)
    after = changed(before, rng, changes)
    coverage = read(*incomplete)
    old, new = chains(before, coverage), chains(after, coverage)
    found = affected(after.graph, change_between(before.graph, after.graph))
    assert {table for table, chain in new.items() if old.get(table) != chain} <= found


class Watched(dict[str, Any]):
    """Attributes that note which of them are read."""

    def __init__(self, attributes: Mapping[str, Any], read: set[str]) -> None:
        super().__init__(attributes)
        self._read = read

    def get(self, name: str, default: Any = None) -> Any:
        self._read.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> Any:
        return self.get(name)

    def __contains__(self, name: object) -> bool:
        return self.get(str(name)) is not None

    def __iter__(self) -> Iterator[str]:
        self._read.add("all")
        return super().__iter__()

    keys = items = values = __iter__  # type: ignore[assignment]


class WatchedNode(Node):
    """A node that notes which of its fields and attributes are read."""

    __slots__ = ("_read",)

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name in FIELDS:
            super().__getattribute__("_read").add(name)
        return value


FIELDS = frozenset(each.name for each in fields(Node)) - {"attributes"}


def watched(graph: Graph) -> tuple[Graph, set[str]]:
    """The same graph, and the names of what is read of its nodes from now on."""
    found: set[str] = set()
    nodes = {}
    for node_id, node in graph.nodes.items():
        values = {each.name: getattr(node, each.name) for each in fields(Node)}
        one = WatchedNode(**values | {"attributes": Watched(node.attributes, found)})
        object.__setattr__(one, "_read", found)
        nodes[node_id] = one
    copy = Graph(edges=graph.edges.values())
    copy.nodes.update(nodes)
    return copy, found


@given(st.integers(0, 10**6), st.sets(st.sampled_from(SCOPES)))
def test_chains_take_no_more_of_a_node_than_its_chain_content(seed: int, incomplete: set[Scope]) -> None:
    discovery = changed(tangle(seed, topics=8, edges=8), random.Random(seed), 9)  # noqa: S311
    rest = Node("rest", "iceberg", NodeType.CATALOG_TABLE, "sales.orders", catalog_type=ICEBERG_REST)
    discovery.graph.add_node(rest)
    graph, counted = watched(discovery.graph)
    for node in graph.nodes.values():
        chain_content(node)
    graph, taken = watched(discovery.graph)
    tables = [table.node_id for table in tables_of(graph)]
    Places.of(Discovery(graph, read(*incomplete)), tables, len(tables))
    assert "schema_fields" in taken
    assert taken <= counted


def test_commit_to_a_table_changes_nothing_that_chains_take_from_it() -> None:
    table = world(1).graph.nodes[table_of("orders.v0")]
    committed = table.with_attributes(
        version_id="2", update_time="2026-05-01T00:00:00Z", parameters={"a": "b"}
    )
    assert chain_content(committed) == chain_content(table)
    assert affected(world(1).graph, GraphChange((), (), ())) == set()


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_part_above_some_tables_gives_their_chains(seed: int, count: int) -> None:
    discovery = changed(tangle(seed, topics=8, edges=8), random.Random(seed))  # noqa: S311
    everything = chains(discovery, discovery.coverage)
    some = list(everything)[:count]
    part = replace(discovery, graph=part_above(discovery.graph, some))
    assert {table: chains(part, discovery.coverage)[table] for table in some} == {
        table: everything[table] for table in some
    }


def test_change_affects_what_is_below_it_and_nothing_else() -> None:
    graph = world(5).graph
    job = next(node.node_id for node in graph.of_type("flink_job") if node.qualified_name == "job-3-2")
    found = affected(graph, GraphChange({job}, set(), set()))
    assert [table for table in graph.nodes if table in found and graph.nodes[table].catalog_type] == [
        table_of("orders.v3")
    ]
    assert len(part_above(graph, [table_of("orders.v3")])) == 10


def test_edge_from_a_node_that_is_gone_affects_what_it_led_to() -> None:
    graph = world(2).graph
    above = topic_id(ENV, CLUSTER, "raw-1-1")
    del graph.nodes[above]
    assert table_of("orders.v1") in affected(graph, GraphChange(set(), {above}, set()))


def test_name_that_utf8_cannot_hold_is_found_by_how_it_is_stored() -> None:
    graph = Graph([Node("a\ud800", "s", "kafka_topic", "a"), Node("t", "s", "catalog_table", "t")])
    graph.add_edge(Edge("a\ud800", "t", "materializes"))
    assert affected(graph, GraphChange({"a\ufffd"}, set(), set())) == {"a\ud800", "t"}


def selection(discovery: Discovery, *table_ids: str) -> Selection:
    return Selection.of(DiscoverySource(discovery), table_ids)


def test_new_table_alone_is_due_and_leaves_all_chains_right() -> None:
    discovery = world(3)
    new = add_table(discovery.graph, "new")
    change = change_between(world(3).graph, discovery.graph)
    due = Due.after(change, DiscoverySource(discovery), selection(discovery, new), had_no_others=True)
    assert (list(due.tables), due.others, due.leaves_all) == ([new], (), True)
    other = selection(discovery, table_of("orders.v1"))
    due = Due.after(change, DiscoverySource(discovery), other, had_no_others=True)
    assert (list(due.tables), due.leaves_all, due.is_nothing) == ([], False, True)


def test_chains_of_tables_that_are_gone_are_looked_for_where_the_discovery_would_have_found_them() -> None:
    tableflow = Scope("tableflow", ENV, CLUSTER)
    change = GraphChange({"renamed"}, {"gone"}, set())
    for status, at, expected in (
        (Status.COMPLETE, "2026-01-01T00:00:00Z", {"renamed", "gone"}),
        (Status.FAILED, "2026-01-01T00:00:00Z", set()),
        (Status.COMPLETE, "", set()),
    ):
        discovery = Discovery(world(1).graph, Coverage([ScopeReport(tableflow, status)]), at)
        asked = selection(discovery, table_of("orders.v0"))
        due = Due.after(change, DiscoverySource(discovery), asked, had_no_others=True)
        assert set(due.others or ()) == expected
        # Without a note of what is stored, only a look at everything tells.
        assert (Due.of(asked).others is None) == bool(expected)
    unknown = Selection.of(DiscoverySource(Discovery(world(1).graph)), [table_of("orders.v0")])
    assert Due.of(unknown).others == ()
