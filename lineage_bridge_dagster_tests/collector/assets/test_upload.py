"""The landing of an extract: after it, or after a person approved exactly those files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dagster import AssetCheckKey, AssetKey, RunConfig

from lineage_bridge_dagster.collector.assets import upload as upload_module
from lineage_bridge_dagster.collector.assets.upload import ApprovalConfig
from lineage_bridge_dagster_tests.assets.location import failure_of
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.collector.assets.conftest import (
    DAYS,
    SERVER,
    TODAY,
    Location,
    MakeLocation,
    value,
)

APPROVE = "approve_acme"


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    return tmp_path / "landing"


@pytest.fixture
def lands(landing: Path) -> dict[str, Any]:
    return {"landing": {"url": str(landing)}}


@pytest.fixture
def approves(lands: dict[str, Any]) -> dict[str, Any]:
    return {**lands, "require_approval": True}


@pytest.fixture
def extracted(location: MakeLocation, catalog: Catalog, approves: dict[str, Any]) -> Iterator[Location]:
    """A collector whose extract waits for an approval."""
    catalog.create("orders", "sales")
    with location(approves) as loaded:
        loaded.run()
        yield loaded


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file()} if folder.exists() else set()


def approval(**fields: str) -> RunConfig:
    return RunConfig(ops={"collector__acme__approval": ApprovalConfig(**fields)})


def check(loaded: Location) -> str:
    """The status of the check `approved`, as the UI shows it."""
    key = AssetCheckKey(AssetKey(["collector", SERVER, "manifest"]), "approved")
    record = loaded.instance.event_log_storage.get_latest_asset_check_execution_by_key([key])[key]
    return "passed" if record.event.dagster_event.event_specific_data.passed else "waits"


def test_files_land_in_the_run_of_the_extract_and_the_mark_moves_after_them(
    location: MakeLocation, catalog: Catalog, lands: dict[str, Any], landing: Path, tmp_path: Path
) -> None:
    catalog.create("orders", "sales")
    with location(lands) as loaded:
        loaded.run()
        assert names(landing) == names(tmp_path / "files")
        landed = loaded.last("landing")
        manifest = next(landing.glob("acme_manifest_*.json"))
        assert value(landed, "collector/manifest_sha256") == hashlib.sha256(manifest.read_bytes()).hexdigest()
        assert value(landed, "collector/mark_after") == loaded.mark()


def test_upload_that_fails_or_crashes_before_the_mark_leaves_it_and_the_next_run_repeats(
    location: MakeLocation,
    catalog: Catalog,
    lands: dict[str, Any],
    landing: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalog.create("dropped", "sales")
    with location(lands) as loaded:
        loaded.run()
        mark, before = loaded.mark(), names(landing)
        catalog.glue.delete_table(DatabaseName="sales", Name="dropped")
        away = landing.rename(landing.with_name("away"))
        landing.write_text("a file in place of the folder")
        loaded.run(ok=False)
        assert loaded.mark() == mark
        landing.unlink()
        away.rename(landing)
        with monkeypatch.context() as patched:
            patched.setattr(upload_module, "move_mark", lambda *_: 1 / 0)
            loaded.run(ok=False)
        assert loaded.mark() == mark
        loaded.run()
        assert value(loaded.last("manifest"), "collector/deletions") == 1
        assert len(names(landing)) > len(before)


def test_extract_waits_for_an_approval_of_its_manifest(
    extracted: Location, landing: Path, tmp_path: Path
) -> None:
    assert (names(landing), extracted.mark(), check(extracted)) == (set(), None, "waits")
    extracted.run(job=APPROVE, run_config=approval(approved_by="Ada", note="looked at all of it"))
    assert names(landing) == names(tmp_path / "files")
    assert check(extracted) == "passed"
    manifest = extracted.last("manifest")
    approved = extracted.last("approval")
    assert value(approved, "collector/manifest_sha256") == value(manifest, "collector/manifest_sha256")
    assert value(approved, "collector/approved_by") == "Ada"
    assert value(extracted.last("landing"), "collector/approved_by") == "Ada"
    assert extracted.mark() == value(manifest, "collector/range_end")


def upload_alone(loaded: Location, *, ok: bool) -> Any:
    return loaded.run(job="__ASSET_JOB", ok=ok, asset_selection=[AssetKey(["collector", SERVER, "landing"])])


def test_upload_without_an_approval_is_refused(extracted: Location, landing: Path) -> None:
    assert "Nobody has approved" in failure_of(upload_alone(extracted, ok=False))
    assert (names(landing), extracted.mark()) == (set(), None)


def test_upload_is_refused_when_the_day_was_extracted_again_since_its_approval(
    extracted: Location, landing: Path
) -> None:
    extracted.run(job=APPROVE)
    before, mark = names(landing), extracted.mark()
    extracted.run()
    assert check(extracted) == "waits"
    assert "is for an earlier extract" in failure_of(upload_alone(extracted, ok=False))
    assert (names(landing), extracted.mark()) == (before, mark)


def test_approval_is_refused_for_files_that_were_changed_or_are_not_those_that_were_looked_at(
    extracted: Location, landing: Path, tmp_path: Path
) -> None:
    other = extracted.run(job=APPROVE, ok=False, run_config=approval(manifest_sha256="0" * 64))
    assert "not the one that was looked at" in failure_of(other)
    tables = next((tmp_path / "files").glob("acme_tables_*.csv"))
    tables.write_text(tables.read_text() + "more\r\n")
    assert "is not what the extract wrote" in failure_of(extracted.run(job=APPROVE, ok=False))
    assert names(landing) == set()


def test_file_that_was_changed_after_its_approval_is_not_uploaded(
    extracted: Location, landing: Path, tmp_path: Path
) -> None:
    key = AssetKey(["collector", SERVER, "approval"])
    extracted.run(job="__ASSET_JOB", asset_selection=[key])
    manifest = next((tmp_path / "files").glob("acme_manifest_*.json"))
    manifest.write_text(manifest.read_text() + " ")
    assert "its SHA-256 differs" in failure_of(upload_alone(extracted, ok=False))
    assert (names(landing), extracted.mark()) == (set(), None)


def test_run_that_extracts_does_not_approve_its_own_files(
    location: MakeLocation, catalog: Catalog, approves: dict[str, Any], landing: Path
) -> None:
    """As with "Materialize all" in the UI."""
    catalog.create("orders", "sales")
    with location(approves) as loaded:
        assert "Nobody has looked at the files" in failure_of(loaded.run(job="__ASSET_JOB", ok=False))
        assert names(landing) == set()


@pytest.mark.parametrize("tag", ["dagster/schedule_name", "dagster/sensor_name"])
def test_only_a_person_approves(extracted: Location, tag: str) -> None:
    assert "only a person approves" in failure_of(extracted.run(job=APPROVE, ok=False, tags={tag: "nightly"}))


def test_older_day_that_is_approved_later_does_not_move_the_mark_back(
    location: MakeLocation, catalog: Catalog, approves: dict[str, Any]
) -> None:
    catalog.create("orders", "sales")
    with location(approves) as loaded:
        loaded.run(DAYS[2])
        loaded.run(TODAY)
        loaded.run(TODAY, job=APPROVE)
        mark = loaded.mark()
        loaded.run(DAYS[2], job=APPROVE)
        assert loaded.mark() == mark
        assert value(loaded.last("landing"), "collector/mark_after") == mark


def test_day_without_an_extract_says_which_job_to_run(
    location: MakeLocation, approves: dict[str, Any]
) -> None:
    with location(approves) as loaded:
        assert "Run the job collect_acme" in failure_of(loaded.run(job=APPROVE, ok=False))
