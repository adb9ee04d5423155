"""Persistent state of Glue and S3: one SQLite file, written before a change is acknowledged.

Each change is one transaction in write-ahead mode, so `kill -9` loses no acknowledged change and leaves none
half applied.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

_SCHEMA = """
CREATE TABLE IF NOT EXISTS buckets (name TEXT PRIMARY KEY, region TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS objects (
    bucket TEXT NOT NULL, key TEXT NOT NULL, body BLOB NOT NULL, etag TEXT NOT NULL,
    metadata TEXT NOT NULL, modified TEXT NOT NULL, PRIMARY KEY (bucket, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS databases (
    region TEXT NOT NULL, name TEXT NOT NULL, given TEXT NOT NULL, created TEXT NOT NULL,
    PRIMARY KEY (region, name));
CREATE TABLE IF NOT EXISTS tables (
    region TEXT NOT NULL, database TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL,
    PRIMARY KEY (region, database, name));
"""


#: A table of the schema above.
Table = Literal["buckets", "objects", "databases", "tables"]


class Store:
    """The SQLite file, or a no-op without a folder."""

    def __init__(self, folder: Path | None) -> None:
        self._lock = threading.Lock()
        self._file: sqlite3.Connection | None = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(
                folder / "aws.sqlite3", check_same_thread=False, isolation_level=None
            )
            self._file.execute("PRAGMA journal_mode=WAL")
            # Survives a killed process; only a power failure could lose the last transactions.
            self._file.execute("PRAGMA synchronous=NORMAL")
            self._file.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the file, which merges the write-ahead log into it."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def put(self, table: Table, *values: Any) -> None:
        """Insert or replace a row, whose values are those of all columns; a dictionary is stored as JSON."""
        places = ", ".join("?" * len(values))
        stored = [json.dumps(value) if isinstance(value, dict) else value for value in values]
        self._run(f"INSERT OR REPLACE INTO {table} VALUES ({places})", *stored)  # noqa: S608 - our own names

    def delete(self, table: Table, **key: str) -> None:
        """Delete the rows with these values."""
        condition = " AND ".join(f"{column} = ?" for column in key)
        self._run(f"DELETE FROM {table} WHERE {condition}", *key.values())  # noqa: S608

    def rows(self, table: Table) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a table."""
        if self._file is not None:
            yield from self._file.execute(f"SELECT * FROM {table}")  # noqa: S608

    def _run(self, statement: str, *values: Any) -> None:
        with self._lock:
            if self._file is not None:
                self._file.execute(statement, values)
