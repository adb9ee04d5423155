"""Days as partitions: what each covers, and that the mark moves forward only, past nothing."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path

import pytest
from dagster import DagsterInstance, RunConfig, build_schedule_context

from lineage_bridge_dagster.collector.assets import extract as extract_module
from lineage_bridge_dagster.collector.assets.mark_asset import moves, range_of_day
from lineage_bridge_dagster.collector.marks import BEGINNING, MarkFile
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.specs.keys import tag_value
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.collector.assets.conftest import (
    DAYS,
    TODAY,
    YESTERDAY,
    MakeLocation,
    preview,
    value,
)


@pytest.mark.parametrize(
    ("mark", "now", "expected"),
    [
        pytest.param(None, "23 01:00", (BEGINNING, "23 00:00"), id="the first has everything"),
        pytest.param("22 00:00", "23 01:00", ("22 00:00", "23 00:00"), id="the next day"),
        pytest.param("19 00:00", "23 01:00", ("19 00:00", "23 00:00"), id="missed days"),
        pytest.param("22 09:00", "22 12:00", ("22 00:00", "22 12:00"), id="today again"),
        pytest.param("30 00:00", "30 12:00", ("22 00:00", "23 00:00"), id="an old day"),
    ],
)
def test_range_of_a_day(mark: str | None, now: str, expected: tuple[str, str]) -> None:
    day = datetime(2026, 11, 22, tzinfo=UTC), datetime(2026, 11, 23, tzinfo=UTC)
    published = _mark(mark) if mark else None
    found = range_of_day(published, *day, datetime.fromisoformat(f"{_mark(now)}+00:00"))
    assert found == tuple(map(_mark, expected))
    assert moves(published, *found) == (published is None or found[1] > published)


def _mark(day_and_time: str) -> str:
    return day_and_time if day_and_time == BEGINNING else f"2026-11-{day_and_time}:00"


def test_extract_of_yesterday_ends_at_midnight_and_moves_the_mark_there(
    location: MakeLocation, catalog: Catalog
) -> None:
    catalog.create("orders", "sales")
    with location() as loaded:
        loaded.run(YESTERDAY)
        assert loaded.mark() == f"{TODAY} 00:00:00"


def test_missed_days_are_in_the_next_extract(location: MakeLocation, catalog: Catalog) -> None:
    with location() as loaded:
        loaded.run(DAYS[5])
        # Its update time is in none of the days between.
        catalog.create("orders", "sales")
        loaded.run(TODAY)
        manifest = loaded.last("manifest")
        assert value(manifest, "collector/range_start") == f"{DAYS[4]} 00:00:00"
        assert value(loaded.last("us-east-1", "tables"), "dagster/row_count") == 1


def test_old_day_again_leaves_the_mark_and_what_stands_beside_it(
    location: MakeLocation, catalog: Catalog, tmp_path: Path
) -> None:
    for name in ("kept", "dropped"):
        catalog.create(name, "sales")
    with location() as loaded:
        loaded.run(TODAY)
        mark = loaded.mark()
        states = sorted((tmp_path / "files" / ".marks").iterdir())
        catalog.glue.delete_table(DatabaseName="sales", Name="dropped")
        loaded.run(DAYS[3])
        manifest = loaded.last("manifest")
        assert value(manifest, "collector/range_start") == f"{DAYS[3]} 00:00:00"
        assert value(manifest, "collector/range_end") == f"{DAYS[2]} 00:00:00"
        assert loaded.mark() == mark
        assert sorted((tmp_path / "files" / ".marks").iterdir()) == states
        # What was dropped since the mark is still reported by the extract that moves it.
        loaded.run(TODAY)
        assert [row["table"] for row in preview(loaded.last("us-east-1", "deletions"))] == ["dropped"]


def test_run_that_starts_after_the_mark_does_not_move_it(location: MakeLocation, catalog: Catalog) -> None:
    catalog.create("orders", "sales")
    with location() as loaded:
        loaded.run(DAYS[5])
        mark = loaded.mark()
        config = RunConfig(ops={"extract_acme": extract_module.ExtractConfig(start=f"{DAYS[2]} 00:00:00")})
        loaded.run(TODAY, run_config=config)
        assert loaded.mark() == mark


def test_crash_after_the_files_leaves_the_mark_so_that_the_next_run_repeats(
    location: MakeLocation, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.create("dropped", "sales")
    with location() as loaded:
        loaded.run()
        mark = loaded.mark()
        catalog.glue.delete_table(DatabaseName="sales", Name="dropped")
        with monkeypatch.context() as patched:
            patched.setattr(extract_module, "kind_metadata", lambda *_: 1 / 0)
            loaded.run(ok=False)
        assert loaded.mark() == mark
        loaded.run()
        assert value(loaded.last("manifest"), "collector/deletions") == 1
        assert loaded.mark() >= mark


def test_mark_in_dagster_without_its_state_counts_as_none(
    location: MakeLocation, catalog: Catalog, tmp_path: Path
) -> None:
    """What was not fully read before the mark is known from the state alone."""
    catalog.create("orders", "sales")
    with location() as loaded:
        loaded.run(YESTERDAY)
        for state in (tmp_path / "files" / ".marks").iterdir():
            state.unlink()
        loaded.run()
        assert value(loaded.last("manifest"), "collector/range_start") == BEGINNING
        assert value(loaded.last("us-east-1", "tables"), "dagster/row_count") == 1


@pytest.fixture(params=["folder", "s3"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, aws: StrictAws, monkeypatch: pytest.MonkeyPatch
) -> str:
    if request.param == "s3":
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", aws.endpoint_url)
        aws.client("s3").create_bucket(Bucket="marks")
    return str(tmp_path / "marks") if request.param == "folder" else "s3://marks/collector"


def test_mark_in_a_folder_or_in_s3_is_shown_as_well(
    location: MakeLocation, catalog: Catalog, place: str, aws: StrictAws
) -> None:
    catalog.create("orders", "sales")
    with location({"hwm_path": place, "name": "glue"}) as loaded:
        loaded.run(YESTERDAY)
        assert loaded.mark() == f"{TODAY} 00:00:00"
        if place.startswith("s3"):
            stored = aws.client("s3").get_object(Bucket="marks", Key="collector/glue_hwm.txt")["Body"].read()
            assert stored.decode().strip() == loaded.mark()
        else:
            assert MarkFile("glue", place).read() == loaded.mark()


@pytest.mark.parametrize(
    ("cron", "at", "day"),
    [
        ("15 0 * * *", f"{TODAY}T00:15:00+00:00", YESTERDAY),
        ("0 * * * *", f"{TODAY}T10:00:00+00:00", TODAY),
        ("0 * * * *", f"{TODAY}T00:00:00+00:00", YESTERDAY),
        ("0 3 * * *", f"{DAYS[9]}T03:00:00+00:00", DAYS[9]),
    ],
)
def test_tick_extracts_the_day_on_which_the_time_since_the_last_one_began(
    location: MakeLocation, instance: DagsterInstance, cron: str, at: str, day: str
) -> None:
    with location({"cron": cron}) as loaded:
        schedule = loaded.definitions.resolve_schedule_def("collect_acme_schedule")
        context = build_schedule_context(
            instance,
            scheduled_execution_time=datetime.fromisoformat(at),
            repository_def=loaded.definitions.get_repository_def(),
        )
        requests = schedule.evaluate_tick(context).run_requests
        assert [request.partition_key for request in requests or []] == [day]
        assert schedule.default_status.value == "STOPPED"


def test_two_servers_in_one_location_have_assets_marks_and_jobs_of_their_own(
    location: MakeLocation, catalog: Catalog, tmp_path: Path
) -> None:
    catalog.create("orders", "sales")
    with location({}, {"server": "Acme EU/1", "running": True}) as loaded:
        jobs = {job.name for job in loaded.definitions.get_repository_def().get_all_jobs()}
        (other,) = jobs - {"collect_acme", "__ASSET_JOB"}
        loaded.run(YESTERDAY)
        loaded.run(job=other)
        assert loaded.mark() == f"{TODAY} 00:00:00"
        server = tag_value("Acme EU/1")
        assert loaded.mark(server) > f"{TODAY} 00:00:00"
        assert value(loaded.last("us-east-1", "tables", server=server), "dagster/row_count") == 1
        with next(tmp_path.rglob(f"{server}_tables_*.csv")).open(newline="") as file:
            assert [row["server"] for row in csv.DictReader(file)] == ["Acme EU/1"]
        schedule = loaded.definitions.resolve_schedule_def(f"{other}_schedule")
        assert schedule.default_status.value == "RUNNING"
