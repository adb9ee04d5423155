"""Chains on Spark are the chains of the pure function, and reach their table in one commit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.expressions import EqualTo

from lineage_bridge_dagster.config.catalog import CatalogSettings
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.iceberg import spark_name
from lineage_bridge_dagster.lineage.chains import chains_of
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.hops import hop_record
from lineage_bridge_dagster.lineage.model import Edge, Graph
from lineage_bridge_dagster.spark.chains.adjacency import adjacency, shared
from lineage_bridge_dagster.spark.chains.hops import hop_rows, incomplete_nodes
from lineage_bridge_dagster.spark.chains.write import write_lineage
from lineage_bridge_dagster.spark.iceberg_tables import ancestors
from lineage_bridge_dagster_tests.spark.graphs import (
    CLUSTER,
    ENV,
    add_table,
    discovery_of,
    table_of,
    tangle,
    topic_id,
    world,
)
from lineage_bridge_dagster_tests.spark_session import duckdb_reader, pyiceberg_properties

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def expected_rows(discovery: Discovery, sql: str = "redacted") -> set[tuple[Any, ...]]:
    found = set()
    for chain in chains_of(discovery.graph, discovery.coverage):
        for hop in chain.hops:
            record = hop_record(hop.distance, hop.node, sql)
            found.add(
                (
                    chain.table.node_id,
                    hop.distance,
                    hop.node.node_id,
                    record["kind"],
                    record["qualified_name"],
                    record["display_name"],
                    record.get("sql"),
                    chain.complete,
                )
            )
    return found


def snapshots(spark: SparkSession, database: str, table: str = "upstream_chains") -> int:
    return len(list(ancestors(spark, spark_name("glue", database, table))))


def stored(spark: SparkSession, database: str) -> Any:
    return spark.table(spark_name("glue", database, "upstream_chains"))


@pytest.mark.parametrize("seed", range(4))
def test_spark_agrees_with_the_pure_function_on_tangled_graphs(spark: SparkSession, seed: int) -> None:
    discovery = tangle(seed)
    tables = [chain.table.node_id for chain in chains_of(discovery.graph)]
    with shared(spark, adjacency(discovery.graph, incomplete_nodes(discovery))) as arrays:
        rows = hop_rows(spark, discovery.graph, arrays, tables).collect()
    columns = ("table_id", "hop", "node_id", "kind", "qualified_name", "display_name", "sql", "complete")
    found = [tuple(row[name] for name in columns) for row in rows]
    assert len(found) == len(set(found))
    assert set(found) == expected_rows(discovery)


def test_arrays_hold_the_upstream_index() -> None:
    graph = tangle(7).graph
    arrays, ids = adjacency(graph), list(graph.nodes)
    assert {ids[i]: [ids[j] for j in arrays.upstream(i)] for i in range(len(ids)) if arrays.upstream(i)} == {
        node: sources for node, sources in graph.upstream_index().items() if sources
    }


def test_500_tables_take_one_commit_and_a_second_write_takes_none(spark: SparkSession, database: str) -> None:
    discovery = world(500)
    tables = [chain.table.node_id for chain in chains_of(discovery.graph)]
    said: list[str] = []
    first = write_lineage(spark, discovery, tables, "glue", database, progress=said.append)
    assert [re.sub(r"[0-9.]+ s\)", "- s)", line) for line in said] == [
        "Stored nodes, edges, coverage (- s)",
        "Computed the chains of 500 tables: 4,500 hops (- s)",
        "Stored 500 changed chains (- s)",
    ]
    assert (first.tables, first.changed, first.written) == (500, 500, True)
    assert first.rows == stored(spark, database).count() == 500 * 9
    assert set(first.hops.values()) == {9}
    assert snapshots(spark, database) == 1
    said.clear()
    again = write_lineage(spark, discovery, tables, "glue", database, progress=said.append)
    assert said[0].startswith("Nodes, edges and coverage are stored already")
    assert said[-1].startswith("No chain changed, so none was stored")
    assert (again.changed, again.written, again.snapshot_id) == (0, False, first.snapshot_id)
    assert [commit.written for commit in again.commits] == [False] * 4
    assert {snapshots(spark, database, t) for t in ("nodes", "edges", "upstream_chains")} == {1}


def test_a_write_of_some_tables_leaves_the_others_rows(spark: SparkSession, database: str) -> None:
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
    assert result.hops[cut] == 3
    assert snapshots(spark, database) == 2
    rows = stored(spark, database).collect()
    names = [row.qualified_name for row in sorted(rows, key=lambda r: r.hop) if row.table_id == cut]
    assert names == ["lkc-1.orders.v1", "orders.v1", "fresh"]
    assert sum(row.table_id == left_alone for row in rows) == 9
    assert {row.computed_at for row in rows if row.table_id != cut} == {computed[left_alone]}
    assert len(rows) == 5 * 9 + 3


def test_a_write_of_everything_removes_tables_that_left(spark: SparkSession, database: str) -> None:
    write_lineage(spark, world(3), None, "glue", database)
    result = write_lineage(spark, world(2), None, "glue", database)
    assert result.changed == 1
    ids = {row.table_id for row in stored(spark, database).select("table_id").distinct().collect()}
    assert ids == {table_of("orders.v0"), table_of("orders.v1")}


def test_a_table_with_nothing_upstream_has_no_rows(spark: SparkSession, database: str) -> None:
    graph = Graph(n for n in world(1).graph.nodes.values() if n.node_type == "catalog_table")
    result = write_lineage(spark, discovery_of(graph), None, "glue", database)
    assert result.hops == {table_of("orders.v0"): 0}
    assert (result.rows, result.changed, result.snapshot_id) == (0, 0, None)


def test_a_table_that_is_not_in_the_discovery_is_named(spark: SparkSession, database: str) -> None:
    with pytest.raises(LineageBridgeError, match=r"aws:glue_table:env-1:glue://lkc-1/gone"):
        write_lineage(spark, world(1), [table_of("gone")], "glue", database)


def test_pyiceberg_and_duckdb_read_the_lineage_tables(
    spark: SparkSession, database: str, spark_catalog: CatalogSettings
) -> None:
    discovery = world(4)
    write_lineage(spark, discovery, None, "glue", database)
    # A merge leaves delete files, which other readers must honour.
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
