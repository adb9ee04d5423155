"""Groups of nodes and edges by what may be hidden behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.gap_groups import (
    group_of_edge,
    group_of_node,
    open_groups_of_edges,
    open_groups_of_nodes,
)
from lineage_bridge_dagster.lineage.gaps import Gaps
from lineage_bridge_dagster.lineage.model import FLOW_EDGES, Edge, Graph, Node, NodeType

ENVIRONMENTS, PLACES = ["env-1", "env-2"], ["", "lkc-1", "lkc-2", "aws.us-east-1", "us-east-1"]
_APIS = [
    "environments", "clusters", "compute_pools", "kafka", "connect", "mirrors", "tableflow", "flink", "glue",
    "ksqldb", "schema_registry", "consumer_groups", "catalog_integrations", "other",
]  # fmt: skip
_SCOPES = st.builds(
    Scope, st.sampled_from(_APIS), st.sampled_from(["", *ENVIRONMENTS]), st.sampled_from(PLACES)
)
_REPORTS = st.builds(ScopeReport, _SCOPES, st.sampled_from(list(Status)), by_name=st.booleans())
_ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        "scope": _SCOPES.map(str) | st.just(7),
        "scopes": st.lists(_SCOPES.map(str), max_size=2) | st.just("none"),
        "aws_region": st.sampled_from(["us-east-1", "eu-west-1", 1]),
        "cloud": st.sampled_from(["AWS", "aws", "gcp", None]),
        "region": st.sampled_from(["us-east-1", "eu-west-1", []]),
        "schema_fields": st.sampled_from([[], [{"name": "id"}], [{"name": ""}], "id"]),
    },
)


def node(number: int, kind: str, places: tuple[str | None, str | None], told: Mapping[str, Any]) -> Node:
    environment, cluster = places
    return Node(f"n{number}", "", kind, "n", environment_id=environment, cluster_id=cluster, attributes=told)


_NODES = st.builds(
    node,
    st.integers(0, 7),
    st.sampled_from([*NodeType, "other"]),
    st.tuples(st.sampled_from([None, *ENVIRONMENTS]), st.sampled_from([None, "lkc-1", "lkc-2"])),
    _ATTRIBUTES,
)
_IDS = st.integers(0, 7).map("n{}".format)
_EDGES = st.builds(
    Edge, _IDS, _IDS, st.sampled_from(["produces", "consumes", "has_schema"]), attributes=_ATTRIBUTES
)


@settings(max_examples=200)
@given(st.lists(_NODES, max_size=5), st.lists(_EDGES, max_size=5), st.lists(_REPORTS, max_size=4))
def test_groups_tell_which_nodes_have_gaps(
    nodes: list[Node], edges: list[Edge], reports: list[ScopeReport]
) -> None:
    graph, coverage = Graph(nodes, edges), Coverage(reports)
    gaps = Gaps(graph, coverage)
    flows = [edge for edge in graph.edges.values() if edge.edge_type in FLOW_EDGES]
    of_nodes = open_groups_of_nodes({group_of_node(each) for each in graph.nodes.values()}, coverage)
    of_edges = open_groups_of_edges({group_of_edge(edge) for edge in flows}, coverage)
    for each in graph.nodes.values():
        into = [edge for edge in flows if edge.dst_id == each.node_id]
        is_open = group_of_node(each) in of_nodes or any(group_of_edge(edge) in of_edges for edge in into)
        assert is_open == bool(gaps.of((each.node_id,)))
