"""The last commit of tables, from metadata that PyIceberg wrote and from metadata that it would not write."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import threading
from typing import Any

import pyarrow as pa
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from pyiceberg.catalog.glue import GlueCatalog

from lineage_bridge_dagster.catalogs.iceberg.snapshots import SnapshotError, SnapshotReader, SnapshotState
from lineage_bridge_dagster.config.aws import s3_client
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws

REGION = "us-east-1"
LOCATION = "s3://bucket/t/metadata/1.metadata.json"


def snapshot(
    snapshot_id: int, committed_ms: int, operation: str, parent: int | None = None, **summary: str
) -> Any:
    counts = {name.replace("_", "-"): count for name, count in summary.items()}
    return {
        "snapshot-id": snapshot_id,
        "parent-snapshot-id": parent,
        "timestamp-ms": committed_ms,
        "summary": {"operation": operation, **counts},
    }


def document(*snapshots: Any, current: int | None = None) -> dict[str, Any]:
    return {
        "format-version": 2,
        "last-updated-ms": 900,
        "current-snapshot-id": current,
        "snapshots": list(snapshots),
    }


class Store:
    """An S3 client with these objects by location; an exception in place of an object is raised."""

    def __init__(self, objects: dict[str, Any]) -> None:
        self.objects = objects
        self.requests: list[str] = []
        self.most_at_once = self._in_flight = 0
        self._lock = threading.Lock()

    def get_object(self, *, Bucket: str, Key: str) -> Any:
        with self._lock:
            self.requests.append(f"{Bucket}/{Key}")
            self._in_flight += 1
            self.most_at_once = max(self.most_at_once, self._in_flight)
        try:
            stored = self.objects.get(f"s3://{Bucket}/{Key}", client_error("NoSuchKey"))
            if isinstance(stored, Exception):
                raise stored
            return {"Body": io.BytesIO(stored)}
        finally:
            with self._lock:
                self._in_flight -= 1


def client_error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "GetObject")


def test_last_commit_of_a_table_written_by_pyiceberg(monkeypatch: pytest.MonkeyPatch) -> None:
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
        empty, created_ms = table.metadata_location, table.metadata.last_updated_ms
        table.append(rows)
        table.append(rows)
        found = SnapshotReader(client).read({"empty": empty, "t": table.metadata_location})
        current = table.current_snapshot()
        assert current is not None
        assert found["empty"] == SnapshotState(updated_ms=created_ms)
        assert found["t"] == SnapshotState(
            current.snapshot_id,
            current.timestamp_ms,
            current.timestamp_ms,
            "append",
            6,
            6,
            table.metadata.last_updated_ms,
        )
        missing = SnapshotReader(client).read({"u": "s3://no-such-bucket-here/u/metadata/1.metadata.json"})
        assert isinstance(missing["u"], SnapshotError)


def test_compaction_changes_no_rows() -> None:
    found = SnapshotState.parse(
        document(
            snapshot(1, 100, "append"),
            snapshot(2, 200, "replace", 1),
            snapshot(3, 300, "replace", 2, total_records="7"),
            current=3,
        )
    )
    assert (found.changed_ms, found.committed_ms, found.operation, found.rows) == (100, 300, "replace", 7)


def test_empty_commit_changes_no_rows() -> None:
    """Some engines create a table by committing no rows."""
    first = snapshot(1, 100, "append", total_records="0")
    rows = snapshot(2, 200, "append", 1, total_records="5", added_records="5")
    more = snapshot(3, 300, "append", 2, total_records="5")
    assert SnapshotState.parse(document(first, current=1)).changed_ms is None
    assert SnapshotState.parse(document(first, rows, more, current=3)).changed_ms == 200
    gone = snapshot(4, 400, "delete", 3, total_records="0", deleted_records="5")
    assert SnapshotState.parse(document(first, rows, more, gone, current=4)).changed_ms == 400


def test_oldest_compaction_stands_in_for_an_expired_commit() -> None:
    found = SnapshotState.parse(
        document(snapshot(2, 200, "replace", 1), snapshot(3, 300, "replace", 2), current=3)
    )
    assert found.changed_ms == 200


def test_rows_are_unknown_with_delete_files() -> None:
    overwrite = snapshot(1, 100, "overwrite", total_records="10", total_equality_deletes="2")
    found = SnapshotState.parse(document(overwrite, current=1))
    assert (found.total_records, found.rows) == (10, None)


@pytest.mark.parametrize("current", [None, -1])
def test_table_without_a_commit_has_no_times(current: int | None) -> None:
    assert SnapshotState.parse(document(current=current)) == SnapshotState(updated_ms=900)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b"{}",
        b'{"format-version": 2, "current-snapshot-id": null}',
        b'{"format-version": 2, "last-updated-ms": 1, "current-snapshot-id": 5}',
        b"\x1f\x8bxx",
        pytest.param(gzip.compress(b"{}", mtime=0)[:10] + b"\x07damaged", id="damaged gzip"),
    ],
)
def test_malformed_metadata_is_an_error_that_names_the_file(body: bytes) -> None:
    (found,) = SnapshotReader(Store({LOCATION: body})).read({"t": LOCATION}).values()
    assert isinstance(found, SnapshotError)
    assert LOCATION in found.message


@pytest.mark.parametrize(
    "changes",
    [
        {"timestamp-ms": None},
        {"timestamp-ms": "yesterday"},
        {"parent-snapshot-id": "first"},
    ],
)
def test_malformed_snapshot_is_an_error_that_names_it(changes: dict[str, Any]) -> None:
    with pytest.raises(SnapshotError, match="snapshot 7"):
        SnapshotState.parse(document(snapshot(7, 100, "append") | changes, current=7))


def test_snapshot_without_a_timestamp_does_not_count_as_committed_now() -> None:
    undated = snapshot(7, 100, "append")
    del undated["timestamp-ms"]
    with pytest.raises(SnapshotError, match="snapshot 7 has no timestamp-ms"):
        SnapshotState.parse(document(undated, current=7))


def test_newer_format_version_is_read() -> None:
    """A later format version, column type or operation than PyIceberg's must not hide the last commit."""
    newer = snapshot(1, 100, "merge", total_records="5", added_records="5")
    columns = [{"id": 1, "name": "v", "required": False, "type": "of a later version"}]
    found = SnapshotState.parse(
        document(newer, current=1)
        | {"format-version": 9, "schemas": [{"type": "struct", "schema-id": 0, "fields": columns}]}
    )
    assert found == SnapshotState(1, 100, 100, "merge", 5, 5, updated_ms=900)


def test_snapshots_that_are_not_needed_are_not_parsed() -> None:
    damaged = {"snapshot-id": 1, "timestamp-ms": "damaged"}
    found = SnapshotState.parse(document(damaged, snapshot(2, 200, "append", 1), current=2))
    assert found.committed_ms == 200


def test_compressed_metadata_is_read() -> None:
    body = gzip.compress(json.dumps(document(snapshot(1, 100, "append"), current=1)).encode())
    (found,) = SnapshotReader(Store({LOCATION: body})).read({"t": LOCATION}).values()
    assert found == SnapshotState(1, 100, 100, "append", updated_ms=900)


def test_key_with_url_characters_is_read_unchanged() -> None:
    location = "s3://bucket/odd?t#1 %20/metadata/1.metadata.json"
    store = Store({location: json.dumps(document()).encode()})
    assert SnapshotReader(store).state(location) == SnapshotState(updated_ms=900)


@pytest.mark.parametrize(
    "location", ["", "file:///t/metadata/1.json", "s3://bucket", "s3://[bucket", "abfss://c@a/t/1.json"]
)
def test_metadata_outside_s3_is_an_error(location: str) -> None:
    with pytest.raises(SnapshotError, match="not on S3"):
        SnapshotReader(Store({})).state(location)


def test_denied_table_does_not_affect_the_others() -> None:
    metadata = json.dumps(document(snapshot(1, 100, "append"), current=1)).encode()
    store = Store(
        {LOCATION: metadata, "s3://bucket/u/metadata/1.metadata.json": client_error("AccessDenied")}
    )
    found = SnapshotReader(store).read({"t": LOCATION, "u": "s3://bucket/u/metadata/1.metadata.json"})
    assert isinstance(found["t"], SnapshotState)
    assert isinstance(found["u"], SnapshotError)
    assert "s3:GetObject" in found["u"].hint


def test_concurrent_reads_are_bounded() -> None:
    metadata = json.dumps(document(snapshot(1, 100, "append"), current=1)).encode()
    locations = {str(n): f"s3://bucket/{n}/metadata/1.metadata.json" for n in range(200)}
    store = Store(dict.fromkeys(locations.values(), metadata))
    found = SnapshotReader(store, max_concurrency=4).read(locations)
    assert len(found) == 200
    assert all(isinstance(state, SnapshotState) for state in found.values())
    assert store.most_at_once <= 4


def test_unreachable_storage_is_tried_once_for_all_tables() -> None:
    unreachable = EndpointConnectionError(endpoint_url="https://s3")
    locations = {str(n): f"s3://bucket/{n}/metadata/1.metadata.json" for n in range(200)}
    store = Store(dict.fromkeys(locations.values(), unreachable))
    found = SnapshotReader(store, max_concurrency=1).read(locations)
    assert all(isinstance(state, SnapshotError) for state in found.values())
    assert len(store.requests) == 1


def test_importing_the_component_imports_neither_pyiceberg_nor_pyspark() -> None:
    """`dg` imports it in every command of a project."""
    code = "import sys, lineage_bridge_dagster.component; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "lineage_bridge_dagster.catalogs.iceberg.snapshots" in modules.split()
    assert "pyiceberg" not in modules.split()
    assert "pyspark" not in modules.split()
