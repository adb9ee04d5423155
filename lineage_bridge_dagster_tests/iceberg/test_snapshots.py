"""What tables say of their last commit, in metadata that PyIceberg wrote and in what it would not write."""

from __future__ import annotations

import gzip
import io
import json
import threading
from typing import Any

import pyarrow as pa
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from pyiceberg.catalog.glue import GlueCatalog

from lineage_bridge_dagster.config.aws import s3_client
from lineage_bridge_dagster.config.settings import AwsSettings
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws
from lineage_bridge_dagster.iceberg.snapshots import SnapshotError, SnapshotReader, TableState

REGION = "us-east-1"
PLACE = "s3://bucket/t/metadata/1.metadata.json"


def snapshot(number: int, at: int, operation: str, parent: int | None = None, **summary: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in summary.items()}
    return {
        "snapshot-id": number,
        "parent-snapshot-id": parent,
        "timestamp-ms": at,
        "summary": {"operation": operation, **named},
    }


def document(*snapshots: Any, current: int | None = None) -> dict[str, Any]:
    return {
        "format-version": 2,
        "last-updated-ms": 900,
        "current-snapshot-id": current,
        "snapshots": list(snapshots),
    }


class Store:
    """S3 with these objects; a place may hold an exception."""

    def __init__(self, objects: dict[str, Any]) -> None:
        self.objects = objects
        self.asked: list[str] = []
        self.most = self._now = 0
        self._lock = threading.Lock()

    def get_object(self, *, Bucket: str, Key: str) -> Any:
        with self._lock:
            self.asked.append(f"{Bucket}/{Key}")
            self._now += 1
            self.most = max(self.most, self._now)
        try:
            found = self.objects.get(f"s3://{Bucket}/{Key}", refused("NoSuchKey"))
            if isinstance(found, Exception):
                raise found
            return {"Body": io.BytesIO(found)}
        finally:
            with self._lock:
                self._now -= 1


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "GetObject")


def test_the_last_commit_of_a_table_that_pyiceberg_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    with StrictAws() as aws:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
        client = s3_client(AwsSettings(region=REGION), endpoint_url=aws.endpoint_url)
        client.create_bucket(Bucket="snapshots-of-pyiceberg")
        catalog = GlueCatalog(
            "glue",
            client=aws.client("glue", REGION),
            **{
                "warehouse": "s3://snapshots-of-pyiceberg",
                "s3.endpoint": aws.endpoint_url,
                "s3.access-key-id": ACCESS_KEY,
                "s3.secret-access-key": SECRET_KEY,
                "s3.region": REGION,
            },
        )
        catalog.create_namespace("db")
        rows = pa.table({"id": pa.array([1, 2, 3], pa.int64())})
        table = catalog.create_table("db.t", schema=rows.schema)
        empty, made = table.metadata_location, table.metadata.last_updated_ms
        table.append(rows)
        table.append(rows)
        found = SnapshotReader(client).read({"empty": empty, "t": table.metadata_location})
        current = table.current_snapshot()
        assert current is not None
        assert found["empty"] == TableState(updated_ms=made)
        assert found["t"] == TableState(
            current.snapshot_id,
            current.timestamp_ms,
            current.timestamp_ms,
            "append",
            6,
            6,
            table.metadata.last_updated_ms,
        )
        gone = SnapshotReader(client).read({"u": "s3://no-such-bucket-here/u/metadata/1.metadata.json"})
        assert isinstance(gone["u"], SnapshotError)


def test_a_compaction_brings_no_rows() -> None:
    found = TableState.parse(
        document(
            snapshot(1, 100, "append"),
            snapshot(2, 200, "replace", 1),
            snapshot(3, 300, "replace", 2, total_records="7"),
            current=3,
        )
    )
    assert (found.changed_ms, found.committed_ms, found.operation, found.rows) == (100, 300, "replace", 7)


def test_an_empty_commit_brings_no_rows() -> None:
    """As an engine makes one that creates its table by writing nothing."""
    first = snapshot(1, 100, "append", total_records="0")
    rows = snapshot(2, 200, "append", 1, total_records="5", added_records="5")
    more = snapshot(3, 300, "append", 2, total_records="5")
    assert TableState.parse(document(first, current=1)).changed_ms is None
    assert TableState.parse(document(first, rows, more, current=3)).changed_ms == 200
    gone = snapshot(4, 400, "delete", 3, total_records="0", deleted_records="5")
    assert TableState.parse(document(first, rows, more, gone, current=4)).changed_ms == 400


def test_a_compaction_whose_commit_has_expired_tells_the_latest_time_that_may_be() -> None:
    found = TableState.parse(
        document(snapshot(2, 200, "replace", 1), snapshot(3, 300, "replace", 2), current=3)
    )
    assert found.changed_ms == 200


def test_rows_that_deletes_take_away_are_not_counted() -> None:
    state = snapshot(1, 100, "overwrite", total_records="10", total_equality_deletes="2")
    found = TableState.parse(document(state, current=1))
    assert (found.total_records, found.rows) == (10, None)


@pytest.mark.parametrize("current", [None, -1])
def test_a_table_without_a_commit_has_no_times(current: int | None) -> None:
    assert TableState.parse(document(current=current)) == TableState(updated_ms=900)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no json",
        b"[]",
        b"{}",
        b'{"format-version": 2, "current-snapshot-id": null}',
        b'{"format-version": 2, "last-updated-ms": 1, "current-snapshot-id": 5}',
        b"\x1f\x8bxx",
        pytest.param(gzip.compress(b"{}", mtime=0)[:10] + b"\x07damaged", id="damaged gzip"),
    ],
)
def test_what_is_no_metadata_is_an_error_that_names_the_file(body: bytes) -> None:
    (found,) = SnapshotReader(Store({PLACE: body})).read({"t": PLACE}).values()
    assert isinstance(found, SnapshotError)
    assert PLACE in found.message


def test_compressed_metadata_is_read() -> None:
    body = gzip.compress(json.dumps(document(snapshot(1, 100, "append"), current=1)).encode())
    (found,) = SnapshotReader(Store({PLACE: body})).read({"t": PLACE}).values()
    assert found == TableState(1, 100, 100, "append", updated_ms=900)


def test_a_key_of_any_characters_is_read_as_it_stands() -> None:
    place = "s3://bucket/odd?t#1 %20/metadata/1.metadata.json"
    store = Store({place: json.dumps(document()).encode()})
    assert SnapshotReader(store).state(place) == TableState(updated_ms=900)


@pytest.mark.parametrize(
    "place", ["", "file:///t/metadata/1.json", "s3://bucket", "s3://[bucket", "abfss://c@a/t/1.json"]
)
def test_metadata_that_is_not_on_s3_is_said(place: str) -> None:
    with pytest.raises(SnapshotError, match="not on S3"):
        SnapshotReader(Store({})).state(place)


def test_one_table_that_may_not_be_read_leaves_the_others() -> None:
    good = json.dumps(document(snapshot(1, 100, "append"), current=1)).encode()
    store = Store({PLACE: good, "s3://bucket/u/metadata/1.metadata.json": refused("AccessDenied")})
    found = SnapshotReader(store).read({"t": PLACE, "u": "s3://bucket/u/metadata/1.metadata.json"})
    assert isinstance(found["t"], TableState)
    assert isinstance(found["u"], SnapshotError)
    assert "s3:GetObject" in found["u"].hint


def test_many_tables_are_read_a_few_at_once() -> None:
    good = json.dumps(document(snapshot(1, 100, "append"), current=1)).encode()
    places = {str(n): f"s3://bucket/{n}/metadata/1.metadata.json" for n in range(200)}
    store = Store(dict.fromkeys(places.values(), good))
    found = SnapshotReader(store, max_concurrency=4).read(places)
    assert len(found) == 200
    assert all(isinstance(state, TableState) for state in found.values())
    assert store.most <= 4


def test_storage_that_can_not_be_reached_is_not_asked_for_each_table() -> None:
    away = EndpointConnectionError(endpoint_url="https://s3")
    places = {str(n): f"s3://bucket/{n}/metadata/1.metadata.json" for n in range(200)}
    store = Store(dict.fromkeys(places.values(), away))
    found = SnapshotReader(store, max_concurrency=1).read(places)
    assert all(isinstance(state, SnapshotError) for state in found.values())
    assert len(store.asked) == 1
