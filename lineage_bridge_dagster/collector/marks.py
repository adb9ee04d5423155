"""The high-water mark: up to when changes were extracted, and what was there then.

The mark is one line, in UTC, `2026-11-22 12:34:56`, in `{prefix}_hwm.txt`. Beside it stands what the next
extract compares with, in `{prefix}_{mark}.state.gz`: written before the mark moves, and found by it, so that
both move at once.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.files import write_atomically
from lineage_bridge_dagster.lineage.times import utc_now

FORMAT = "%Y-%m-%d %H:%M:%S"
#: The start of the first extract: everything has changed since.
BEGINNING = "1970-01-01 00:00:00"

_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True, order=True)
class Identifier:
    """A database, with an empty table, or a table that an extract saw."""

    region: str
    database: str
    table: str = ""
    object_type: str = "table"
    update_time: str = ""

    @property
    def name(self) -> tuple[str, str, str]:
        """What it is known by; the catalog is the same in all extracts of a collector."""
        return (self.region, self.database, self.table)


@dataclass(frozen=True, slots=True)
class State:
    """What an extract leaves for the next.

    Attributes:
        behind: Marks of the scopes (`region` or `region/database`) that were not fully read, which are older.
        identifiers: All that was there, or is not known to be gone.
    """

    behind: Mapping[str, str] = field(default_factory=dict)
    identifiers: tuple[Identifier, ...] = ()

    def since(self, region: str, database: str, mark: str) -> str:
        """The mark from which changes of a database count."""
        candidates = (self.behind.get(region), self.behind.get(f"{region}/{database}"), mark)
        return min(each for each in candidates if each)

    def lines(self) -> Iterator[str]:
        yield json.dumps({"version": 1, "behind": dict(self.behind)}, sort_keys=True)
        for each in self.identifiers:
            fields = (
                each.region,
                each.database,
                each.table,
                each.object_type,
                each.update_time,
            )
            yield json.dumps(fields, ensure_ascii=False)

    @classmethod
    def of_lines(cls, lines: Iterable[str]) -> State:
        rows = iter(lines)
        header = json.loads(next(rows))
        return cls(header["behind"], tuple(Identifier(*json.loads(line)) for line in rows))


class MarkFile:
    """A mark in a folder, beside the script by default."""

    def __init__(self, prefix: str = "glue", file_path: str | os.PathLike[str] | None = None) -> None:
        if not _PREFIX.fullmatch(prefix):
            raise ConfigurationError(
                f"{prefix!r} cannot be the prefix of a mark.",
                hint="Use letters, digits, dots, hyphens and underscores, such as glue.",
            )
        self.prefix = prefix
        self.folder = Path(file_path or ".")

    @property
    def path(self) -> Path:
        return self.folder / f"{self.prefix}_hwm.txt"

    def read(self) -> str | None:
        """The mark; None before the first extract.

        Raises:
            ConfigurationError: The file cannot be read, or has something else than a mark.
        """
        try:
            text = self.path.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(
                f"Cannot read the mark in {self.path}: {error}.",
                hint="Make the file readable; without a mark, everything is extracted again.",
            ) from error
        return checked(text, str(self.path))

    def state(self, mark: str) -> State:
        """What the extract that ended at the mark saw; empty if that is not there, as for a mark by hand."""
        try:
            with gzip.open(self._state_path(mark), "rt", encoding="utf-8") as lines:
                return State.of_lines(lines)
        except FileNotFoundError:
            return State()
        except (OSError, EOFError, ValueError, KeyError, TypeError, StopIteration) as error:
            raise ConfigurationError(
                f"Cannot read {self._state_path(mark)}: {error}.",
                hint="Remove the file to go on without it: the next extract then names no deletions.",
            ) from error

    def keep(self, mark: str, state: State) -> None:
        """Store what the next extract compares with, before the mark is published."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._state_path(mark)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        with gzip.open(temporary, "wt", encoding="utf-8", compresslevel=6) as stream:
            stream.writelines(line + "\n" for line in state.lines())
        temporary.replace(path)

    def publish(self, mark: str) -> None:
        """Move the mark, and remove what stood beside older ones.

        Raises:
            ConfigurationError: The text is no mark, or the file cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path, [checked(mark, "The mark") + "\n"])
        for path in self.folder.glob(f"{self.prefix}_*.state.gz"):
            if path != self._state_path(mark) and path.name < self._state_path(mark).name:
                path.unlink(missing_ok=True)

    def _state_path(self, mark: str) -> Path:
        return self.folder / f"{self.prefix}_{re.sub(r'[^0-9]', '', mark)}.state.gz"


def get_hwm(prefix: str = "glue", file_path: str | os.PathLike[str] | None = None) -> tuple[str, str]:
    """The range of the next extract: the published mark and now, in UTC.

    Args:
        prefix: The mark is in `{prefix}_hwm.txt`.
        file_path: Its folder; by default the current one.
    """
    start = MarkFile(prefix, file_path).read() or BEGINNING
    return start, utc_now().strftime(FORMAT)


def publish_hwm(
    prefix: str = "glue", date: str = "", file_path: str | os.PathLike[str] | None = None
) -> None:
    """Move the mark to the end of an extract, once its files have arrived."""
    MarkFile(prefix, file_path).publish(date)


def checked(text: str, where: str) -> str:
    """A mark in its own form.

    Raises:
        ConfigurationError: The text is no time.
    """
    try:
        found = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError as error:
        raise ConfigurationError(
            f"{where} is no time: {text[:40]!r}.", hint="Write it in UTC as 2026-11-22 12:34:56."
        ) from error
    return (found.astimezone(UTC) if found.tzinfo else found).strftime(FORMAT)


def time_of(mark: str) -> datetime:
    """The time of a mark."""
    return datetime.strptime(mark, FORMAT).replace(tzinfo=UTC)
