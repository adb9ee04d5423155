"""What Iceberg tables say of their last commit: the snapshot, its time and how many rows it counts.

Read from the table's metadata file, which `metadata_location` of a Glue table names; no catalog is asked
and no data file is opened. Field names are those of the Iceberg table spec, appendix C.
"""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, Self

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
)
from botocore.exceptions import ConnectionError as CannotConnect

from lineage_bridge_dagster.errors import LineageBridgeError

#: Metadata files read at once.
CONCURRENCY = 16

_S3_SCHEMES = frozenset({"s3", "s3a", "s3n"})
_DENIED = frozenset({"403", "AccessDenied", "AllAccessDisabled", "KMS.AccessDeniedException"})
_GONE = frozenset({"404", "NoSuchKey", "NoSuchBucket"})


class SnapshotError(LineageBridgeError):
    """A table's metadata could not be read, or is none."""


class ObjectStore(Protocol):
    """What is used of boto3's S3 client."""

    def get_object(self, *, Bucket: str, Key: str) -> Any: ...


#: What a snapshot's summary counts where rows came or went.
_CHANGES = ("added-records", "deleted-records", "added-position-deletes", "added-equality-deletes")


@dataclass(frozen=True, slots=True)
class TableState:
    """A table's current snapshot; times are Unix milliseconds. Where nothing was ever committed all is None,
    but for `updated_ms`, when the metadata last changed: of such a table mostly when it was made.

    `changed_ms` is when rows last changed, None where no row ever came: a compaction makes a snapshot with no
    new rows, and so does an empty commit. Where the commit
    before it has expired already, it is the time of the oldest compaction since, which is too late.
    `rows` is left out where delete files take away from `total_records`.
    """

    snapshot_id: int | None = None
    committed_ms: int | None = None
    changed_ms: int | None = None
    operation: str = ""
    total_records: int | None = None
    rows: int | None = None
    updated_ms: int | None = None

    @classmethod
    def parse(cls, document: object) -> Self:
        """Read a metadata file's JSON.

        Raises:
            SnapshotError: it is no Iceberg table metadata.
        """
        if not isinstance(document, Mapping) or "format-version" not in document:
            raise _malformed("it has no format-version")
        current, updated = document.get("current-snapshot-id"), document.get("last-updated-ms")
        if not isinstance(updated, int):
            raise _malformed("it has no last-updated-ms")
        # Format version 1 writes -1 for a table without a snapshot.
        if current in (None, -1):
            return cls(updated_ms=updated)
        known = {
            one.get("snapshot-id"): one for one in document.get("snapshots") or () if isinstance(one, Mapping)
        }
        if current not in known:
            raise _malformed(f"its current snapshot {current} is not among its snapshots")
        snapshot = known[current]
        summary, changed = _summary(snapshot), _last_change(snapshot, known)
        total = _count(summary, "total-records")
        deletes = any(_count(summary, f"total-{kind}-deletes") for kind in ("equality", "position"))
        return cls(
            snapshot_id=int(current),
            committed_ms=_time(snapshot),
            changed_ms=None if changed is None else _time(changed),
            operation=str(summary.get("operation") or ""),
            total_records=total,
            rows=None if deletes else total,
            updated_ms=updated,
        )


class SnapshotReader:
    """Reads tables' metadata files from S3; threads may share it.

    Args:
        client: an S3 client, whose session decides with whose rights.
        max_concurrency: files read at once.
    """

    def __init__(self, client: ObjectStore, *, max_concurrency: int = CONCURRENCY) -> None:
        self._client = client
        self._max_concurrency = max_concurrency
        self._lock = threading.Lock()
        #: Buckets that could not be reached: ten thousand tables must not wait for them one by one.
        self._away: dict[str, SnapshotError] = {}

    def read(self, locations: Mapping[str, str]) -> dict[str, TableState | SnapshotError]:
        """The state of each table, or why there is none.

        Args:
            locations: the URI of each table's metadata file, by whatever the table goes by.
        """

        def one(location: str) -> TableState | SnapshotError:
            try:
                return self.state(location)
            except SnapshotError as error:
                return error

        with ThreadPoolExecutor(self._max_concurrency, thread_name_prefix="iceberg-read") as pool:
            return dict(zip(locations, pool.map(one, locations.values()), strict=True))

    def state(self, location: str) -> TableState:
        """The state of the table of one metadata file.

        Raises:
            SnapshotError: it could not be read.
        """
        body = self._get(location)
        try:
            # Iceberg compresses some (`*.gz.metadata.json`, older ones `*.metadata.json.gz`).
            text = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
            document = json.loads(text)
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise _malformed(f"it is no JSON: {error}", location) from error
        try:
            return TableState.parse(document)
        except SnapshotError as error:
            raise SnapshotError(f"{location}: {error.message}", hint=error.hint) from error

    def _get(self, location: str) -> bytes:
        # Not as a URL: a key may hold any character, such as a question mark.
        scheme, _, place = location.partition("://")
        bucket, _, key = place.partition("/")
        if scheme.lower() not in _S3_SCHEMES or not bucket or not key:
            raise SnapshotError(
                f"The table's metadata is at {location or 'no location'}, which is not on S3.",
                hint="Check the parameter metadata_location of the Glue table.",
            )
        with self._lock:
            away = self._away.get(bucket)
        if away is not None:
            raise SnapshotError(away.message, hint=away.hint)
        try:
            body: bytes = self._client.get_object(Bucket=bucket, Key=key)["Body"].read()
        except ClientError as error:
            raise _of_answer(error, location, bucket) from error
        except (BotoCoreError, OSError) as error:
            found = SnapshotError(
                f"s3:GetObject in bucket {bucket}: {error}",
                hint="Check the network to S3, LINEAGE_BRIDGE_CATALOG_S3_ENDPOINT, and the AWS credentials.",
            )
            if isinstance(error, CannotConnect | NoCredentialsError | CredentialRetrievalError):
                with self._lock:
                    self._away[bucket] = found
            raise found from error
        return body


def _of_answer(error: ClientError, location: str, bucket: str) -> SnapshotError:
    code = str(error.response.get("Error", {}).get("Code") or "")
    if code in _DENIED:
        hint = f"Allow s3:GetObject on */metadata/* of bucket {bucket}, and kms:Decrypt where it has a key."
    elif code in _GONE:
        hint = "The table was dropped, or committed to meanwhile: run this again."
    else:
        hint = "Try again later."
    return SnapshotError(f"s3:GetObject on {location}: {error}", hint=hint)


def _last_change(
    snapshot: Mapping[str, Any], known: Mapping[Any, Mapping[str, Any]]
) -> Mapping[str, Any] | None:
    """The newest snapshot, from this one back, that changed rows; None where none ever did."""
    seen = {snapshot.get("snapshot-id")}
    while not _changes_rows(snapshot):
        parent = snapshot.get("parent-snapshot-id")
        if parent is None and _count(_summary(snapshot), "total-records") == 0:
            # Made by a commit of its own, as an engine does that writes no rows at first.
            return None
        if parent not in known or parent in seen:
            break
        seen.add(parent)
        snapshot = known[parent]
    return snapshot


def _changes_rows(snapshot: Mapping[str, Any]) -> bool:
    """Whether rows came or went: files are rewritten without, and a commit may be empty."""
    summary = _summary(snapshot)
    if summary.get("operation") == "replace":
        return False
    return "total-records" not in summary or any(_count(summary, name) for name in _CHANGES)


def _summary(snapshot: Mapping[str, Any]) -> Mapping[str, Any]:
    summary = snapshot.get("summary")
    return summary if isinstance(summary, Mapping) else {}


def _time(snapshot: Mapping[str, Any]) -> int:
    value = snapshot.get("timestamp-ms")
    if not isinstance(value, int):
        raise _malformed(f"its snapshot {snapshot.get('snapshot-id')} has no timestamp-ms")
    return value


def _count(summary: Mapping[str, Any], name: str) -> int | None:
    try:
        return int(summary[name])
    except (KeyError, TypeError, ValueError):
        return None


def _malformed(what: str, location: str = "") -> SnapshotError:
    return SnapshotError(
        f"{location + ': ' if location else ''}this is no Iceberg table metadata: {what}.",
        hint="Check the parameter metadata_location of the Glue table.",
    )
