"""Persistent state of Glue and S3: one SQLite file, written before a change is acknowledged.

Each change is one transaction in write-ahead mode, so `kill -9` loses no acknowledged change and leaves none
half applied.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


@dataclass(frozen=True)
class StoredObject:
    """One S3 object."""

    bucket: str
    key: str
    body: bytes
    etag: str
    metadata: dict[str, str]
    modified: str


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

    def put_bucket(self, name: str, region: str) -> None:
        """Insert or replace a bucket."""
        self._run("INSERT OR REPLACE INTO buckets VALUES (?, ?)", name, region)

    def delete_bucket(self, name: str) -> None:
        """Delete a bucket and its objects."""
        self._run("DELETE FROM objects WHERE bucket = ?", name)
        self._run("DELETE FROM buckets WHERE name = ?", name)

    def put_object(self, item: StoredObject) -> None:
        """Insert or replace an object."""
        self._run(
            "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?, ?)",
            *(item.bucket, item.key, item.body, item.etag, json.dumps(item.metadata), item.modified),
        )

    def delete_object(self, bucket: str, key: str) -> None:
        """Delete an object."""
        self._run("DELETE FROM objects WHERE bucket = ? AND key = ?", bucket, key)

    def put_database(self, region: str, name: str, database_input: dict[str, Any], created: str) -> None:
        """Insert or replace a database."""
        self._run(
            "INSERT OR REPLACE INTO databases VALUES (?, ?, ?, ?)",
            *(region, name, json.dumps(database_input), created),
        )

    def delete_database(self, region: str, name: str) -> None:
        """Delete a database and its tables."""
        self._run("DELETE FROM tables WHERE region = ? AND database = ?", region, name)
        self._run("DELETE FROM databases WHERE region = ? AND name = ?", region, name)

    def put_table(self, region: str, database: str, name: str, state: dict[str, Any]) -> None:
        """Insert or replace a table with its versions."""
        self._run(
            "INSERT OR REPLACE INTO tables VALUES (?, ?, ?, ?)", region, database, name, json.dumps(state)
        )

    def delete_table(self, region: str, database: str, name: str) -> None:
        """Delete a table."""
        self._run("DELETE FROM tables WHERE region = ? AND database = ? AND name = ?", region, database, name)

    def buckets(self) -> list[tuple[str, str]]:
        """Return each bucket's name and region."""
        return list(self._rows("SELECT name, region FROM buckets ORDER BY name"))

    def objects(self) -> Iterator[StoredObject]:
        """Yield all objects."""
        for bucket, key, body, etag, metadata, modified in self._rows(
            "SELECT bucket, key, body, etag, metadata, modified FROM objects ORDER BY bucket, key"
        ):
            yield StoredObject(bucket, key, body, etag, json.loads(metadata), modified)

    def databases(self) -> Iterator[tuple[str, str, dict[str, Any], str]]:
        """Yield each database's region, name, input and creation time."""
        for region, name, database_input, created in self._rows(
            "SELECT region, name, given, created FROM databases"
        ):
            yield region, name, json.loads(database_input), created

    def tables(self) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
        """Yield each table's region, database, name and state."""
        for region, database, name, state in self._rows("SELECT region, database, name, state FROM tables"):
            yield region, database, name, json.loads(state)

    def _run(self, statement: str, *values: Any) -> None:
        with self._lock:
            if self._file is not None:
                self._file.execute(statement, values)

    def _rows(self, statement: str) -> Iterator[tuple[Any, ...]]:
        if self._file is not None:
            yield from self._file.execute(statement)
