"""Extracts of a strict Glue: what is in them, what a second one has, and what failures leave."""

from __future__ import annotations

import gzip
import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lineage_bridge_dagster.collector import Extract, get_hwm, publish_hwm
from lineage_bridge_dagster.collector.marks import FORMAT
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.collector.conftest import MakeExtractor, names, rows
from lineage_bridge_dagster_tests.collector.views import athena_view

LONG_AGO = 3600


def publish(extractor_of: MakeExtractor, extract: Extract) -> None:
    extractor_of().marks.publish(extract.end)


def later(seconds: int = LONG_AGO) -> str:
    """A mark after everything that happened so far, overlap included."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime(FORMAT)


def test_first_extract_has_every_table_with_its_columns_views_and_identifiers(
    extractor: MakeExtractor, catalog: Catalog
) -> None:
    catalog.create("orders.v1", "sales", Description='He said "hi",\r\nthen left', Owner="alice")
    catalog.create("recent", "sales", **athena_view('SELECT * FROM "orders.v1"'))
    extract = extractor().run()
    assert names(extract, "tables") == {"sales.orders.v1", "sales.recent"}
    assert names(extract, "identifiers") == {"sales", "sales.orders.v1", "sales.recent"}
    orders = next(row for row in rows(extract, "tables") if row["table"] == "orders.v1")
    assert orders["description"] == 'He said "hi",\r\nthen left'
    assert (orders["owner"], orders["format"], orders["object_type"]) == ("alice", "iceberg", "table")
    assert [row["source_table"] for row in rows(extract, "view_reads")] == ["orders.v1"]
    assert {row["column"] for row in rows(extract, "columns")} == {"id"}
    assert {row["status"] for row in rows(extract, "coverage")} == {"complete"}
    assert extract.calls == {"GetDatabases": 1, "GetTables": 1}


def test_columns_that_iceberg_dropped_are_left_out(extractor: MakeExtractor, catalog: Catalog) -> None:
    columns = [
        {"Name": "id", "Type": "bigint", "Parameters": {"iceberg.field.current": "true"}},
        {"Name": "gone", "Type": "string", "Parameters": {"iceberg.field.current": "false"}},
    ]
    catalog.create("orders", "sales", StorageDescriptor={"Columns": columns})
    extract = extractor().run()
    assert [row["column"] for row in rows(extract, "columns")] == ["id"]
    assert [row["column_count"] for row in rows(extract, "tables")] == ["1"]


def test_manifest_has_the_count_and_digest_of_each_file_and_the_marks(
    extractor: MakeExtractor, catalog: Catalog
) -> None:
    catalog.create("orders", "sales")
    extract = extractor(compress=True).run()
    manifest = json.loads(extract.manifest.read_text())
    assert {each["file"]: each["sha256"] for each in manifest["files"]} == {
        each.path.name: each.sha256 for each in extract.files
    }
    assert manifest["high_water_mark"] == {"start": extract.start, "end": extract.end}
    assert rows(extract, "tables")[0]["table"] == "orders"
    assert all(each.path.name.endswith(".csv.gz") for each in extract.files)


def test_second_extract_has_what_changed_and_names_what_was_dropped(
    extractor: MakeExtractor, catalog: Catalog
) -> None:
    for name in ("kept", "changed", "dropped"):
        catalog.create(name, "sales")
    catalog.create("all_of_it", "closed")
    first = extractor(overlap_seconds=0).run(end_hwm=later())
    publish(extractor, first)
    catalog.glue.delete_table(DatabaseName="sales", Name="dropped")
    catalog.glue.delete_table(DatabaseName="closed", Name="all_of_it")
    catalog.glue.delete_database(Name="closed")
    # As in an hour's time, everything so far is older than the mark.
    second = extractor(overlap_seconds=0).run(end_hwm=later(2 * LONG_AGO))
    assert names(second, "tables") == set()
    assert names(second, "deletions") == {"sales.dropped", "closed", "closed.all_of_it"}
    assert names(second, "identifiers") == {"sales", "sales.kept", "sales.changed"}
    assert second.calls == first.calls | {"GetTables": 1}


def test_changes_within_the_overlap_are_repeated(extractor: MakeExtractor, catalog: Catalog) -> None:
    catalog.create("orders", "sales")
    first = extractor().run()
    publish(extractor, first)
    assert names(extractor().run(), "tables") == {"sales.orders"}
    assert names(extractor(overlap_seconds=0).run(start_hwm=later(), end_hwm=later()), "tables") == set()


def test_database_that_could_not_be_listed_is_carried_and_its_changes_come_later(
    extractor: MakeExtractor, catalog: Catalog, aws: StrictAws
) -> None:
    catalog.create("orders", "sales")
    catalog.create("people", "private")
    first = extractor(overlap_seconds=0).run(end_hwm=later())
    publish(extractor, first)
    catalog.glue.delete_table(DatabaseName="sales", Name="orders")
    aws.fail("GetTables", "AccessDeniedException", times=None, matching="private")
    second = extractor(overlap_seconds=0).run(end_hwm=later(2 * LONG_AGO))
    assert names(second, "deletions") == {"sales.orders"}
    carried = {row["table"] for row in rows(second, "identifiers") if row["seen"] == "carried"}
    assert carried == {"people"}
    assert [(scope.name, scope.status) for scope in second.incomplete] == [("us-east-1/private", "denied")]
    publish(extractor, second)
    aws.clear_faults()
    catalog.glue.delete_table(DatabaseName="private", Name="people")
    third = extractor(overlap_seconds=0).run(end_hwm=later(3 * LONG_AGO))
    assert names(third, "deletions") == {"private.people"}
    # The second extract did not see it.
    assert rows(third, "deletions")[0]["last_seen"] == first.end.replace(" ", "T") + ".000Z"
    since = {row["database"]: row["since"] for row in rows(third, "coverage")}
    assert since["private"] < since["sales"]


def test_region_that_could_not_be_read_leaves_the_others_and_deletes_nothing(
    extractor: MakeExtractor, aws: StrictAws, catalog: Catalog
) -> None:
    regions = {"regions": ["us-east-1", "eu-west-1"]}
    catalog.create("orders", "sales")
    Catalog(aws, "eu-west-1").create("orders", "sales")
    publish(extractor, extractor(**regions).run())
    aws.fail("GetDatabases", "AccessDeniedException", times=1)
    extract = extractor(**regions).run()
    (denied,) = extract.incomplete
    assert (denied.name in regions["regions"], denied.status) == (True, "denied")
    assert "glue:GetDatabases" in denied.reason
    seen = {(row["region"], row["seen"]) for row in rows(extract, "identifiers")}
    other = next(region for region in regions["regions"] if region != denied.name)
    assert seen == {(denied.name, "carried"), (other, "read")}
    assert rows(extract, "deletions") == []


def test_extract_without_any_region_is_an_error_and_leaves_no_files(
    extractor: MakeExtractor, aws: StrictAws, tmp_path: Path
) -> None:
    aws.fail("GetDatabases", "AccessDeniedException", times=None)
    with pytest.raises(LineageBridgeError, match="GetDatabases"):
        extractor().run()
    assert not list(tmp_path.rglob("*.csv"))
    assert extractor().marks.read() is None


def test_extract_of_other_regions_keeps_the_mark_of_those_that_it_leaves_out(
    extractor: MakeExtractor, aws: StrictAws, catalog: Catalog
) -> None:
    catalog.create("orders", "sales")
    Catalog(aws, "eu-west-1").create("orders", "sales")
    first = extractor(regions=["us-east-1", "eu-west-1"]).run(end_hwm=later(1))
    publish(extractor, first)
    publish(extractor, extractor(regions=["us-east-1"]).run(end_hwm=later()))
    third = extractor(regions=["us-east-1", "eu-west-1"], overlap_seconds=0).run(end_hwm=later(2 * LONG_AGO))
    since = {row["region"]: row["since"] for row in rows(third, "coverage") if not row["database"]}
    assert since["eu-west-1"] < since["us-east-1"]
    assert rows(third, "deletions") == []


def test_crash_before_the_mark_moves_repeats_and_leaves_no_partial_file(
    extractor: MakeExtractor, catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.create("orders", "sales")
    first = extractor(overlap_seconds=0).run()
    publish(extractor, first)
    catalog.glue.delete_table(DatabaseName="sales", Name="orders")
    before = sorted((tmp_path / "files").iterdir())

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("lineage_bridge_dagster.collector.files.ExtractFiles.finish", crash)
        with pytest.raises(KeyboardInterrupt):
            extractor(overlap_seconds=0).run()
    assert sorted((tmp_path / "files").iterdir()) == before
    assert extractor().marks.read() == first.end
    assert names(extractor(overlap_seconds=0).run(), "deletions") == {"sales.orders"}


@pytest.mark.parametrize("format_", ["csv", "jsonl", "parquet"])
def test_nothing_that_is_masked_is_in_any_file_log_or_mark(
    extractor: MakeExtractor,
    aws: StrictAws,
    catalog: Catalog,
    tmp_path: Path,
    format_: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    secret = "Geheimnis"
    storage = {
        "Location": f"s3://{secret}-bucket/orders",
        "Columns": [{"Name": "id", "Type": "bigint", "Comment": secret, "Parameters": {"k": secret}}],
        "SerdeInfo": {"SerializationLibrary": "serde", "Parameters": {"p": secret}},
    }
    catalog.create(
        "orders",
        "sales",
        Owner=secret,
        Description=secret,
        StorageDescriptor=storage,
        parameters={"x": secret},
    )
    view = athena_view(f"VALUES '{secret}' -- {secret}")
    catalog.create("v", "sales", **{**view, "StorageDescriptor": storage})
    lines: list[str] = []
    made = extractor(mask=True, mask_key="key", format=format_, catalogId="123456789012")
    made._progress = lines.append
    extract = made.run()
    publish(extractor, extract)
    texts = [
        gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    ]
    if format_ == "parquet":
        from pyarrow import parquet

        tables = [parquet.read_table(each.path) for each in extract.files]
        texts += [str(table.to_pylist()).encode() for table in tables]
        assert sum(table.num_rows for table in tables) == sum(extract.rows.values())
    found = b"\n".join([*texts, "\n".join(lines).encode(), caplog.text.encode()])
    assert secret.encode() not in found
    assert aws.account_id.encode() not in found
    assert b"123456789012" not in found
    assert b"masked_" in found


def test_region_that_is_added_later_comes_whole(
    extractor: MakeExtractor, aws: StrictAws, catalog: Catalog
) -> None:
    catalog.create("orders", "sales")
    Catalog(aws, "eu-west-1").create("people", "hr")
    publish(extractor, extractor().run(end_hwm=later()))
    added = extractor(regions=["us-east-1", "eu-west-1"]).run(end_hwm=later(2 * LONG_AGO))
    assert names(added, "tables") == {"hr.people"}


def test_table_that_becomes_visible_comes_although_it_did_not_change(
    extractor: MakeExtractor, catalog: Catalog
) -> None:
    catalog.create("orders", "sales")
    publish(extractor, extractor().run(end_hwm=later()))
    # Lake Formation lists a table once someone grants a permission on it; its times are those of long ago.
    catalog.create("granted", "sales")
    second = extractor(overlap_seconds=0).run(end_hwm=later(2 * LONG_AGO))
    assert names(second, "tables") == {"sales.granted"}


def test_table_whose_time_of_change_moved_comes_although_it_is_before_the_mark(
    extractor: MakeExtractor, catalog: Catalog
) -> None:
    catalog.create("orders", "sales")
    catalog.create("kept", "sales")
    # The clock of this machine is ahead of Glue's by more than the overlap.
    publish(extractor, extractor().run(end_hwm=later()))
    # Glue's times are whole seconds.
    time.sleep(1)
    catalog.edit("orders", "sales", Description="changed")
    second = extractor(overlap_seconds=0).run(end_hwm=later(2 * LONG_AGO))
    assert names(second, "tables") == {"sales.orders"}


def test_script_that_names_its_mark_and_not_the_extractor_sees_what_was_dropped(
    extractor: MakeExtractor, catalog: Catalog, tmp_path: Path
) -> None:
    def script(until: int) -> Extract:
        """As KADA documents it, run with `-n acme`."""
        start, _ = get_hwm("acme", tmp_path / "mark")
        end = later(until)
        extract = extractor(overlap_seconds=0).run(start_hwm=start, end_hwm=end)
        publish_hwm("acme", end, tmp_path / "mark")
        return extract

    catalog.create("kept", "sales")
    catalog.create("dropped", "sales")
    assert names(script(LONG_AGO), "tables") == {"sales.kept", "sales.dropped"}
    catalog.glue.delete_table(DatabaseName="sales", Name="dropped")
    second = script(2 * LONG_AGO)
    assert (names(second, "tables"), names(second, "deletions")) == (set(), {"sales.dropped"})
    third = script(3 * LONG_AGO)
    assert (names(third, "tables"), names(third, "deletions")) == (set(), set())
    # What stands beside marks that nobody needs is removed: that of the last two is left.
    assert len(list((tmp_path / "mark").glob("*.state.gz"))) == 2
