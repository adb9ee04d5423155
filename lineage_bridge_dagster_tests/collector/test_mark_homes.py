"""What each home of a mark does: it moves forward only, and what an extract saw comes back with its mark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lineage_bridge_dagster.collector.mark_homes import S3Marks, get_hwm, marks_of
from lineage_bridge_dagster.collector.marks import Identifier, MarkFile, Marks, MarkState
from lineage_bridge_dagster.collector.settings import CollectorSettings
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.collector.conftest import MakeExtractor, names

EARLIER, LATER, LATEST = "2026-11-22 10:00:00", "2026-11-22 11:00:00", "2026-11-22 12:00:00"
KMS_KEY = "arn:aws:kms:us-east-1:123456789012:key/k"
Home = Callable[[str], Marks]


@pytest.fixture
def bucket(aws: StrictAws) -> StrictAws:
    aws.client("s3").create_bucket(Bucket="marks")
    return aws


def in_s3(aws: StrictAws, prefix: str = "glue", url: str = "s3://marks/collector") -> Marks:
    landing = {"url": "s3://landing", "region": "us-east-1", "endpoint_url": aws.endpoint_url}
    return marks_of(
        prefix,
        url,
        CollectorSettings.of({"regions": ["us-east-1"], "landing": {**landing, "kms_key": KMS_KEY}}),
    )


@pytest.fixture(params=["folder", "s3"])
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    if request.param == "folder":
        return lambda prefix: MarkFile(prefix, tmp_path)
    aws = request.getfixturevalue("bucket")
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_LANDING_KEY", ACCESS_KEY)
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_LANDING_SECRET", SECRET_KEY)
    return lambda prefix: in_s3(aws, prefix)


def state(table: str) -> MarkState:
    return MarkState({"us-east-1/sales": EARLIER}, (Identifier("us-east-1", "sales", table),))


def test_mark_moves_forward_only(home: Home) -> None:
    marks = home("glue")
    assert marks.read() is None
    assert marks.publish(LATER) == LATER
    assert marks.publish(EARLIER) == LATER
    assert home("glue").read() == LATER


def test_state_comes_back_with_its_mark_and_older_ones_go(home: Home) -> None:
    marks = home("glue")
    for mark, table in ((EARLIER, "first"), (LATER, "zweites: ü\n"), (LATEST, "never published")):
        marks.keep(mark, state(table))
    marks.publish(LATER)
    assert marks.state(LATER) == state("zweites: ü\n")
    assert marks.state(EARLIER) is None
    assert marks.state(LATEST) == state("never published")


def test_marks_of_other_names_stay_beside_it(home: Home) -> None:
    home("glue").keep(EARLIER, state("ours"))
    home("glue_2").keep(EARLIER, state("theirs"))
    home("glue").publish(LATER)
    assert home("glue_2").read() is None
    assert home("glue_2").state(EARLIER) == state("theirs")


def test_mark_of_a_collector_that_was_faster_is_not_moved_backwards(
    bucket: StrictAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_LANDING_KEY", ACCESS_KEY)
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_LANDING_SECRET", SECRET_KEY)
    for first in (None, EARLIER):
        marks = in_s3(bucket, f"glue_{first is None}")
        assert isinstance(marks, S3Marks)
        if first:
            marks.publish(first)
        other, read = in_s3(bucket, marks.prefix), marks._read

        def read_before_the_other(other: Marks = other, read: Callable[[], tuple[str | None, str]] = read):
            found = read()
            other.publish(LATEST)
            return found

        monkeypatch.setattr(marks, "_read", read_before_the_other)
        assert marks.publish(LATER) == LATEST
        assert other.read() == LATEST


def test_objects_are_encrypted_with_the_key_of_the_landing_place(
    bucket: StrictAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_LANDING_KEY", ACCESS_KEY)
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_LANDING_SECRET", SECRET_KEY)
    marks = in_s3(bucket)
    marks.keep(LATER, state("orders"))
    marks.publish(LATER)
    s3 = bucket.client("s3")
    keys = [each["Key"] for each in s3.list_objects_v2(Bucket="marks")["Contents"]]
    assert keys == ["collector/glue_20261122110000.state.gz", "collector/glue_hwm.txt"]
    for key in keys:
        assert s3.head_object(Bucket="marks", Key=key)["SSEKMSKeyId"] == KMS_KEY
    assert marks.location == "s3://marks/collector/glue_hwm.txt"


def test_bucket_that_is_not_there_is_named_with_what_to_do(
    aws: StrictAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_LANDING_KEY", ACCESS_KEY)
    monkeypatch.setenv("LINEAGE_BRIDGE_COLLECTOR_LANDING_SECRET", SECRET_KEY)
    with pytest.raises(ConfigurationError, match=r"s3://elsewhere/glue_hwm\.txt") as caught:
        in_s3(aws, url="s3://elsewhere").read()
    assert "create it" in caught.value.hint


@pytest.mark.parametrize("place", ["https://host/x", "ftp://host", "s3:///x"])
def test_other_places_are_an_error(place: str) -> None:
    with pytest.raises(ConfigurationError):
        get_hwm("glue", place)


def test_extracts_go_on_from_a_mark_in_s3(
    bucket: StrictAws, extractor: MakeExtractor, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a landing place in S3, the keys that read Glue reach the mark."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", bucket.endpoint_url)
    for name in ("kept", "dropped"):
        catalog.create(name, "sales")
    first = extractor(mark_path="s3://marks").run()
    assert extractor(mark_path="s3://marks").marks.publish(first.end) == first.end
    catalog.glue.delete_table(DatabaseName="sales", Name="dropped")
    second = extractor(mark_path="s3://marks").run()
    assert second.start == first.end
    assert names(second, "deletions") == {"sales.dropped"}


def test_extract_of_an_older_range_leaves_what_stands_beside_the_mark(
    extractor: MakeExtractor, catalog: Catalog, tmp_path: Path
) -> None:
    catalog.create("orders", "sales")
    made = extractor()
    made.marks.publish(made.run().end)
    before = sorted((tmp_path / "mark").iterdir())
    again = extractor().run(start_hwm=EARLIER, end_hwm=LATER)
    made.marks.publish(again.end)
    assert sorted((tmp_path / "mark").iterdir()) == before
