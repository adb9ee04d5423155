"""Only what has changed is written, and the tables end up as if everything were."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.lineage.catalog_tables import tables_of
from lineage_bridge_dagster.lineage.chains import chains_of
from lineage_bridge_dagster.lineage.coverage import Coverage, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Edge, Graph
from lineage_bridge_dagster.spark.chains import computed
from lineage_bridge_dagster.spark.chains.lineage_tables import COLUMNS
from lineage_bridge_dagster.spark.chains.write import LineageWrite, write_lineage
from lineage_bridge_dagster.spark.iceberg_tables import Snapshot, TableName, ancestors
from lineage_bridge_dagster.spark.upkeep import UpkeepLimits, keep_up
from lineage_bridge_dagster_tests.spark.chains.changes import changed
from lineage_bridge_dagster_tests.spark.graphs import (
    CLUSTER,
    ENV,
    add_table,
    table_of,
    tangle,
    topic_id,
    world,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TIMES = ("first_seen", "last_seen", "discovered_at", "computed_at")


def contents(spark: SparkSession, database: str) -> dict[str, list[str]]:
    """The rows of the lineage tables, without times."""
    found = {}
    for table in COLUMNS:
        rows = [row.asDict(recursive=True) for row in spark.table(quoted("glue", database, table)).collect()]
        for row in rows:
            for column in TIMES:
                row.pop(column, None)
            if "stale_since" in row:
                row["stale_since"] = row["stale_since"] is not None
        found[table] = sorted(map(str, rows))
    return found


def newest(spark: SparkSession, database: str) -> dict[str, Snapshot | None]:
    return {name: next(ancestors(spark, TableName("glue", database, name)), None) for name in COLUMNS}


def written(result: LineageWrite) -> set[str]:
    return {version.table for version in result.versions if version.written}


def test_changes_written_one_by_one_give_the_tables_of_one_full_write(
    spark: SparkSession, database: str
) -> None:
    rng = random.Random(0)  # noqa: S311
    discovery = tangle(0, topics=10, edges=20)
    write_lineage(spark, discovery, None, "glue", database)
    for last in (False, True):
        discovery = changed(discovery, rng)
        # The last one removes the chains of tables that are gone.
        tables = None if last else [c.table.node_id for c in chains_of(discovery.graph)]
        write_lineage(spark, discovery, tables, "glue", database)
    write_lineage(spark, discovery, None, "glue", f"{database}-full")
    assert contents(spark, database) == contents(spark, f"{database}-full")


def test_one_changed_statement_writes_its_row_and_the_chains_below_it(
    spark: SparkSession, database: str
) -> None:
    discovery = world(5)
    write_lineage(spark, discovery, None, "glue", database)
    job = next(node for node in discovery.graph.of_type("flink_job") if node.qualified_name == "job-3-0")
    discovery.graph.nodes[job.node_id] = job.with_attributes(sql="SELECT 7")
    result = write_lineage(spark, discovery, None, "glue", database)
    assert (result.changed, written(result)) == (1, {"nodes", "upstream_chains", "coverage"})
    snapshots = newest(spark, database)
    rows = {name: each.count("added-records") for name, each in snapshots.items() if each}
    assert (rows["nodes"], rows["upstream_chains"]) == (1, 9)


def test_unchanged_discovery_is_not_walked_and_a_later_one_writes_coverage_alone(
    spark: SparkSession, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    discovery = tangle(5, topics=6, edges=8)
    write_lineage(spark, discovery, None, "glue", database)
    # Files are replaced, and no row is.
    for table in COLUMNS:
        limits = UpkeepLimits(snapshots=1, orphan_days=None)
        keep_up(spark, TableName("glue", database, table), limits, datetime.now(UTC))
    again = write_lineage(spark, discovery, None, "glue", database)
    assert written(again) <= {"coverage"}
    before = contents(spark, database)
    monkeypatch.setattr(computed, "walk_tables", lambda *_: pytest.fail("walked"))
    same = write_lineage(spark, discovery, None, "glue", database)
    later = replace(discovery, discovered_at="2026-05-01T00:00:00Z")
    known = write_lineage(spark, later, None, "glue", database)
    two = [chain.table.node_id for chain in chains_of(later.graph)][:2]
    some = write_lineage(spark, later, two, "glue", database)
    assert (written(same), written(known), written(some)) == (set(), {"coverage"}, set())
    assert contents(spark, database) == before


def damage(database: str, table: str) -> str:
    return f"DELETE FROM {quoted('glue', database, table)} WHERE true"  # noqa: S608 - quoted


def test_rows_that_someone_deleted_are_written_again(spark: SparkSession, database: str) -> None:
    discovery = world(2)
    write_lineage(spark, discovery, None, "glue", database)
    before = contents(spark, database)
    for table in ("nodes", "edges", "upstream_chains"):
        spark.sql(damage(database, table))
        assert table in written(write_lineage(spark, discovery, None, "glue", database))
        assert contents(spark, database) == before


def gone(discovery: Discovery, number: int) -> Discovery:
    """The same discovery without one of its tables."""
    graph = Graph(discovery.graph.nodes.values(), discovery.graph.edges.values())
    del graph.nodes[table_of(f"orders.v{number}")]
    return replace(discovery, graph=graph)


READ = Coverage([ScopeReport(Scope("tableflow", ENV, CLUSTER), Status.COMPLETE)])


def test_runs_of_some_tables_and_of_all_store_each_change_once(spark: SparkSession, database: str) -> None:
    discovery = replace(world(4), coverage=READ)
    ids = [table_of(f"orders.v{number}") for number in range(4)]
    for tables in (ids[:2], ids[2:]):
        assert write_lineage(spark, discovery, tables, "glue", database).changed == 2
    assert written(write_lineage(spark, discovery, ids, "glue", database)) <= {"coverage"}
    new = add_table(discovery.graph, "new")
    above, topic = (topic_id(ENV, CLUSTER, name) for name in ("orders.v2", "new"))
    discovery.graph.add_edge(Edge(above, topic, "transforms"))
    assert write_lineage(spark, discovery, [new], "glue", database).changed == 1
    job = next(node for node in discovery.graph.of_type("flink_job") if node.qualified_name == "job-2-1")
    discovery.graph.nodes[job.node_id] = job.with_attributes(sql="SELECT 7")
    assert write_lineage(spark, discovery, None, "glue", database).changed == 2
    discovery = gone(discovery, 0)
    assert write_lineage(spark, discovery, [table_of("orders.v1")], "glue", database).changed == 1
    # One of the two chains that this changes is not selected, so the next write stores it.
    discovery.graph.nodes[job.node_id] = job.with_attributes(sql="SELECT 8")
    some = write_lineage(spark, discovery, [table_of("orders.v2")], "glue", database)
    last = write_lineage(spark, discovery, None, "glue", database)
    assert (some.changed, last.changed) == (1, 1)
    write_lineage(spark, discovery, None, "glue", f"{database}-full")
    assert contents(spark, database) == contents(spark, f"{database}-full")


def committed(discovery: Discovery, version: str) -> Discovery:
    """The same discovery after a commit to every table."""
    graph = Graph(discovery.graph.nodes.values(), discovery.graph.edges.values())
    for table in list(tables_of(graph)):
        graph.nodes[table.node_id] = table.with_attributes(
            version_id=version, update_time=f"2026-05-0{version}T00:00:00Z", parameters={"version": version}
        )
    return replace(discovery, graph=graph)


def test_commits_to_tables_change_nodes_and_no_chain(spark: SparkSession, database: str) -> None:
    discovery = replace(world(4, depth=1), coverage=READ)
    write_lineage(spark, discovery, None, "glue", database)
    nodes = quoted("glue", database, "nodes")
    for version in "23":
        result = write_lineage(spark, committed(discovery, version), None, "glue", database)
        assert (result.changed, written(result)) == (0, {"nodes", "coverage"})
    assert spark.table(nodes).where("attributes LIKE '%2026-05-03%'").count() == 4


def test_chains_are_stored_after_an_interrupted_write_and_when_scopes_were_read_worse(
    spark: SparkSession, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    discovery = replace(world(3), coverage=READ)
    write_lineage(spark, discovery, None, "glue", database)
    add_table(discovery.graph, "new")
    with monkeypatch.context() as broken:
        broken.setattr(computed, "walk_tables", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_lineage(spark, discovery, None, "glue", database)
    assert write_lineage(spark, discovery, None, "glue", database).changed == 1
    failed = ScopeReport(Scope("connect", ENV, CLUSTER), Status.FAILED)
    worse = replace(discovery, coverage=Coverage([*READ, failed]))
    assert write_lineage(spark, worse, None, "glue", database).changed == 4


def test_run_of_some_tables_removes_the_chains_of_those_that_are_gone_for_certain(
    spark: SparkSession, database: str
) -> None:
    before = replace(world(3), coverage=READ)
    write_lineage(spark, before, None, "glue", database)
    after, one = gone(before, 0), [table_of("orders.v1")]
    unread = replace(after, coverage=Coverage([ScopeReport(scope.scope, Status.DENIED) for scope in READ]))
    older = replace(after, discovered_at="2025-01-01T00:00:00Z")
    found = [write_lineage(spark, each, one, "glue", database) for each in (unread, older, after)]
    assert [result.changed for result in found] == [1, 1, 1]
    chains = spark.table(quoted("glue", database, "upstream_chains"))
    assert {row.table_id for row in chains.collect()} == {table_of("orders.v1"), table_of("orders.v2")}
