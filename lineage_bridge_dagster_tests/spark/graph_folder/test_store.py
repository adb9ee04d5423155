"""The lineage of a folder is what that of its discovery is."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.chains import chains_of
from lineage_bridge_dagster.lineage.sql_policy import limited
from lineage_bridge_dagster.spark import classic
from lineage_bridge_dagster.spark.chains.write import write_lineage
from lineage_bridge_dagster.spark.graph_folder import chains, records
from lineage_bridge_dagster.spark.graph_folder.store import source_of, write_folder_lineage
from lineage_bridge_dagster.spark.graph_folder.writer import dump_folder
from lineage_bridge_dagster_tests.lineage.parquet_folder import dump_folder as dump_foreign
from lineage_bridge_dagster_tests.spark.chains.changes import changed
from lineage_bridge_dagster_tests.spark.chains.test_incremental import contents, written
from lineage_bridge_dagster_tests.spark.graphs import tangle, world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.mark.parametrize("seed", range(2))
def test_changes_written_from_folders_give_the_tables_of_one_full_write_of_the_discovery(
    spark: SparkSession, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    if seed:
        # As for many tables: several slices, and Spark looks for rows that have changed.
        monkeypatch.setattr(chains, "_SLICE_TABLES", 4)
        monkeypatch.setattr(records, "PART_ROWS", 0)
    rng = random.Random(seed)  # noqa: S311
    discovery = tangle(seed, topics=10, edges=20)
    for step in range(3):
        if step:
            discovery = changed(discovery, rng)
        dump_folder(limited(discovery, "redacted"), tmp_path / "graph")
        assert source_of(spark, tmp_path / "graph", "redacted") is not None
        tables = [c.table.node_id for c in chains_of(discovery.graph)] if step == 1 else None
        write_folder_lineage(spark, tmp_path / "graph", tables, "glue", database)
    # What the folder has written is what the discovery would write, so nothing is written again.
    assert not written(write_lineage(spark, discovery, None, "glue", database))
    write_lineage(spark, discovery, None, "glue", f"{database}-full")
    assert contents(spark, database) == contents(spark, f"{database}-full")


def test_folder_that_does_not_serve_is_loaded(
    spark: SparkSession, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    discovery = tangle(1, topics=3, edges=4)
    dump_folder(limited(discovery, "redacted"), tmp_path / "redacted")
    dump_folder(discovery, tmp_path / "written")
    dump_foreign(limited(discovery, "redacted"), tmp_path / "foreign")
    assert source_of(spark, tmp_path / "redacted", "full") is not None
    assert source_of(spark, tmp_path / "redacted", "hash") is None
    assert source_of(spark, tmp_path / "written", "full") is None
    assert source_of(spark, tmp_path / "foreign", "full") is None
    write_lineage(spark, discovery, None, "glue", database, sql="hash")
    again = write_folder_lineage(spark, tmp_path / "written", None, "glue", database, sql="hash")
    assert (again.tables, again.changed) == (3, 0)
    monkeypatch.setattr(classic, "is_local", lambda _: False)
    assert source_of(spark, tmp_path / "redacted", "redacted") is None


def test_tables_that_the_folder_does_not_have_are_named(
    spark: SparkSession, database: str, tmp_path: Path
) -> None:
    dump_folder(limited(tangle(1, topics=3, edges=4), "redacted"), tmp_path / "graph")
    with pytest.raises(LineageBridgeError, match="1 of 1 tables are not in the discovery, such as gone"):
        write_folder_lineage(spark, tmp_path / "graph", ["gone"], "glue", database)


def test_graph_that_is_replaced_while_it_is_stored_is_not_taken_for_stored(
    spark: SparkSession, database: str, tmp_path: Path
) -> None:
    folder, first, second = tmp_path / "graph", world(3), world(4)
    dump_folder(limited(first, "redacted"), folder)

    def replace_it(line: str) -> None:
        if line.startswith("Computed the chains"):
            dump_folder(limited(second, "redacted"), folder)

    with pytest.raises(LineageBridgeError, match="replaced while it was stored"):
        write_folder_lineage(spark, folder, None, "glue", database, progress=replace_it)
    write_folder_lineage(spark, folder, None, "glue", database)
    assert not written(write_lineage(spark, second, None, "glue", database))
    write_lineage(spark, second, None, "glue", f"{database}-full")
    assert contents(spark, database) == contents(spark, f"{database}-full")
