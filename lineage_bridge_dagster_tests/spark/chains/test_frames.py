"""Rows that are too many for a message become a frame all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lineage_bridge_dagster.spark.chains import frames, lineage_tables
from lineage_bridge_dagster.spark.chains.frames import frame_of_parts
from lineage_bridge_dagster.spark.chains.lineage_tables import graph_records
from lineage_bridge_dagster_tests.spark.graphs import tangle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def test_parts_of_a_large_table_are_partitions_that_workers_read(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "_SMALL_BYTES", 0)
    monkeypatch.setattr(lineage_tables, "PART_ROWS", 10)
    records = graph_records(tangle(3, topics=6, edges=8))[0]
    with frame_of_parts(spark, records.parts()) as frame:
        assert frame.rdd.getNumPartitions() == -(-len(records) // 10) > 2
        found = frame.orderBy("node_id").toArrow()
    wanted = records.rows.sort_by("node_id")
    assert found.to_pylist() == wanted.to_pylist()
