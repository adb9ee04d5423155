"""Events in files: of one file, a folder, or those that a pattern matches.

A folder that a receiver fills has a snapshot besides, see `event_log`. Files may grow, be rotated and be
removed: of one that only grew, what is new is read; one that changed is read again, which changes nothing
that was known.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineage_bridge_dagster.event_sources.event_log import SNAPSHOT, merge_snapshot
from lineage_bridge_dagster.event_sources.lines import is_packed, opened, take_lines
from lineage_bridge_dagster.event_sources.source import EventIntake, EventSourceError
from lineage_bridge_dagster.text import first_few, plural

#: Ends of the names of files that are read in a folder.
SUFFIXES = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")
#: Bytes at the beginning of a file that tell it apart from another of its name.
_HEAD = 256


@dataclass(frozen=True, slots=True)
class EventFiles:
    """The events of a file, of a folder with its subfolders, or of files by a pattern: `/logs/*.json`."""

    path: str

    @property
    def name(self) -> str:
        return self.path

    def probe(self) -> str:
        files = self._files()
        if denied := [file.name for file in files if not os.access(file, os.R_OK)]:
            raise EventSourceError(
                f"{first_few(denied, 3)} in {self.path} cannot be read.", hint="Let this user read them."
            )
        return f"{plural(len(files), 'file')} can be read."

    def read(self, intake: EventIntake) -> None:
        known = intake.position.get("files")
        known = known if isinstance(known, dict) else {}
        read: dict[str, Any] = {}
        problems: list[str] = []
        denied, since = False, intake.since.timestamp()
        for file in self._files():
            try:
                if file.stat().st_mtime >= since:
                    read[str(file)] = _read(file, known.get(str(file)), intake)
            except FileNotFoundError:
                # It was rotated away since the folder was listed.
                continue
            except OSError as error:
                denied |= isinstance(error, PermissionError)
                problems.append(f"{file.name} ({error.strerror or error})")
                if str(file) in known:
                    read[str(file)] = known[str(file)]
        # Last: what a receiver has put together meanwhile is in it.
        if (snapshot := Path(self.path) / SNAPSHOT).is_file():
            merge_snapshot(snapshot, intake.ledger)
        intake.position = {"files": read}
        if problems:
            raise EventSourceError(
                f"{len(problems)} of the files in {self.path} could not be read: {first_few(problems, 3)}.",
                hint="Let this user read them.",
                denied=denied and not read,
                partial=bool(read),
            )

    def _files(self) -> list[Path]:
        path = Path(self.path)
        try:
            if glob.has_magic(self.path) and not path.exists():
                root = Path(path.anchor)
                return sorted(each for each in root.glob(str(path.relative_to(root))) if each.is_file())
            if path.is_dir():
                return sorted(_in_folder(path))
            if path.exists():
                return [path]
        except OSError as error:
            raise EventSourceError(
                f"{self.path} cannot be listed: {error.strerror}.",
                hint="Let this user read the folder.",
                denied=isinstance(error, PermissionError),
            ) from error
        raise EventSourceError(
            f"{self.path} does not exist here.",
            hint="Create it, mount it where discovery runs, or remove it from openlineage.paths.",
        )


def _in_folder(folder: Path) -> Iterator[Path]:
    def failed(error: OSError) -> None:
        raise error

    for parent, folders, files in os.walk(folder, onerror=failed):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for each in files:
            if each.endswith(SUFFIXES) and not each.startswith(".") and each != SNAPSHOT:
                yield Path(parent) / each


def _read(file: Path, known: Any, intake: EventIntake) -> list[Any]:
    """Read what is new in a file.

    Returns:
        The bytes and lines that are read, the size and time of the file, and the digest of its beginning.
    """
    state = file.stat()
    same = isinstance(known, list) and len(known) == 5
    if same and known[2:4] == [state.st_size, state.st_mtime_ns]:
        return list(known)
    with file.open("rb") as stream:
        start = stream.read(min(_HEAD, state.st_size))
        head = hashlib.sha256(start).hexdigest()[:16]
        read, lines = (
            (known[0], known[1]) if same and known[4] == head and known[0] <= state.st_size else (0, 0)
        )
        if state.st_size < _HEAD or is_packed(start):
            # Its head may still grow.
            read, lines = 0, 0
        stream.seek(read)
        unpacked = opened(stream) if read == 0 else stream
        taken = take_lines(unpacked, intake, file.name, line=lines, whole=read == 0)
    return [read + taken.size, lines + taken.lines, state.st_size, state.st_mtime_ns, head]
