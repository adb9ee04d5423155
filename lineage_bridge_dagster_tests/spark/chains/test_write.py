"""Chains are written in one commit, and only where they changed."""

from __future__ import annotations

import gc
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.expressions import EqualTo

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.formats import NewerFormatError
from lineage_bridge_dagster.lineage.chains import chains_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.ids import flink_job_id
from lineage_bridge_dagster.lineage.model import Edge, Graph
from lineage_bridge_dagster.spark.chains import computed
from lineage_bridge_dagster.spark.chains.lineage_tables import COLUMNS
from lineage_bridge_dagster.spark.chains.records_update import RecordsUpdate
from lineage_bridge_dagster.spark.chains.write import write_lineage
from lineage_bridge_dagster.spark.chains.write_note import TableVersion
from lineage_bridge_dagster.spark.iceberg_tables import TableName, ancestors
from lineage_bridge_dagster_tests.spark.graphs import (
    CLUSTER,
    ENV,
    add_table,
    discovery_of,
    table_of,
    topic_id,
    world,
)
from lineage_bridge_dagster_tests.spark_session import duckdb_reader, pyiceberg_properties
from lineage_bridge_dagster_tests.upgrade import V0_1_0

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def snapshots(spark: SparkSession, database: str, table: str = "upstream_chains") -> int:
    return len(list(ancestors(spark, TableName("glue", database, table))))


def stored(spark: SparkSession, database: str) -> Any:
    return spark.table(quoted("glue", database, "upstream_chains"))


def hops(spark: SparkSession, database: str) -> dict[str, int]:
    """Rows of each table's chain."""
    return {
        row.table_id: row["count"] for row in stored(spark, database).groupBy("table_id").count().collect()
    }


def test_500_tables_take_one_commit_and_unchanged_ones_none(spark: SparkSession, database: str) -> None:
    discovery = world(500)
    tables = [chain.table.node_id for chain in chains_of(discovery.graph)]
    steps: list[str] = []
    first = write_lineage(spark, discovery, tables, "glue", database, progress=steps.append)
    assert [re.sub(r"[0-9.]+ s\)", "- s)", line) for line in steps] == [
        "Stored nodes and edges (- s)",
        "Computed the chains of 500 tables: 4,500 hops (- s)",
        "Stored 500 changed chains (- s)",
        "Stored coverage (- s)",
    ]
    assert (first.tables, first.changed, first.written) == (500, 500, True)
    assert hops(spark, database) == dict.fromkeys(tables, 9)
    assert snapshots(spark, database) == 1
    assert gc.isenabled()
    steps.clear()
    again = write_lineage(spark, discovery, tables, "glue", database, progress=steps.append)
    assert [line.partition(" (")[0] for line in steps] == ["Nodes, edges and chains are stored already"]
    assert (again.changed, again.written, again.snapshot_id) == (0, False, first.snapshot_id)
    assert [version.written for version in again.versions] == [False] * 4
    assert {snapshots(spark, database, t) for t in ("nodes", "edges", "upstream_chains")} == {1}


def test_every_lineage_table_shows_sql_as_the_setting_tells_once_it_changes(
    spark: SparkSession, database: str
) -> None:
    sql = "INSERT INTO a SELECT 1 /*+ OPTIONS('password'='hunter2') */ -- zebra"
    discovery = world(2)
    for node in [*discovery.graph.of_type("flink_job")]:
        discovery.graph.add_node(node.with_attributes(sql=sql, formatted_sql=sql, config={"query": sql}))
    for mode in ("full", "redacted", "hash", "none"):
        assert write_lineage(spark, discovery, None, "glue", database, sql=mode).changed == 2
        for table in ("nodes", "upstream_chains"):
            rows = str(spark.table(quoted("glue", database, table)).collect())
            assert ("zebra" in rows) == (mode in ("full", "redacted"))
            assert ("hunter2" in rows) == (mode == "full")
            assert ("sha256:" in rows) == (mode == "hash")


def test_write_of_some_tables_keeps_the_rows_of_others(spark: SparkSession, database: str) -> None:
    before = world(6)
    write_lineage(spark, before, None, "glue", database)
    computed = {row.table_id: row.computed_at for row in stored(spark, database).collect()}
    after = world(6)
    cut, left_alone = table_of("orders.v1"), table_of("orders.v2")
    for name in ("orders.v1", "orders.v2"):
        topic = topic_id(ENV, CLUSTER, name)
        for key in [key for key in after.graph.edges if key[1] == topic]:
            del after.graph.edges[key]
        add_table(after.graph, "fresh")
        after.graph.add_edge(Edge(topic_id(ENV, CLUSTER, "fresh"), topic, "transforms"))
    result = write_lineage(spark, after, [cut, table_of("orders.v3")], "glue", database)
    assert (result.tables, result.changed) == (2, 1)
    assert hops(spark, database)[cut] == 3
    assert snapshots(spark, database) == 2
    rows = stored(spark, database).collect()
    names = [row.qualified_name for row in sorted(rows, key=lambda r: r.hop) if row.table_id == cut]
    assert names == ["lkc-1.orders.v1", "orders.v1", "fresh"]
    assert sum(row.table_id == left_alone for row in rows) == 9
    assert {row.computed_at for row in rows if row.table_id != cut} == {computed[left_alone]}
    assert len(rows) == 5 * 9 + 3


def with_inputs() -> Discovery:
    """A statement that makes one topic of one of its two inputs, another of any, a third of nothing."""
    discovery = world(1)
    job = flink_job_id(ENV, "AWS", "us-east-1", "job-0-0")
    for name, known in (("one", {"inputs": ["b", "a\ud800"]}), ("any", {}), ("none", {"inputs": []})):
        add_table(discovery.graph, name)
        discovery.graph.add_edge(Edge(job, topic_id(ENV, CLUSTER, name), "produces", attributes=known))
    return discovery


def test_edges_table_has_the_inputs_of_each_output(
    spark: SparkSession, database: str, spark_catalog: CatalogSettings
) -> None:
    write_lineage(spark, with_inputs(), None, "glue", database)
    edges = spark.table(quoted("glue", database, "edges"))
    inputs = {row.dst_id: row.inputs for row in edges.where("edge_type = 'produces'").collect()}
    expected = {"one": ["b", "a\ufffd"], "any": None, "none": [], "orders.v0": None}
    assert {name: inputs[topic_id(ENV, CLUSTER, name)] for name in expected} == expected
    readers = edges.selectExpr("explode(inputs) AS input", "dst_id").where("input = 'b'").collect()
    assert [row.dst_id for row in readers] == [topic_id(ENV, CLUSTER, "one")]


def _fails(update: RecordsUpdate) -> TableVersion:
    raise LineageBridgeError(f"{update.table.table} is out of reach.", hint="")


def test_tables_of_an_older_version_get_the_columns_of_this_one_and_their_values(
    spark: SparkSession, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version 0.1.0 created these; one before it wrote edges without inputs, and with a column of its own."""
    discovery = with_inputs()
    older = json.loads((V0_1_0 / "lineage_tables.json").read_text())
    spark.sql(f"CREATE NAMESPACE {quoted('glue', database)}")
    for table, columns in older.items():
        listed = ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
        spark.sql(f"CREATE TABLE {quoted('glue', database, table)} ({listed}) USING iceberg")
    edges = quoted("glue", database, "edges")
    with monkeypatch.context() as before:
        before.setitem(COLUMNS, "edges", [each for each in COLUMNS["edges"] if each[0] != "inputs"])
        write_lineage(spark, discovery, None, "glue", database)
    assert "inputs" not in spark.table(edges).columns
    spark.sql(f"ALTER TABLE {edges} ADD COLUMN content bigint")
    # The first write of this version gets as far as the columns.
    with monkeypatch.context() as interrupted:
        interrupted.setattr(RecordsUpdate, "apply", _fails)
        with pytest.raises(LineageBridgeError):
            write_lineage(spark, discovery, None, "glue", database)
    assert spark.table(edges).where("inputs IS NOT NULL").count() == 0
    write_lineage(spark, discovery, None, "glue", database)
    for table, columns in COLUMNS.items():
        assert spark.table(quoted("glue", database, table)).columns == [name for name, _, _ in columns]
    assert spark.table(edges).where("array_contains(inputs, 'b')").count() == 1
    assert spark.table(edges).count() == len(discovery.graph.edges)


def test_tables_of_a_newer_version_are_refused_and_stay(spark: SparkSession, database: str) -> None:
    write_lineage(spark, world(1), None, "glue", database)
    nodes = quoted("glue", database, "nodes")
    spark.sql(f"ALTER TABLE {nodes} SET TBLPROPERTIES ('lineage_bridge.format' = '9')")
    spark.sql(f"ALTER TABLE {nodes} ADD COLUMN owner string")
    with pytest.raises(NewerFormatError, match=r"nodes has format 9 of the lineage tables"):
        write_lineage(spark, world(2), None, "glue", database)
    assert "owner" in spark.table(nodes).columns


def test_table_without_upstream_has_no_rows(spark: SparkSession, database: str) -> None:
    graph = Graph(n for n in world(1).graph.nodes.values() if n.node_type == "catalog_table")
    result = write_lineage(spark, discovery_of(graph), None, "glue", database)
    assert hops(spark, database) == {}
    assert (result.tables, result.changed, result.snapshot_id) == (1, 0, None)


def test_table_outside_the_discovery_is_refused_by_name(spark: SparkSession, database: str) -> None:
    with pytest.raises(LineageBridgeError, match=r"aws:glue_table:env-1:glue://lkc-1/gone"):
        write_lineage(spark, world(1), [table_of("gone")], "glue", database)


def test_pyiceberg_and_duckdb_read_the_lineage_tables(
    spark: SparkSession, database: str, spark_catalog: CatalogSettings
) -> None:
    discovery = world(4)
    write_lineage(spark, discovery, None, "glue", database)
    # A merge leaves delete files, which other readers must apply.
    for name in ("orders.v1",):
        add_table(discovery.graph, "late")
        discovery.graph.add_edge(
            Edge(topic_id(ENV, CLUSTER, "late"), topic_id(ENV, CLUSTER, name), "transforms")
        )
    write_lineage(spark, discovery, [table_of("orders.v1")], "glue", database)
    catalog = load_catalog("glue", **pyiceberg_properties(spark_catalog))
    table = catalog.load_table((database, "upstream_chains"))
    rows = table.scan(row_filter=EqualTo("table_id", table_of("orders.v1"))).to_arrow().to_pylist()
    assert sorted((row["hop"], row["qualified_name"]) for row in rows)[1:3] == [
        (2, "orders.v1"),
        (3, "job-1-0"),
    ]
    assert len(rows) == 10
    assert {field["name"] for row in rows for field in row["schema_fields"] or []} == {"id"}
    with duckdb_reader(spark_catalog) as duck:
        count = duck.sql("SELECT count(*) FROM iceberg_scan(?)", params=[table.metadata_location]).fetchone()
    assert count == (4 * 9 + 1,)


def test_write_whose_nodes_cannot_be_stored_computes_no_chains(
    spark: SparkSession, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    walks: list[object] = []
    with monkeypatch.context() as patch:
        patch.setattr(RecordsUpdate, "apply", _fails)
        patch.setattr(computed, "walk_tables", lambda *walk: walks.append(walk))
        with pytest.raises(LineageBridgeError, match="nodes is out of reach"):
            write_lineage(spark, world(3), None, "glue", database)
    assert not walks
    assert write_lineage(spark, world(3), None, "glue", database).changed == 3
