"""Chains over Spark Connect: the same rows and commits as with a session of one's own."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.lineage.chains import chains_of
from lineage_bridge_dagster.spark.chains import frames
from lineage_bridge_dagster.spark.chains.write import write_lineage
from lineage_bridge_dagster.spark.iceberg_tables import (
    TableName,
    ancestors,
    location,
    open_table,
)
from lineage_bridge_dagster_tests.spark.graphs import table_of, world

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("connect")]


def test_chains_are_those_of_the_graph_and_stored_once(connect_spark: SparkSession, database: str) -> None:
    discovery = world(12)
    first = write_lineage(connect_spark, discovery, None, "glue", database)
    wanted = {
        (chain.table.node_id, hop.node.node_id, hop.distance)
        for chain in chains_of(discovery.graph)
        for hop in chain.hops
    }
    rows = connect_spark.table(quoted("glue", database, "upstream_chains")).collect()
    assert {(row.table_id, row.node_id, row.hop) for row in rows} == wanted
    assert (first.changed, len(rows)) == (12, len(wanted))
    again = write_lineage(connect_spark, discovery, None, "glue", database)
    assert (again.changed, again.snapshot_id) == (0, first.snapshot_id)
    assert not any(version.written for version in again.versions)


def test_large_rows_are_sent_as_files(
    connect_spark: SparkSession, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "_SMALL_BYTES", 0)
    sent: list[str] = []
    add_artifacts = connect_spark.addArtifacts

    def add(*files: str, **kind: Any) -> None:
        sent.extend(files)
        add_artifacts(*files, **kind)

    monkeypatch.setattr(connect_spark, "addArtifacts", add)
    discovery = world(2)
    write_lineage(connect_spark, discovery, None, "glue", database)
    found = {
        table: connect_spark.table(quoted("glue", database, table)).count() for table in ("nodes", "edges")
    }
    assert found == {"nodes": len(discovery.graph.nodes), "edges": len(discovery.graph.edges)}
    assert connect_spark.table(quoted("glue", database, "upstream_chains")).count() == 18
    # Nodes, edges and chains.
    assert len([file for file in sent if file.endswith("0.arrow")]) == 3


def test_changed_chain_is_merged_in_a_commit_with_its_marker(
    connect_spark: SparkSession, database: str
) -> None:
    write_lineage(connect_spark, world(3), None, "glue", database)
    after = world(3)
    for key in [key for key in after.graph.edges if "job-0-2" in str(key)]:
        del after.graph.edges[key]
    result = write_lineage(connect_spark, after, [table_of("orders.v0")], "glue", database)
    assert result.changed == 1
    chains = TableName("glue", database, "upstream_chains")
    merged, first = ancestors(connect_spark, chains)
    assert merged.snapshot_id == result.snapshot_id
    assert "lineage_bridge.write_id" in merged.summary
    assert merged.summary["lineage_bridge.write_id"] != first.summary["lineage_bridge.write_id"]
    # The marker is the write's, and not that of all later statements of the session.
    connect_spark.sql(f"DELETE FROM {chains.sql} WHERE hop > 1")  # noqa: S608
    assert "lineage_bridge.write_id" not in next(ancestors(connect_spark, chains)).summary


def test_history_is_read_from_the_metadata_tables(connect_spark: SparkSession, database: str) -> None:
    connect_spark.sql(f"CREATE NAMESPACE IF NOT EXISTS glue.{quoted(database)}")
    table = TableName("glue", database, "out.v1")
    connect_spark.sql(f"CREATE TABLE {table.sql} (Location string) USING iceberg")
    assert list(ancestors(connect_spark, table)) == []
    assert open_table(connect_spark, table).history() == []
    for _ in range(2):
        connect_spark.sql("SELECT 'here' AS Location").writeTo(table.sql).append()
    second, first = ancestors(connect_spark, table)
    assert (first.operation, first.count("total-records"), second.count("total-records")) == ("append", 1, 2)
    assert open_table(connect_spark, table).snapshot(first.snapshot_id) == first
    assert open_table(connect_spark, table).snapshot(1) is None
    became_current = [(each.committed_at, each.snapshot_id) for each in (first, second)]
    assert open_table(connect_spark, table).history() == became_current
    connect_spark.sql(
        f"CALL glue.system.rollback_to_snapshot('{quoted(database)}.`out.v1`', {first.snapshot_id})"
    )
    assert list(ancestors(connect_spark, table)) == [first]
    assert location(connect_spark, table).startswith("s3://lake/warehouse/")
