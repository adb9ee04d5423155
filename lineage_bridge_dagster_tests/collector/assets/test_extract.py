"""An extract as assets: one run reads Glue once, and each asset has the rows of its kind and region."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from dagster import AssetCheckSeverity, AssetKey

from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster_tests.assets.world import world
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.collector.assets.conftest import SERVER, TODAY, MakeLocation, preview, value
from lineage_bridge_dagster_tests.collector.views import athena_view

TWO = {"regions": ["us-east-1", "eu-west-1"]}
KINDS = {
    *("databases", "tables", "columns", "views", "view_reads", "resource_links"),
    *("identifiers", "deletions", "coverage"),
}


def test_each_kind_and_region_is_an_asset_in_the_group_of_its_server_with_a_partition_a_day(
    location: MakeLocation,
) -> None:
    with location(TWO) as loaded:
        graph = loaded.definitions.resolve_asset_graph()
        keys = {key.to_user_string() for key in graph.get_all_asset_keys()}
        expected = {f"collector/acme/{region}/{kind}" for region in TWO["regions"] for kind in KINDS}
        assert keys == expected | {"collector/acme/manifest", "collector/acme/high_water_mark"}
        node = graph.get(AssetKey(["collector", SERVER, "eu-west-1", "tables"]))
        assert node.group_name == "collector/acme/eu_west_1"
        assert TODAY in node.partitions_def.get_partition_keys()
        schema = node.metadata["dagster/column_schema"].value
        columns = {column.name: column for column in schema.columns}
        assert columns["column_count"].type == "integer"
        assert "Masked as owners" in columns["owner"].description


def test_one_run_makes_one_extract_whose_files_counts_and_assets_tell_one_story(
    location: MakeLocation, catalog: Catalog, aws: StrictAws, tmp_path: Path
) -> None:
    for name in ("orders", "people"):
        catalog.create(name, "sales")
    catalog.create("v", "sales", **athena_view('SELECT * FROM "orders"'))
    Catalog(aws, "eu-west-1").create("orders", "shop")
    with location(TWO) as loaded:
        loaded.run()
        assert {call: aws.calls[call] for call in ("GetDatabases", "GetTables")} == {
            "GetDatabases": 2,
            "GetTables": 2,
        }
        manifest = loaded.last("manifest")
        content = json.loads(next((tmp_path / "files").glob("acme_manifest_*.json")).read_text())
        assert value(manifest, "collector/manifest") == content
        by_kind = {each["kind"]: each for each in content["files"]}
        for kind in KINDS:
            counts = {
                region: value(loaded.last(region, kind), "dagster/row_count") for region in TWO["regions"]
            }
            with (tmp_path / "files" / by_kind[kind]["file"]).open(newline="") as file:
                regions = [row["region"] for row in csv.DictReader(file)]
            assert counts == {region: regions.count(region) for region in TWO["regions"]}
            assert sum(counts.values()) == by_kind[kind]["rows"]
        assert value(loaded.last("us-east-1", "tables"), "dagster/row_count") == 3
        assert value(loaded.last("eu-west-1", "views"), "dagster/row_count") == 0
        tables = loaded.last("us-east-1", "tables")
        assert value(tables, "collector/sha256") == by_kind["tables"]["sha256"]
        shown = preview(tables)
        assert {row["table"] for row in shown} == {"orders", "people", "v"}
        assert "region" not in shown[0]


def test_deletions_and_the_marks_before_and_after_are_in_the_manifests_metadata(
    location: MakeLocation, catalog: Catalog
) -> None:
    for name in ("kept", "dropped"):
        catalog.create(name, "sales")
    with location() as loaded:
        loaded.run()
        first = loaded.last("manifest")
        assert value(first, "collector/mark_before") == "none"
        assert loaded.mark() == value(first, "collector/mark_after")
        catalog.glue.delete_table(DatabaseName="sales", Name="dropped")
        loaded.run()
        second = loaded.last("manifest")
        assert value(second, "collector/mark_before") == value(first, "collector/mark_after")
        assert value(second, "collector/deletions") == 1
        assert value(loaded.last("us-east-1", "deletions"), "dagster/row_count") == 1
        assert value(second, "collector/coverage") == "complete"


def test_region_that_is_denied_fails_the_check_with_the_call_and_what_to_grant(
    location: MakeLocation, catalog: Catalog, aws: StrictAws
) -> None:
    catalog.create("orders", "sales")
    Catalog(aws, "eu-west-1").create("orders", "shop")
    with location(TWO) as loaded:
        loaded.run()
        mark = loaded.mark()
        aws.fail("GetDatabases", "AccessDeniedException", times=1)
        result = loaded.run()
        (check,) = result.get_asset_check_evaluations()
        assert (check.check_name, check.passed) == ("regions_answered", False)
        assert check.severity is AssetCheckSeverity.ERROR
        assert check.description
        assert "glue:GetDatabases" in check.description
        failed = check.metadata["regions"].value
        assert failed in TWO["regions"]
        assert failed in check.description
        assert {row["seen"] for row in preview(loaded.last(failed, "identifiers"))} == {"carried"}
        assert "not fully read" in value(loaded.last(failed, "tables"), "collector/coverage")
        # What was not read is behind the mark by itself.
        assert loaded.mark() >= mark


def test_extract_without_any_region_fails_with_its_check_and_leaves_the_mark(
    location: MakeLocation, catalog: Catalog, aws: StrictAws
) -> None:
    catalog.create("orders", "sales")
    with location() as loaded:
        loaded.run()
        mark = loaded.mark()
        aws.fail("GetDatabases", "AccessDeniedException", times=None)
        result = loaded.run(ok=False)
        (check,) = result.get_asset_check_evaluations()
        assert not check.passed
        assert "us-east-1" in str(check.description)
        assert "glue:GetDatabases" in str(check.description)
        assert loaded.mark() == mark


def test_database_that_is_denied_fails_the_check_and_is_named(
    location: MakeLocation, catalog: Catalog, aws: StrictAws
) -> None:
    catalog.create("people", "private")
    catalog.create("orders", "sales")
    aws.fail("GetTables", "AccessDeniedException", times=None, matching="private")
    with location() as loaded:
        (check,) = loaded.run().get_asset_check_evaluations()
        assert not check.passed
        assert "us-east-1/private" in str(check.description)
        assert "glue:GetTables" in str(check.description)


def test_lineage_of_the_last_discovery_is_extracted_once_there_is_one(
    location: MakeLocation, catalog: Catalog, tmp_path: Path
) -> None:
    catalog.create("orders", "sales")
    with location({"lineage": "LineageBridgeComponent"}) as loaded:
        loaded.run()
        key = AssetKey(["collector", SERVER, "lineage"])
        assert loaded.instance.get_latest_materialization_event(key) is None
        StateStore.of(loaded.instance, "LineageBridgeComponent").store(world().discovery())
        loaded.run()
        count = value(loaded.last("lineage"), "dagster/row_count")
        with next((tmp_path / "files").glob("acme_lineage_*.csv")).open(newline="") as file:
            assert count == len(list(csv.DictReader(file))) > 0


@pytest.mark.parametrize("denied", [False, True])
def test_nothing_that_is_masked_is_in_any_event_log_or_file(
    location: MakeLocation,
    catalog: Catalog,
    aws: StrictAws,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    denied: bool,
) -> None:
    secret = "Geheimnis"
    storage = {
        "Location": f"s3://{secret}-bucket/orders",
        "Columns": [{"Name": "id", "Type": "bigint", "Comment": secret, "Parameters": {"k": secret}}],
        "SerdeInfo": {"SerializationLibrary": "serde", "Parameters": {"p": secret}},
    }
    fields = {"Owner": secret, "Description": secret, "StorageDescriptor": storage}
    catalog.create("orders", "sales", parameters={"x": secret}, **fields)
    view = athena_view(f"VALUES '{secret}'")
    catalog.create("v", "sales", **{**view, "StorageDescriptor": storage})
    account = catalog.table("orders", "sales")["CatalogId"]
    if denied:
        arn = f"arn:aws:iam::{account}:user/collector"
        aws.fail("GetDatabases", "AccessDeniedException", times=None, message=f"User {arn} is not authorized")
    with location({"mask": True, "preview_rows": 20}) as loaded:
        result = loaded.run(ok=not denied)
        events = [str(event) for event in loaded.instance.all_logs(result.run_id)]
        found = "\n".join([*events, caplog.text, *capfd.readouterr()])
        found += "".join(path.read_text() for path in (tmp_path / "files").glob("*.csv"))
        assert secret not in found
        assert account not in found
        assert ("masked_" in found) is True
