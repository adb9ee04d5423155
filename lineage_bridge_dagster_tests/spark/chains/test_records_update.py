"""What differs between records and stored rows, without Spark."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.lineage.coverage import Coverage
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster.spark.chains.lineage_tables import DIGEST, Records, graph_records
from lineage_bridge_dagster.spark.chains.records_update import RowDifference, difference
from lineage_bridge_dagster_tests.spark.chains.changes import changed
from lineage_bridge_dagster_tests.spark.graphs import tangle

TIMES = ("first_seen", "last_seen", "discovered_at")


def by_key(records: Records, rows: pa.Table) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Rows without their times, by key."""
    listed = rows.drop_columns(list(TIMES)).to_pylist()
    return {tuple(row[key] for key in records.keys): row for row in listed}


def found_in(records: Records, stored: pa.Table) -> RowDifference:
    """The difference from stored rows."""

    def keys_of(digests: npt.NDArray[np.int64]) -> pa.Table:
        wanted = pc.is_in(stored[DIGEST], value_set=pa.array(digests, pa.int64()))
        return stored.filter(wanted).select(list(records.keys))

    return difference(records, stored[DIGEST], keys_of)


@given(st.integers(0, 10**6), st.booleans())
def test_stored_rows_with_the_difference_applied_are_the_records(seed: int, shuffled: bool) -> None:
    rng = random.Random(seed)  # noqa: S311
    before = tangle(seed, topics=5, edges=6)
    after = changed(before, rng)
    if shuffled:
        nodes, edges = list(after.graph.nodes.values()), list(after.graph.edges.values())
        rng.shuffle(nodes)
        rng.shuffle(edges)
        after = replace(after, graph=Graph(nodes, edges))
    for old, new in zip(graph_records(before)[:2], graph_records(after)[:2], strict=True):
        stored = by_key(old, old.rows)
        found = found_in(new, old.rows)
        if not found.mergeable:
            continue
        for key in found.removed.to_pylist():
            del stored[tuple(key.values())]
        fresh = by_key(new, new.take(found.changed))
        assert all(stored.get(key) != row for key, row in fresh.items())
        assert stored | fresh == by_key(new, new.rows)
        assert (found.rows == 0) == (old.digest == new.digest)


def test_rows_of_an_earlier_version_differ_and_empty_tables_cannot_be_merged_into() -> None:
    records = graph_records(tangle(1, topics=3, edges=2))[0]
    stored = records.rows
    undigested = stored.set_column(
        stored.column_names.index(DIGEST), DIGEST, pa.nulls(stored.num_rows, pa.int64())
    )
    assert not found_in(records, undigested).mergeable
    assert not found_in(records, stored.slice(0, 0)).mergeable
    assert not found_in(records, pa.concat_tables([stored, stored.slice(0, 1)])).mergeable
    same = found_in(records, stored)
    assert (same.mergeable, same.rows) == (True, 0)


def test_records_are_added_to_rows_that_all_stay() -> None:
    records = graph_records(tangle(1, topics=5, edges=6))[1]
    found = found_in(records, records.rows.slice(2))
    assert (found.only_new, found.changed.tolist(), found.removed.num_rows) == (True, [0, 1], 0)


def test_row_stored_in_two_forms_is_not_taken_for_a_removed_one() -> None:
    records = graph_records(tangle(1, topics=5, edges=6))[0]
    stored = records.rows
    place = stored.column_names.index(DIGEST)
    other_form = stored.slice(0, 1).set_column(place, DIGEST, pa.array([7], pa.int64()))
    assert found_in(records, pa.concat_tables([stored.slice(1), other_form])).removed.num_rows == 0
    assert not found_in(records, pa.concat_tables([stored, other_form])).mergeable


@pytest.mark.parametrize("value", [{"at": object}, {"deep": {1, 2}}, {"s": "\ud800"}, {"n": float("nan")}])
def test_attributes_of_any_kind_have_a_digest_and_a_row(value: dict[str, Any]) -> None:
    discovery = tangle(2, topics=2, edges=1)
    node = next(iter(discovery.graph.nodes.values()))
    discovery.graph.nodes[node.node_id] = node.with_attributes(**value)
    plain, odd = graph_records(Discovery(Graph([node]), Coverage()))[0], graph_records(discovery)[0]
    assert plain.digests[0] != odd.digests[0]
    assert odd.rows.num_rows == len(odd)
