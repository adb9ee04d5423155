"""Partitions of assets as slices of Arrow tables, a backfill as one commit, and many writers at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest
from dagster import (
    AllPartitionMapping,
    AssetIn,
    DailyPartitionsDefinition,
    MultiPartitionsDefinition,
    StaticPartitionsDefinition,
    asset,
)

from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.catalogs.settings.catalogs_resource import CatalogsResource
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.commits import CommitConflictError, CommitMarker
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.arrow.kinds import FrameKind
from lineage_bridge_dagster.spark.io.arrow.write import write_rows
from lineage_bridge_dagster.spark.io.iceberg_manager import IcebergIOManager
from lineage_bridge_dagster.spark.io.options import WriteOptions
from lineage_bridge_dagster.spark.io.requests import WriteRequest
from lineage_bridge_dagster.spark.io.slices import slice_of
from lineage_bridge_dagster_tests.spark.io.runs import failure_of, metadata_of, rows, run, stored
from lineage_bridge_dagster_tests.spark_session import BUCKET, CREDENTIALS, REGION

DAYS = DailyPartitionsDefinition("2026-01-01", end_date="2026-02-01")
COUNTRIES = StaticPartitionsDefinition([f"c{n}" for n in range(6)])


def test_partitions_replace_and_read_their_own_slice(manager: IcebergIOManager) -> None:
    sold = {"2026-01-01": 1, "2026-01-02": 2}
    seen: dict[str, Any] = {}

    @asset(key="sales", partitions_def=DAYS, metadata={"partition_expr": "at"})
    def sales(context) -> pa.Table:  # type: ignore[no-untyped-def]
        at = datetime.fromisoformat(context.partition_key).replace(hour=5, tzinfo=UTC)
        return pa.table({"at": [at], "n": [sold[context.partition_key]]})

    @asset(key="daily", partitions_def=DAYS, ins={"sales": AssetIn("sales")})
    def daily(context, sales: pa.Table) -> None:  # type: ignore[no-untyped-def]
        seen[context.partition_key] = sales.column("n").to_pylist()

    @asset(key="whole", ins={"sales": AssetIn("sales", partition_mapping=AllPartitionMapping())})
    def whole(sales: pa.Table) -> None:
        seen["whole"] = sorted(sales.column("n").to_pylist())

    for day in (*sold, "2026-01-02"):
        result = run(manager, sales, daily, partition_key=day)
        sold["2026-01-02"] *= 10
    (event,) = result.asset_materializations_for_node("sales")
    counts = [event.metadata[f"dagster/{name}"].value for name in ("row_count", "partition_row_count")]
    assert counts == [2, 1]
    assert [str(field.transform) for field in stored(manager, "sales").spec().fields] == ["day"]
    run(manager, sales, whole, selection=[whole])
    assert seen == {"2026-01-01": [1], "2026-01-02": [200], "whole": [1, 200]}


def test_several_dimensions_and_rows_outside_the_slice(manager: IcebergIOManager) -> None:
    both = MultiPartitionsDefinition({"day": DAYS, "country": COUNTRIES})
    country = "c1"

    @asset(key="sales", partitions_def=both, metadata={"partition_expr": {"day": "at", "country": "land"}})
    def sales(context) -> pa.Table:  # type: ignore[no-untyped-def]
        keys = context.partition_key.keys_by_dimension
        return pa.table({"at": [date.fromisoformat(keys["day"])], "land": [country]})

    for key in ("c1|2026-01-01", "c1|2026-01-02", "c1|2026-01-01"):
        assert run(manager, sales, partition_key=key).success
    assert rows(manager, "sales") == [(date(2026, 1, 1), "c1"), (date(2026, 1, 2), "c1")]
    result = run(manager, sales, partition_key="c2|2026-01-01", raise_on_error=False)
    assert "has a row outside the slice that it replaces: 2026-01-01, c1. Nothing" in failure_of(result)


def test_a_slice_without_partition_expr_or_of_an_expression_is_refused(manager: IcebergIOManager) -> None:
    def sales() -> pa.Table:
        return pa.table({"country": ["c1"]})

    for metadata, message in (
        ({}, "has partitions and no partition_expr"),
        ({"partition_expr": "lower(country)"}, "which is not a column: it has country"),
    ):
        each = asset(key="sales", partitions_def=COUNTRIES, metadata=metadata)(sales)
        assert message in failure_of(run(manager, each, partition_key="c1", raise_on_error=False))


def test_overwrite_filter_keeps_the_other_rows_of_a_file(manager: IcebergIOManager) -> None:
    frame, options = pa.table({"country": ["de", "fr", None], "n": [1, 2, 3]}), {"write_mode": "append"}

    @asset(key="sales")
    def sales(context) -> pa.Table:  # type: ignore[no-untyped-def]
        context.add_output_metadata(dict(options))
        return frame

    run(manager, sales)
    frame = pa.table({"country": ["de"], "n": [10]})
    options = {"write_mode": "overwrite_slice", "overwrite_filter": "country = 'de'"}
    metadata = metadata_of(run(manager, sales))
    assert metadata["lineage_bridge/operation"] == "overwrite"
    assert rows(manager, "sales") == [("de", 10), ("fr", 2), (None, 3)]
    options["overwrite_filter"] = "lower(country) = 'de'"
    assert "overwrite_filter of" in failure_of(run(manager, sales, raise_on_error=False))


def glue(aws: StrictAws) -> Catalogs:
    return Catalogs.of(
        CatalogSettings(
            warehouse=f"s3://{BUCKET}/arrow",
            region=REGION,
            glue_endpoint=aws.endpoint_url,
            s3_endpoint=aws.endpoint_url,
        )
    )


# With the others of this Glue: tests that mock AWS within the process empty it.
@pytest.mark.xdist_group("spark")
def test_six_writers_of_six_partitions_of_a_glue_table_all_succeed(
    spark_aws: StrictAws, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    check_six_writers(glue(spark_aws), database, WriteOptions(**SLICE))


def test_six_writers_of_slices_that_share_a_file_all_succeed(catalogs: CatalogsResource) -> None:
    """The first commit is one file with rows of all slices, which each writer rewrites."""
    check_six_writers(catalogs.all_catalogs, "sales", WriteOptions(**SLICE, partition_by=("n",)))


SLICE: dict[str, Any] = {"write_mode": "overwrite_slice", "partition_expr": "country", "preview_rows": 0}


def check_six_writers(catalogs: Catalogs, database: str, options: WriteOptions) -> None:
    """Write six slices at once, and see that the table has them all, each of one commit."""
    table = TableName(catalogs.default.name, database, "sales")
    # The tables of a SQL catalog itself are made when it is first opened.
    open_catalog(catalogs, table.catalog)
    countries = COUNTRIES.get_partition_keys()
    ready = threading.Barrier(len(countries))

    def write(wanted: list[str], n: int) -> None:
        slice_ = slice_of(COUNTRIES, wanted, "country", "sales")
        request = WriteRequest(table, catalogs, options, CommitMarker(), slice_)
        frame = pa.table({"country": wanted, "n": [n] * len(wanted)})
        if len(wanted) == 1:
            ready.wait(60)
        write_rows(request, frame, FrameKind.TABLE)

    if options.partition_by:
        write(countries, 0)
    with ThreadPoolExecutor(len(countries)) as pool:
        list(pool.map(lambda country: write([country], 1), countries))
    found = open_catalog(catalogs, table.catalog).load_table((database, "sales"))
    assert sorted(map(tuple, (r.values() for r in found.scan().to_arrow().to_pylist()))) == [
        (country, 1) for country in countries
    ]
    assert len(found.snapshots()) == len(countries) + bool(options.partition_by)


def test_a_slice_that_another_writer_changed_meanwhile_is_not_replaced(
    catalogs: CatalogsResource, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, table = catalogs.all_catalogs, TableName("lake", "sales", "sales")
    options = WriteOptions(write_mode="overwrite_slice", partition_expr="country", preview_rows=0)

    def write(n: int) -> None:
        slice_ = slice_of(COUNTRIES, ["c1"], "country", "sales")
        request = WriteRequest(table, found, options, CommitMarker(), slice_)
        write_rows(request, pa.table({"country": ["c1"], "n": [n]}), FrameKind.TABLE)

    write(0)
    original = "lineage_bridge_dagster.spark.io.arrow.write._Write._commit"
    from lineage_bridge_dagster.spark.io.arrow.write import _Write

    commit = _Write._commit

    def interrupted(self: _Write, transaction: Any) -> None:
        monkeypatch.setattr(original, commit)
        write(1)
        commit(self, transaction)

    monkeypatch.setattr(original, interrupted)
    with pytest.raises(CommitConflictError, match="were changed meanwhile"):
        write(2)
    rows_now = open_catalog(found, "lake").load_table(("sales", "sales")).scan().to_arrow().to_pylist()
    assert rows_now == [{"country": "c1", "n": 1}]


def test_a_commit_that_was_not_reported_is_found_by_its_marker(
    catalogs: CatalogsResource, manager: IcebergIOManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyiceberg.table import Transaction

    landed = True
    commit = Transaction.commit_transaction

    def loses_the_answer(self: Transaction) -> Any:
        if landed:
            commit(self)
        raise ConnectionError("the connection was cut")

    monkeypatch.setattr(Transaction, "commit_transaction", loses_the_answer)
    request = WriteRequest(
        TableName("lake", "sales", "sales"),
        catalogs.all_catalogs,
        WriteOptions(write_mode="append", preview_rows=0),
        CommitMarker(),
    )
    written = write_rows(request, pa.table({"n": [1]}), FrameKind.TABLE)
    assert len(written.result.snapshots) == 1
    landed = False
    with pytest.raises(LineageBridgeError, match="did not report whether the commit"):
        write_rows(replace(request, marker=CommitMarker()), pa.table({"n": [2]}), FrameKind.TABLE)
    assert rows(manager, "sales") == [(1,)]
