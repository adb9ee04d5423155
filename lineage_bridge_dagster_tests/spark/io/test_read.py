"""Parts of an asset that an input reads: columns, a filter, a snapshot, a time, a range."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from pyspark.sql import DataFrame, SparkSession

from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.spark.chains.write import write_lineage
from lineage_bridge_dagster.spark.iceberg_tables import TableName, ancestors
from lineage_bridge_dagster.spark.io import read
from lineage_bridge_dagster.spark.io.options import ReadOptions, WriteOptions
from lineage_bridge_dagster.spark.io.read import MissingTableError
from lineage_bridge_dagster.spark.io.source import AssetSource
from lineage_bridge_dagster.spark.io.write import write_frame
from lineage_bridge_dagster_tests.spark.graphs import table_of, world
from lineage_bridge_dagster_tests.spark.io.reading import read_asset

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

APPEND = WriteOptions(write_mode="append")


@pytest.fixture
def source(spark: SparkSession, database: str) -> AssetSource:
    """A table with three appends of one row each."""
    for number in range(3):
        row = f"SELECT {number} AS id, named_struct('city', 'c{number}') AS place, '{number}' AS `a.b`"
        write_frame(spark.sql(row), TableName("glue", database, "orders.v1"), APPEND)
    return AssetSource("table", database=database, table="orders.v1")


def history(spark: SparkSession, source: AssetSource) -> list[Any]:
    """The table's snapshots, oldest first."""
    return list(ancestors(spark, TableName("glue", source.database, source.table)))[::-1]


def ids(spark: SparkSession, source: AssetSource, **options: Any) -> list[int]:
    return sorted(row.id for row in read_asset(spark, source, options=ReadOptions(**options)).collect())


def test_columns_and_a_filter_over_other_columns(spark: SparkSession, source: AssetSource) -> None:
    options = ReadOptions(columns=("place.city", "a.b", "ID"), filter="id >= 1")
    frame = read_asset(spark, source, options=options)
    assert frame.columns == ["city", "a.b", "ID"]
    assert sorted(tuple(row) for row in frame.collect()) == [("c1", "1", 1), ("c2", "2", 2)]


def test_snapshot_by_its_id_or_as_of_a_time(spark: SparkSession, source: AssetSource) -> None:
    first, second, _ = history(spark, source)
    assert ids(spark, source, snapshot_id=first.snapshot_id) == [0]
    assert ids(spark, source, as_of=second.committed_at) == [0, 1]
    with pytest.raises(LineageBridgeError, match=r"no snapshot as of .*: its history begins at 20"):
        ids(spark, source, as_of=first.committed_at - 1)
    with pytest.raises(LineageBridgeError, match="has no snapshot 12345"):
        ids(spark, source, snapshot_id=12345)


def test_rows_appended_between_two_snapshots(spark: SparkSession, source: AssetSource) -> None:
    first, second, third = (snapshot.snapshot_id for snapshot in history(spark, source))
    assert ids(spark, source, start_snapshot_id=first) == [1, 2]
    assert ids(spark, source, start_snapshot_id=first, end_snapshot_id=second) == [1]
    assert ids(spark, source, start_snapshot_id=third) == []
    for start, end, reason in (
        (12345, third, "Snapshot 12345 of orders.v1, .* has expired, or belongs to another table"),
        (first, 12345, "Snapshot 12345 of orders.v1 does not come after"),
        (third, first, f"Snapshot {third} of orders.v1|Snapshot {first} of orders.v1 does not come after"),
    ):
        with pytest.raises(LineageBridgeError, match=reason) as refused:
            ids(spark, source, start_snapshot_id=start, end_snapshot_id=end)
        assert "history lists" in str(refused.value)
        assert "full_refresh" not in str(refused.value)


def test_missing_table_is_reported_with_similar_names(spark: SparkSession, source: AssetSource) -> None:
    near = AssetSource("table", database=source.database, table="order.v1")
    with pytest.raises(MissingTableError, match=r"has no Iceberg table order\.v1\. It has orders\.v1\."):
        read_asset(spark, near)
    missing = AssetSource("table", database="lkc-none", table="t")
    with pytest.raises(MissingTableError, match="Catalog glue has no database lkc-none"):
        read_asset(spark, missing)


def test_unreachable_catalog_is_not_reported_as_empty(
    spark: SparkSession, source: AssetSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "rest",
        ".uri": "http://127.0.0.1:9",
    }.items():
        spark.conf.set(f"spark.sql.catalog.unreachable{key}", value)
    with pytest.raises(LineageBridgeError, match=r"could not be read: .*[Cc]onnect") as refused:
        read_asset(spark, source, "unreachable")
    assert not isinstance(refused.value, MissingTableError)
    # Nor is a table whose storage cannot be reached reported as missing.
    monkeypatch.setattr(spark.__class__, "table", lambda *_: spark.sql("SELECT * FROM unreachable.a.b"))
    with pytest.raises(LineageBridgeError, match=r"Table .*orders\.v1 of catalog glue could not be read"):
        read_asset(spark, source)


def test_column_or_filter_that_does_not_fit_is_refused_before_anything_runs(
    spark: SparkSession, source: AssetSource
) -> None:
    with pytest.raises(ConfigurationError, match="Did you mean place"):
        read_asset(spark, source, options=ReadOptions(columns=("plase",)))
    for condition in ("total > 1", "id >", "id + 1"):
        with pytest.raises(ConfigurationError, match=r"The filter of input orders\.v1 is not a condition"):
            read_asset(spark, source, options=ReadOptions(filter=condition))


def test_chain_is_read_as_of_a_snapshot(spark: SparkSession, database: str) -> None:
    write_lineage(spark, world(2), None, "glue", database)
    chain = AssetSource("chain", node_id=table_of("orders.v1"))
    options = ReadOptions(columns=("hop", "qualified_name"), filter="hop <= 2")
    found = read_asset(spark, chain, "glue", database, options=options).collect()
    assert [row.hop for row in found] == [1, 2]
    first = list(ancestors(spark, TableName("glue", database, "upstream_chains")))[-1]
    then = read_asset(spark, chain, "glue", database, options=ReadOptions(snapshot_id=first.snapshot_id))
    assert then.columns == read_asset(spark, chain, "glue", database).columns


class Topic:
    """A topic of two partitions with offsets 10 to 19 and 0 to 4."""

    reads: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, name: str, bootstrap: Any) -> None:
        self.name, self.bootstrap = name, bootstrap

    def bounds(self) -> tuple[dict[int, int], dict[int, int]]:
        return {0: 10, 1: 0}, {0: 20, 1: 5}

    def read(self, spark: SparkSession, start: Any, end: Any, options: Any) -> DataFrame:
        self.reads.append({"start": start, "end": end, "options": options})
        return spark.range(0)


def test_topic_is_read_between_the_bounds_of_the_options(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "SparkTopic", Topic)
    source = AssetSource("topic", topic="t", bootstrap="localhost:9")

    def read_with(**options: Any) -> dict[str, Any]:
        read_asset(spark, source, options=ReadOptions(**options))
        return Topic.reads[-1]

    assert read_with(starting_offsets={0: 15}) == {
        "start": {0: 15, 1: 0},
        "end": {0: 20, 1: 5},
        "options": {},
    }
    assert read_with(starting_offsets="latest", ending_offsets="latest")["start"] == {0: 20, 1: 5}
    assert read_with(starting_timestamp=1_777_550_400_000, ending_timestamp=1_777_550_500_000)["options"] == {
        "startingOffsetsByTimestampStrategy": "latest",
        "startingTimestamp": "1777550400000",
        "endingTimestamp": "1777550500000",
    }
    with pytest.raises(ConfigurationError, match="Partition 0 of t has no offset 3"):
        read_with(starting_offsets={0: 3})
    with pytest.raises(ConfigurationError, match="has no partition 7"):
        read_with(starting_offsets={7: 3})
