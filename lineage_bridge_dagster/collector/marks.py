"""The high-water mark: up to when changes were extracted, and what was there then.

The mark is one line, in UTC, `2026-11-22 12:34:56`, in `{prefix}_hwm.txt`. Beside it stands what the next
extract compares with, in `{prefix}_{mark}.state.gz`: written before the mark moves, and found by it, so that
both move at once. `Marks` is what each home of a mark can do; `mark_homes.py` finds it by its place.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from sys import intern
from typing import IO

from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.formats import MARK
from lineage_bridge_dagster.lineage.files import write_atomically

FORMAT = "%Y-%m-%d %H:%M:%S"
#: The start of the first extract: everything has changed since.
BEGINNING = "1970-01-01 00:00:00"

#: Attempts to move a mark that others are moving as well.
_ATTEMPTS = 5
_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True, order=True)
class Identifier:
    """A database, with an empty table, or a table that an extract saw."""

    region: str
    database: str
    table: str = ""
    object_type: str = "table"
    update_time: str = ""

    @classmethod
    def of(cls, fields: Iterable[str]) -> Identifier:
        """Make an identifier from its `fields`. Equal names share one string in memory."""
        region, database, table, object_type, update_time = fields
        return cls(intern(region), intern(database), table, intern(object_type), update_time)

    def fields(self) -> tuple[str, ...]:
        return (self.region, self.database, self.table, self.object_type, self.update_time)


@dataclass(frozen=True, slots=True)
class MarkState:
    """What an extract leaves for the next.

    Attributes:
        behind: Marks of the scopes (`region` or `region/database`) that were not fully read, which are older.
        identifiers: All that was there, or is not known to be gone. They can be iterated more than once.
        catalogs: A few digits by which the catalog of each region is recognized, if Glue named it.
    """

    behind: Mapping[str, str] = field(default_factory=dict)
    identifiers: Iterable[Identifier] = ()
    catalogs: Mapping[str, str] = field(default_factory=dict)

    def since(self, region: str, database: str, mark: str) -> str:
        """The mark from which changes of a database count."""
        candidates = (self.behind.get(region), self.behind.get(f"{region}/{database}"), mark)
        return min(each for each in candidates if each)

    def lines(self) -> Iterator[str]:
        header = {MARK.key: MARK.version, "behind": dict(self.behind), "catalogs": dict(self.catalogs)}
        yield json.dumps(header, sort_keys=True)
        for each in self.identifiers:
            yield json.dumps(each.fields())

    @classmethod
    def of_lines(cls, lines: Iterable[str], where: str) -> MarkState:
        rows = iter(lines)
        header = json.loads(next(rows))
        MARK.check(header.get(MARK.key), where)
        identifiers = tuple(Identifier.of(json.loads(line)) for line in rows)
        behind = {scope: checked(mark, where) for scope, mark in header["behind"].items()}
        return cls(behind, identifiers, dict(header.get("catalogs", {})))


class Marks(ABC):
    """The home of a mark.

    Attributes:
        prefix: The name of the mark, and the first part of the names of files.

    Raises:
        ConfigurationError: The prefix cannot be that of a mark.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix = check_prefix(prefix)

    @property
    @abstractmethod
    def location(self) -> str:
        """Where the mark is, for people."""

    @abstractmethod
    def state(self, mark: str) -> MarkState | None:
        """What the extract that ended at the mark saw; None if nothing is stored, as for a mark by hand."""

    @abstractmethod
    def keep(self, mark: str, state: MarkState) -> None:
        """Store what the next extract compares with, before the mark is published."""

    @abstractmethod
    def remove_older(self, mark: str) -> None:
        """Remove what was kept for older marks."""

    @abstractmethod
    def _read(self) -> tuple[str | None, str]:
        """The mark, None without one, and its version where a write can depend on it."""

    @abstractmethod
    def _write(self, mark: str, version: str) -> bool:
        """Write the mark if its version is unchanged; return whether it was."""

    def read(self) -> str | None:
        """The mark; None before the first extract.

        Raises:
            ConfigurationError: The mark cannot be read, or is not a time.
        """
        return self._read()[0]

    def publish(self, mark: str) -> str:
        """Move the mark forward, and remove what stood beside older ones. A later mark stays.

        Returns:
            The mark that holds now.

        Raises:
            ConfigurationError: The text is not a mark, or the mark cannot be written.
            LineageBridgeError: Others write the mark all the time.
        """
        mark = checked(mark, "The mark")
        for _attempt in range(_ATTEMPTS):
            published, version = self._read()
            if published is not None and published >= mark:
                # A process that ended after it moved the mark has left them.
                self.remove_older(published)
                return published
            if self._write(mark, version):
                self.remove_older(mark)
                return mark
        raise LineageBridgeError(
            f"The mark in {self.location} was not moved: others write it all the time.",
            hint="Give each collector a name of its own.",
        )


class MarkFile(Marks):
    """A mark in a folder, beside the script by default."""

    def __init__(self, prefix: str = "glue", file_path: str | os.PathLike[str] | None = None) -> None:
        super().__init__(prefix)
        self.folder = Path(file_path or ".")

    @property
    def location(self) -> str:
        return str(self.path)

    @property
    def path(self) -> Path:
        return self.folder / f"{self.prefix}_hwm.txt"

    def _read(self) -> tuple[str | None, str]:
        try:
            text = self.path.read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return None, ""
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(
                f"Cannot read the mark in {self.path}: {error}.",
                hint="Make the file readable; without a mark, everything is extracted again.",
            ) from error
        return checked(text, str(self.path)), ""

    def state(self, mark: str) -> MarkState | None:
        path = self._state_path(mark)
        try:
            with path.open("rb") as file:
                return read_state(file, str(path))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _damaged(str(path), error) from error

    def keep(self, mark: str, state: MarkState) -> None:
        path = self._state_path(mark)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        with self._writing(path):
            self.folder.mkdir(parents=True, exist_ok=True)
            try:
                with temporary.open("wb") as file:
                    write_state(file, state)
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(path)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise

    def _write(self, mark: str, version: str) -> bool:  # noqa: ARG002 - a folder has one collector
        with self._writing(self.path):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self.path, [mark + "\n"])
        return True

    def remove_older(self, mark: str) -> None:
        newest = state_name(self.prefix, mark)
        with self._writing(self.path):
            for path in self.folder.glob(f"{self.prefix}_*.state.gz"):
                if len(path.name) == len(newest) and path.name < newest:
                    path.unlink(missing_ok=True)

    @contextmanager
    def _writing(self, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ConfigurationError(
                f"Cannot write {path}: {error.strerror or error}.",
                hint="Make room in the folder of the mark, or name one that you may write to.",
            ) from error

    def _state_path(self, mark: str) -> Path:
        return self.folder / state_name(self.prefix, mark)


def check_prefix(prefix: str) -> str:
    """The prefix.

    Raises:
        ConfigurationError: It cannot be one.
    """
    if not _PREFIX.fullmatch(prefix):
        raise ConfigurationError(
            f"{prefix!r} cannot be the prefix of a mark.",
            hint="Use letters, digits, dots, hyphens and underscores, such as glue.",
        )
    return prefix


def state_name(prefix: str, mark: str) -> str:
    """The name of the file of a state. Names sort as their marks do."""
    return f"{prefix}_{re.sub(r'[^0-9]', '', mark)}.state.gz"


def write_state(file: IO[bytes], state: MarkState) -> None:
    """Write a state, line by line."""
    with gzip.open(file, "wt", encoding="utf-8", compresslevel=6) as stream:
        stream.writelines(line + "\n" for line in state.lines())


def read_state(file: IO[bytes], where: str) -> MarkState:
    """Read a state.

    Raises:
        ConfigurationError: The file is damaged.
        NewerFormatError: A newer version of this project stored it.
    """
    try:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            return MarkState.of_lines(lines, where)
    except LineageBridgeError:
        raise
    except Exception as error:  # whatever json, gzip, zlib and what they read may raise
        raise _damaged(where, error) from error


def _damaged(where: str, error: Exception) -> ConfigurationError:
    return ConfigurationError(
        f"Cannot read {where}: {error}.",
        hint="Remove the file to go on without it; the next extract then reports no deletions.",
    )


def checked(text: str, where: str) -> str:
    """A mark in its own form.

    Raises:
        ConfigurationError: The text is not a time.
    """
    try:
        found = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
        mark = (found.astimezone(UTC) if found.tzinfo else found).isoformat(" ", "seconds")[:19]
    except (ValueError, OverflowError):
        mark = ""
    if mark < BEGINNING:
        raise ConfigurationError(
            f"{where} has no valid time: {text[:40]!r}.", hint="Write it in UTC as 2026-11-22 12:34:56."
        )
    return mark


def time_of(mark: str) -> datetime:
    """The time of a mark."""
    return datetime.strptime(mark, FORMAT).replace(tzinfo=UTC)
