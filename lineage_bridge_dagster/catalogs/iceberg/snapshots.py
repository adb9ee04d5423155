"""The last commit of Iceberg tables (snapshot, time, row count), and how far apart commits usually are.

A table's metadata file is read from S3, where `metadata_location` of the Glue table points; no catalog is
called and no data file is opened. PyIceberg's `TableMetadata` and `FileIO` are not used here:

- `TableMetadata` parses every snapshot, schema and log entry where one or two snapshots are needed: 5 to 7
  times the CPU time at 100 snapshots. It also rejects a whole file over one operation, column type
  (`variant`) or format version that the installed PyIceberg does not know.
- `PyArrowFileIO` cuts a key at `?` and `#`, supports neither AWS profiles nor SSO, and reports a denied
  request, a missing key and an unreachable endpoint only as the text of an OSError.
"""

from __future__ import annotations

import gzip
import math
import threading
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, Self

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
)
from botocore.exceptions import ConnectionError as BotoConnectionError

from lineage_bridge_dagster.catalogs.calls import answers
from lineage_bridge_dagster.catalogs.iceberg.topic_progress import (
    COMMITTED_TAG,
    RawSnapshot,
    lineage,
    progress,
)
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.json_text import json_value

#: Commits less than this apart are one: a writer that catches up makes many at once.
BURST_MS = 60_000
#: Intervals below which the history is too short to show a cadence.
MIN_INTERVALS = 3
#: The share of intervals that the cadence covers: the longest may be an outage, or a night without records.
QUANTILE = 0.9


#: Metadata files read at the same time.
CONCURRENCY = 16

#: The newest commits of rows whose intervals count.
_COMMITS = 100
_S3_SCHEMES = frozenset({"s3", "s3a", "s3n"})
_DENIED = frozenset({"403", "AccessDenied", "AllAccessDisabled", "KMS.AccessDeniedException"})
_NOT_FOUND = frozenset({"404", "NoSuchKey", "NoSuchBucket"})

#: Counts in a snapshot's summary that are positive when the commit added or removed rows.
_ROW_CHANGES = ("added-records", "deleted-records", "added-position-deletes", "added-equality-deletes")


@dataclass(frozen=True, slots=True)
class Cadence:
    """The usual time between commits of rows: `QUANTILE` of these intervals do not exceed it.

    Tableflow has no setting for it: it commits within minutes where much arrives, and hours apart where
    little does. So the table's history tells.
    """

    interval_ms: int
    intervals: int

    @classmethod
    def of(cls, commits_ms: Iterable[int]) -> Cadence | None:
        """The cadence of commits, given their times in any order; None if they are too few.

        >>> Cadence.of([0, 900_000, 1_800_000, 2_700_000])
        Cadence(interval_ms=900000, intervals=3)
        """
        times = sorted(commits_ms)
        gaps = sorted(gap for before, after in pairwise(times) if (gap := after - before) >= BURST_MS)
        if len(gaps) < MIN_INTERVALS:
            return None
        return cls(gaps[math.ceil(QUANTILE * len(gaps)) - 1], len(gaps))


class SnapshotError(LineageBridgeError):
    """A table's metadata could not be read, or is not Iceberg table metadata."""


class ObjectStore(Protocol):
    """The part of boto3's S3 client that is used here."""

    def get_object(self, *, Bucket: str, Key: str) -> Any: ...


@dataclass(frozen=True, slots=True)
class SnapshotState:
    """A table's current snapshot. Times are Unix milliseconds.

    Attributes:
        snapshot_id: None, like all else but `updated_ms`, if nothing was ever committed.
        committed_ms: when the current snapshot was committed.
        changed_ms: when rows last changed; None if the table never had rows. A compaction and an empty commit
            make a snapshot but change no rows. If the commit that did has expired, this is the time of the
            oldest snapshot left after it, which is too late.
        operation: the current snapshot's, such as `append`.
        total_records: rows before delete files are applied.
        rows: `total_records`, or None if the table has delete files.
        updated_ms: when the metadata last changed. Without a commit, mostly when the table was created.
        cadence: how far apart commits that add rows usually are; None if too few remain in the history.
        offsets: by partition of the topic, the offset after the last record that the table has; None if its
            writer does not keep them.
    """

    snapshot_id: int | None = None
    committed_ms: int | None = None
    changed_ms: int | None = None
    operation: str = ""
    total_records: int | None = None
    rows: int | None = None
    updated_ms: int | None = None
    cadence: Cadence | None = None
    offsets: Mapping[int, int] | None = None

    @classmethod
    def parse(cls, document: object) -> Self:
        """Parse the JSON of a metadata file.

        Raises:
            SnapshotError: it is not Iceberg table metadata.
        """
        if not isinstance(document, Mapping) or "format-version" not in document:
            raise _malformed("it has no format-version")
        updated_ms, current_id = document.get("last-updated-ms"), document.get("current-snapshot-id")
        if not isinstance(updated_ms, int):
            raise _malformed("it has no last-updated-ms")
        # Format version 1 writes -1 for a table without a snapshot.
        if current_id in (None, -1):
            return cls(updated_ms=updated_ms)
        history = _History(document.get("snapshots"))
        current = history.snapshot(current_id) if isinstance(current_id, int) else None
        if current is None:
            raise _malformed(f"its current snapshot {current_id} is not among its snapshots")
        changed = history.last_change(current)
        total = _count(current, "total-records")
        deletes = any(_count(current, f"total-{kind}-deletes") for kind in ("equality", "position"))
        return cls(
            snapshot_id=current.snapshot_id,
            committed_ms=current.committed_ms,
            changed_ms=None if changed is None else changed.committed_ms,
            operation=str(current.summary.get("operation") or ""),
            total_records=total,
            rows=None if deletes else total,
            updated_ms=updated_ms,
            cadence=Cadence.of(history.additions(current.snapshot_id)),
            offsets=history.offsets(current.snapshot_id, _tagged(document.get("refs"))),
        )


class _History:
    """The snapshots of a metadata file, as they are in it: most are not looked at."""

    def __init__(self, snapshots: object) -> None:
        self._entries: dict[int, RawSnapshot] = {
            raw["snapshot-id"]: RawSnapshot(raw)
            for raw in (snapshots if isinstance(snapshots, list) else ())
            if isinstance(raw, Mapping) and isinstance(raw.get("snapshot-id"), int)
        }

    def snapshot(self, snapshot_id: int) -> RawSnapshot | None:
        """The snapshot with this id, or None.

        Raises:
            SnapshotError: the snapshot is malformed.
        """
        found = self._entries.get(snapshot_id)
        if found is not None and "timestamp-ms" not in found.raw:
            raise _malformed(f"its snapshot {snapshot_id} has no timestamp-ms")
        if found is not None and found.committed_ms is None:
            raise _malformed(f"its snapshot {snapshot_id} has a wrong timestamp-ms")
        if found is not None and found.parent_id is None and found.raw.get("parent-snapshot-id") is not None:
            raise _malformed(f"its snapshot {snapshot_id} has a wrong parent-snapshot-id")
        return found

    def last_change(self, snapshot: RawSnapshot) -> RawSnapshot | None:
        """The newest snapshot, from this one back, that changed rows; None if none ever did."""
        for entry in lineage(snapshot.snapshot_id, self.snapshot):
            if _changes_rows(entry):
                return entry
            if entry.parent_id is None and _count(entry, "total-records") == 0:
                # The first commit of an engine that creates a table without writing rows.
                return None
            snapshot = entry
        return snapshot

    def additions(self, snapshot_id: int) -> list[int]:
        """The times of the newest commits that added rows, from this snapshot back, in Unix milliseconds."""
        times: list[int] = []
        for entry in lineage(snapshot_id, self._entries.get):
            if entry.committed_ms is None or len(times) == _COMMITS:
                break
            times += [entry.committed_ms] if _adds_rows(entry) else []
        return times

    def offsets(self, snapshot_id: int, tagged: int | None) -> Mapping[int, int] | None:
        """The newest offsets in a summary, from this snapshot back: a compaction writes none."""
        found = progress(snapshot_id, tagged, self._entries.get)
        return None if found is None else found.offsets


def _tagged(refs: object) -> int | None:
    ref = refs.get(COMMITTED_TAG) if isinstance(refs, Mapping) else None
    found = ref.get("snapshot-id") if isinstance(ref, Mapping) else None
    return found if isinstance(found, int) else None


def _adds_rows(snapshot: RawSnapshot) -> bool:
    """Whether a commit added rows: a compaction and a deletion of old rows add none.

    A writer that leaves the counts out is taken by its word that it appends.
    """
    summary = snapshot.summary
    if summary.get("operation") == "replace":
        return False
    if (added := summary.get("added-records")) is not None:
        return str(added) != "0"
    return summary.get("operation") == "append" and "total-records" not in summary


def _changes_rows(snapshot: RawSnapshot) -> bool:
    """Whether the commit added or removed rows: a compaction does not, and an append may be empty."""
    if snapshot.summary.get("operation") == "replace":
        return False
    if _count(snapshot, "total-records") is None:
        return True
    return any(_count(snapshot, name) for name in _ROW_CHANGES)


def _count(snapshot: RawSnapshot, name: str) -> int | None:
    """A count in the snapshot's summary; None if it is missing or not a number."""
    try:
        return int(snapshot.summary[name])
    except (KeyError, TypeError, ValueError):
        return None


class SnapshotReader:
    """Reads tables' metadata files from S3, `max_concurrency` at the same time. Thread-safe."""

    def __init__(self, client: ObjectStore, *, max_concurrency: int = CONCURRENCY) -> None:
        self._client = client
        self._max_concurrency = max_concurrency
        self._lock = threading.Lock()
        #: Buckets that could not be reached: ten thousand tables must not each wait for the timeout.
        self._unreachable: dict[str, SnapshotError] = {}

    def read(self, locations: Mapping[str, str]) -> dict[str, SnapshotState | SnapshotError]:
        """Read the state of many tables; an error is returned in place of the state.

        Args:
            locations: the URI of each table's metadata file, by any key for the table.
        """

        states = answers(
            self.state, locations.values(), (SnapshotError,), max_concurrency=self._max_concurrency
        )
        return dict(zip(locations, states, strict=True))

    def state(self, location: str) -> SnapshotState:
        """Read the state of one table from its metadata file.

        Raises:
            SnapshotError: the file could not be read, or is malformed.
        """
        body = self._get(location)
        try:
            # By its first bytes: writers name a compressed file `*.gz.metadata.json` or `*.metadata.json.gz`.
            text = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
            document = json_value(text)
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise _malformed(f"it is not JSON: {error}", location) from error
        try:
            return SnapshotState.parse(document)
        except SnapshotError as error:
            raise SnapshotError(f"{location}: {error.message}", hint=error.hint) from error

    def _get(self, location: str) -> bytes:
        # Not parsed as a URL: a key may contain any character, such as a question mark.
        scheme, _, path = location.partition("://")
        bucket, _, key = path.partition("/")
        if scheme.lower() not in _S3_SCHEMES or not bucket or not key:
            raise SnapshotError(
                f"The table's metadata is at {location or 'no location'}, which is not on S3.",
                hint="Check the parameter metadata_location of the Glue table.",
            )
        with self._lock:
            unreachable = self._unreachable.get(bucket)
        if unreachable is not None:
            raise SnapshotError(unreachable.message, hint=unreachable.hint)
        try:
            body: bytes = self._client.get_object(Bucket=bucket, Key=key)["Body"].read()
        except ClientError as error:
            raise _request_failed(error, location, bucket) from error
        except (BotoCoreError, OSError) as error:
            failure = SnapshotError(
                f"s3:GetObject in bucket {bucket}: {error}",
                hint="Check the network to S3, LINEAGE_BRIDGE_CATALOG_S3_ENDPOINT, and the AWS credentials.",
            )
            if isinstance(error, BotoConnectionError | NoCredentialsError | CredentialRetrievalError):
                with self._lock:
                    self._unreachable[bucket] = failure
            raise failure from error
        return body


def _request_failed(error: ClientError, location: str, bucket: str) -> SnapshotError:
    code = str(error.response.get("Error", {}).get("Code") or "")
    if code in _DENIED:
        hint = (
            f"Allow s3:GetObject on */metadata/* in bucket {bucket}, and kms:Decrypt if it has its own key."
        )
    elif code in _NOT_FOUND:
        hint = "The table was dropped, or a commit replaced the file in the meantime: run this again."
    else:
        hint = "Try again later."
    return SnapshotError(f"s3:GetObject on {location}: {error}", hint=hint)


def _malformed(detail: str, location: str = "") -> SnapshotError:
    return SnapshotError(
        f"{location + ': ' if location else ''}this is not Iceberg table metadata: {detail}.",
        hint="Check the parameter metadata_location of the Glue table.",
    )
