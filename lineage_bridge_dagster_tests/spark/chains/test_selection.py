"""Which chains a write computes and removes, without Spark."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.catalog_tables import name_of
from lineage_bridge_dagster.lineage.chains import chains_of, to_json
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.upstream import part_above
from lineage_bridge_dagster.spark.chains.chain_update import Selection
from lineage_bridge_dagster_tests.spark.chains.changes import changed
from lineage_bridge_dagster_tests.spark.graphs import CLUSTER, ENV, table_of, tangle, world


def chains(discovery: Discovery, coverage: Coverage) -> dict[str, Any]:
    """All that is stored of each table's chain, but for times."""
    return {
        chain.table.node_id: (
            name_of(chain.table),
            to_json(chain, "full"),
            [(hop.node.node_id, hop.node.environment_id, hop.node.cluster_id) for hop in chain.hops],
            any(hop.node.stale_since for hop in chain.hops),
            chain.incomplete_scopes,
        )
        for chain in chains_of(discovery.graph, coverage)
    }


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_part_above_some_tables_gives_their_chains(seed: int, count: int) -> None:
    discovery = changed(tangle(seed, topics=8, edges=8), random.Random(seed))  # noqa: S311
    everything = chains(discovery, discovery.coverage)
    some = list(everything)[:count]
    part = replace(discovery, graph=part_above(discovery.graph, some))
    assert {table: chains(part, discovery.coverage)[table] for table in some} == {
        table: everything[table] for table in some
    }


def test_part_above_a_table_has_no_more_than_its_chain() -> None:
    assert len(part_above(world(5).graph, [table_of("orders.v3")])) == 10


@pytest.mark.parametrize(
    ("status", "at", "removes"),
    [
        (Status.COMPLETE, "2026-01-01T00:00:00Z", True),
        (Status.FAILED, "2026-01-01T00:00:00Z", False),
        (Status.COMPLETE, "", False),
    ],
)
def test_chains_of_tables_that_are_gone_are_removed_where_the_discovery_would_have_found_them(
    status: Status, at: str, removes: bool
) -> None:
    coverage = Coverage([ScopeReport(Scope("tableflow", ENV, CLUSTER), status)])
    discovery = Discovery(world(2).graph, coverage, at)
    some = Selection.of(discovery, [table_of("orders.v0")])
    assert (some.removes, some.has_all) == (removes, False)
    every = Selection.of(discovery, None)
    assert (every.removes, every.until, every.has_all) == (True, None, True)


def test_tables_without_coverage_remove_nothing_and_must_be_in_the_graph() -> None:
    discovery = Discovery(world(1).graph)
    found = Selection.of(discovery, [table_of("orders.v0"), table_of("orders.v0")])
    assert (found.selected, found.removes, found.has_all) == ([table_of("orders.v0")], False, True)
    with pytest.raises(LineageBridgeError, match="1 of 1 tables are not in the discovery, such as gone"):
        Selection.of(discovery, ["gone"])
