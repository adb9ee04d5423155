"""The folder that a receiver writes events to before it acknowledges them.

It holds segments, `events-{number}.ndjson`, and a snapshot, which has what still counts of the segments that
have been put together. A segment is removed only after a snapshot has its events, so whoever reads the
segments first and the snapshot last misses none.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from filelock import FileLock, Timeout

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.event_sources.lines import take_lines
from lineage_bridge_dagster.event_sources.source import EventIntake
from lineage_bridge_dagster.lineage.files import write_atomically
from lineage_bridge_dagster.lineage.times import iso, utc_now
from lineage_bridge_dagster.openlineage.incoming.ledger import JobLedger
from lineage_bridge_dagster.openlineage.incoming.ledger_json import ledger_from_json, ledger_to_json

SNAPSHOT = "ledger.json"
_SEGMENT = re.compile(r"events-(\d{10})\.ndjson")
#: Bytes after which a segment is closed, and closed segments after which they are put together.
SEGMENT_BYTES = 32 * 1024 * 1024
_MAX_CLOSED = 3


def merge_snapshot(path: Path, ledger: JobLedger) -> None:
    """Add a snapshot to a ledger. An unreadable snapshot is ignored; the next one replaces it."""
    with contextlib.suppress(OSError, ValueError):
        ledger.merge(ledger_from_json(json.loads(path.read_bytes()), datetime.fromisoformat(ledger.now)))


class EventLog:
    """Appends events durably; threads share it, and one process at a time has a folder.

    Args:
        max_age: How long the snapshot keeps what no run has shown again.
        segment_bytes: Replaces `SEGMENT_BYTES`.
        clock: The time of the snapshot.

    Raises:
        ConfigurationError: Another receiver has the folder, or it cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_age: timedelta,
        segment_bytes: int = SEGMENT_BYTES,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._folder, self._max_age, self._clock = folder, max_age, clock
        self._segment_bytes = segment_bytes
        self._writing, self._syncing, self._joining = threading.Lock(), threading.Lock(), threading.Lock()
        # Counts of appends: written, on the disk, and in doubt since a segment could not be flushed.
        self._written = self._synced = self._doubtful = 0
        self._stream: IO[bytes] | None = None
        self._current: Path | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = FileLock(folder / ".receiver.lock")
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise ConfigurationError(
                f"Another receiver writes to {folder}.", hint="Stop it, or choose another --folder."
            ) from error
        except OSError as error:
            raise ConfigurationError(
                f"{folder} cannot be written: {error.strerror}.", hint="Choose another --folder."
            ) from error
        self._next = max(map(_number, self._segments()), default=0) + 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def append(self, lines: Iterable[bytes]) -> None:
        """Write events, and return once they are on the disk.

        Requests that come at the same time share one flush.

        Raises:
            OSError: They are not written, or it is not known whether they are.
        """
        with self._writing:
            stream = self._stream or self._open()
            try:
                for line in lines:
                    stream.write(line + b"\n")
                stream.flush()
            except OSError:
                # What follows would be glued to half a line.
                self._abandon_segment()
                raise
            self._written += 1
            mine = self._written
        with self._syncing:
            if self._synced < mine:
                self._flush()
            if self._doubtful >= mine > self._synced:
                raise OSError("a segment could not be flushed to the disk")

    def join(self, *, every: bool = False) -> int:
        """Put closed segments together into the snapshot if there are many of them, or every one.

        Returns:
            The number of segments that went into it.
        """
        with self._joining:
            with self._writing:
                closed = [each for each in self._segments() if each != self._current]
            if not closed or (len(closed) <= _MAX_CLOSED and not every):
                return 0
            now = self._clock()
            ledger = JobLedger(now)
            merge_snapshot(self._folder / SNAPSHOT, ledger)
            intake = EventIntake(ledger)
            for segment in closed:
                with segment.open("rb") as stream:
                    take_lines(stream, intake, segment.name, whole=False)
            # Twice as long as edges last, so that what is too old can still be named.
            ledger.prune(iso(now - 2 * self._max_age))
            write_atomically(self._folder / SNAPSHOT, [json.dumps(ledger_to_json(ledger))])
            for segment in closed:
                segment.unlink()
            return len(closed)

    def close(self) -> None:
        with self._writing:
            self._close_segment()
        self._lock.release()

    def _open(self) -> IO[bytes]:
        path = self._folder / f"events-{self._next:010}.ndjson"
        self._next += 1
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self._stream, self._current = os.fdopen(descriptor, "ab"), path
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return self._stream

    def _flush(self) -> None:
        with self._writing:
            through, stream = self._written, self._stream
        if stream is not None:
            try:
                os.fsync(stream.fileno())
            except (OSError, ValueError) as error:
                with self._writing:
                    self._abandon_segment()
                raise OSError(f"a segment could not be flushed: {error}") from error
            self._synced = max(self._synced, through)
        with self._writing:
            if self._stream is stream is not None and stream.tell() >= self._segment_bytes:
                self._close_segment()

    def _abandon_segment(self) -> None:
        """Go on in a new segment after an error; what was not flushed is in doubt."""
        self._doubtful = self._written
        self._close_segment()

    def _close_segment(self) -> None:
        stream, self._stream, self._current = self._stream, None, None
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()

    def _segments(self) -> list[Path]:
        return sorted(each for each in self._folder.iterdir() if _SEGMENT.fullmatch(each.name))


def _number(segment: Path) -> int:
    found = _SEGMENT.fullmatch(segment.name)
    return int(found[1]) if found else 0
