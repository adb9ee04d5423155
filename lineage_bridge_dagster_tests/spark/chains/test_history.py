"""Lineage as it was: within its history after upkeep, and not beyond."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.model import Edge
from lineage_bridge_dagster.spark.chains.write import write_lineage
from lineage_bridge_dagster.spark.iceberg_tables import TableName, ancestors
from lineage_bridge_dagster.spark.io.options import ReadOptions
from lineage_bridge_dagster.spark.io.source import AssetSource
from lineage_bridge_dagster.spark.upkeep import Upkeep, UpkeepLimits, keep_up
from lineage_bridge_dagster_tests.spark.graphs import CLUSTER, ENV, add_table, table_of, topic_id, world
from lineage_bridge_dagster_tests.spark.io.reading import read_asset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TABLES = ("edges", "upstream_chains")
CHAIN = AssetSource("chain", node_id=table_of("orders.v0"))


def upkeep(spark: SparkSession, database: str, days: float) -> dict[str, Upkeep]:
    limits = UpkeepLimits(snapshots=1, hours=days * 24, orphan_days=None)
    now = datetime.now(UTC)
    return {name: keep_up(spark, TableName("glue", database, name), limits, now) for name in TABLES}


def test_chain_is_read_as_it_was_until_its_history_has_ended(spark: SparkSession, database: str) -> None:
    discovery = world(2)
    write_lineage(spark, discovery, None, "glue", database)
    (first,) = ancestors(spark, TableName("glue", database, "upstream_chains"))
    for number in range(2):
        add_table(discovery.graph, f"late {number}")
        source, target = (topic_id(ENV, CLUSTER, name) for name in (f"late {number}", "orders.v0"))
        discovery.graph.add_edge(Edge(source, target, "transforms"))
        write_lineage(spark, discovery, None, "glue", database)

    def hops(options: ReadOptions) -> int:
        return int(read_asset(spark, CHAIN, "glue", database, options=options).count())

    kept = upkeep(spark, database, days=90)
    assert kept["upstream_chains"].compacted > 0
    assert {name: done.snapshots for name, done in kept.items()} == dict.fromkeys(TABLES, 0)
    assert hops(ReadOptions(snapshot_id=first.snapshot_id)) == 9
    assert hops(ReadOptions(as_of=first.committed_at)) == 9
    assert hops(ReadOptions()) == 11

    ended = upkeep(spark, database, days=0)
    assert all(done.snapshots >= 2 for done in ended.values())
    assert ended["upstream_chains"].expired > 0
    assert hops(ReadOptions()) == 11
    for options in (ReadOptions(snapshot_id=first.snapshot_id), ReadOptions(as_of=first.committed_at)):
        with pytest.raises(LineageBridgeError, match=r"expired|its history begins at"):
            hops(options)
    # What was known of the tables still holds, whatever snapshots are left.
    again = write_lineage(spark, discovery, None, "glue", database)
    assert {version.table for version in again.versions if version.written} <= {"coverage"}
