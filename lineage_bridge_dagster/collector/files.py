"""The files of an extract, written row by row into a hidden folder and moved when all are complete."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from json.encoder import encode_basestring
from pathlib import Path
from typing import IO, Any, cast

from lineage_bridge_dagster.collector.layout import Kind, Type
from lineage_bridge_dagster.collector.rows import Row
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.lineage.files import write_atomically
from lineage_bridge_dagster.text import byte_size

#: The most rows of a Parquet row group, and the most characters in them: they are held in memory.
_GROUP_ROWS, _GROUP_CHARACTERS = 20_000, 8_000_000
_EXTENSIONS = {"csv": "csv", "jsonl": "jsonl", "parquet": "parquet"}
#: An extract that wrote nothing for this long does not run any more.
ABANDONED_SECONDS = 24 * 3600
_BOOLEANS = {True: "true", False: "false"}


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file of an extract, with the SHA-256 of its bytes in hexadecimal."""

    path: Path
    kind: str
    rows: int
    size: int
    sha256: str

    def to_json(self) -> dict[str, Any]:
        return {
            "file": self.path.name,
            "kind": self.kind,
            "rows": self.rows,
            "bytes": self.size,
            "sha256": self.sha256,
        }


class RowWriter(ABC):
    """Writes the rows of one kind to one file."""

    def __init__(self, path: Path, kind: Kind) -> None:
        self.path = path
        self.kind = kind
        self.rows = 0

    @abstractmethod
    def write(self, row: Row) -> None:
        """Write a row."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left, and close the file."""

    @abstractmethod
    def abandon(self) -> None:
        """Close the file as it is."""


class _TextWriter(RowWriter):
    def __init__(self, path: Path, kind: Kind, *, compress: bool) -> None:
        super().__init__(path, kind)
        raw: IO[bytes] = path.open("xb")
        self._raw = raw
        # Neither the name nor the time, so that the same rows are the same bytes.
        self._bytes = gzip.GzipFile("", "wb", 6, raw, mtime=0) if compress else raw
        # Half of a surrogate pair is not UTF-8, and becomes a question mark.
        self._stream = io.TextIOWrapper(cast(IO[bytes], self._bytes), "utf-8", "replace", newline="")

    def close(self) -> None:
        self._stream.flush()
        self._stream.detach()
        if self._bytes is not self._raw:
            self._bytes.close()
        self._raw.flush()
        os.fsync(self._raw.fileno())
        self._raw.close()

    def abandon(self) -> None:
        with suppress(OSError):
            self._raw.close()


class _CsvWriter(_TextWriter):
    """RFC 4180: a header, CRLF between records, quotes where they are needed."""

    def __init__(self, path: Path, kind: Kind, *, compress: bool) -> None:
        super().__init__(path, kind, compress=compress)
        self._write = csv.writer(self._stream).writerow
        self._write(kind.header)
        self._booleans = [n for n, column in enumerate(kind.columns) if column.type is Type.BOOLEAN]

    def write(self, row: Row) -> None:
        if self._booleans:
            values = list(row)
            for index in self._booleans:
                values[index] = _BOOLEANS.get(values[index])
            self._write(values)
        else:
            self._write(row)
        self.rows += 1


class _JsonLinesWriter(_TextWriter):
    """An object per line; lists and objects are JSON, not text."""

    def __init__(self, path: Path, kind: Kind, *, compress: bool) -> None:
        super().__init__(path, kind, compress=compress)
        #: What stands before the value of each column, and whether the value is JSON already.
        self._names = [
            (f"{', ' if number else '{'}{json.dumps(column.name)}: ", column.type is Type.JSON)
            for number, column in enumerate(kind.columns)
        ]

    def write(self, row: Row) -> None:
        parts = []
        for (name, is_json), value in zip(self._names, row, strict=True):
            parts.append(name)
            if value is None:
                parts.append("null")
            elif isinstance(value, str):
                parts.append(value if is_json else encode_basestring(value))
            else:
                parts.append(_BOOLEANS[value] if isinstance(value, bool) else str(value))
        parts.append("}\n")
        self._stream.write("".join(parts))
        self.rows += 1


class _ParquetWriter(RowWriter):
    def __init__(self, path: Path, kind: Kind) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        super().__init__(path, kind)
        types = {
            Type.TEXT: pa.string(),
            Type.JSON: pa.string(),
            Type.INTEGER: pa.int64(),
            Type.BOOLEAN: pa.bool_(),
            Type.TIME: pa.timestamp("ms", "UTC"),
        }
        self._schema = pa.schema([pa.field(column.name, types[column.type]) for column in kind.columns])
        self._writer = parquet.ParquetWriter(path, self._schema, compression="zstd")
        self._buffer: list[Row] = []
        self._characters = 0

    def write(self, row: Row) -> None:
        self._buffer.append(row)
        self._characters += sum(len(value) for value in row if isinstance(value, str))
        self.rows += 1
        if len(self._buffer) >= _GROUP_ROWS or self._characters >= _GROUP_CHARACTERS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        self._buffer = []
        with suppress(OSError):
            self._writer.close()

    def _flush(self) -> None:
        import pyarrow as pa

        if not self._buffer:
            return
        columns: Iterable[Sequence[Any]] = zip(*self._buffer, strict=True)
        arrays = [_array(values, field.type) for values, field in zip(columns, self._schema, strict=True)]
        self._writer.write_table(pa.table(arrays, schema=self._schema))
        self._buffer = []
        self._characters = 0


class ExtractFiles:
    """The files of one extract. A context manager: files that are not published are removed.

    Args:
        folder: Where the files go; made if need be.
        prefix: The first part of each name.
        started: The last part of each name, before the extension, to the second; later if it is taken.
        mask: What masks the rows of a kind, or None.
        observe: Receives each row as it is written, masked.

    Raises:
        ConfigurationError: The folder cannot be written to.
    """

    def __init__(
        self,
        folder: Path,
        prefix: str,
        started: datetime,
        *,
        format_: str,
        compress: bool,
        mask: Callable[[Kind], Callable[[Row], Row] | None],
        observe: Callable[[Kind, Row], None] | None = None,
    ) -> None:
        self._folder = folder
        self._prefix = prefix
        self._format = format_
        self._compress = compress and format_ != "parquet"
        self._mask = mask
        self._observe = observe
        self._writers: dict[str, tuple[RowWriter, Callable[[Row], Row] | None]] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(folder, prefix)
            self._stamp, self._partial = _reserve(folder, prefix, started)
        except OSError as error:
            raise ConfigurationError(
                f"Cannot write to {folder}: {error.strerror}.",
                hint="Set output_path to a folder that you may write to.",
            ) from error

    def __enter__(self) -> ExtractFiles:
        return self

    def __exit__(self, *_: object) -> None:
        for writer, _mask in self._writers.values():
            writer.abandon()
        shutil.rmtree(self._partial, ignore_errors=True)

    def open(self, kind: Kind) -> None:
        """Start the file of a kind, so that it exists even without rows."""
        if kind.name not in self._writers:
            with self._errors():
                self._writers[kind.name] = (self._writer(kind), self._mask(kind))

    def write(self, kind: Kind, row: Row) -> None:
        """Write a row, masked.

        Raises:
            LineageBridgeError: The disk is full, or the folder is gone. So for all methods.
        """
        writer, mask = self._writers[kind.name]
        row = mask(row) if mask else row
        try:
            writer.write(row)
        except OSError as error:
            raise self._failed(error) from error
        if self._observe:
            self._observe(kind, row)

    def finish(self) -> list[WrittenFile]:
        """Close all files, and move each to its name; none of them if one cannot be moved."""
        with self._errors():
            written = [self._close(writer) for writer, _mask in self._writers.values()]
            try:
                for each in written:
                    (self._partial / each.path.name).replace(each.path)
            except OSError:
                for each in written:
                    each.path.unlink(missing_ok=True)
                raise
        return written

    @property
    def manifest(self) -> Path:
        """The manifest's path."""
        return _manifest(self._folder, self._prefix, self._stamp)

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Write the manifest last: an extract without one is not whole."""
        with self._errors():
            write_atomically(self.manifest, [json.dumps(manifest, indent=2, ensure_ascii=False), "\n"])

    def _close(self, writer: RowWriter) -> WrittenFile:
        writer.close()
        path = writer.path
        final = self._folder / path.name
        return WrittenFile(final, writer.kind.name, writer.rows, path.stat().st_size, _sha256(path))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> LineageBridgeError:
        return LineageBridgeError(
            f"The files in {self._folder} cannot be written: {error.strerror or error}.",
            hint="Make room in the folder, or set output_path to another one. The mark has not moved, so the "
            "next extract has all of it.",
        )

    def _writer(self, kind: Kind) -> RowWriter:
        name = f"{self._prefix}_{kind.name}_{self._stamp}.{_EXTENSIONS[self._format]}"
        path = self._partial / (f"{name}.gz" if self._compress else name)
        if self._format == "parquet":
            return _ParquetWriter(path, kind)
        writer = _CsvWriter if self._format == "csv" else _JsonLinesWriter
        return writer(path, kind, compress=self._compress)


def summary(files: Iterable[WrittenFile]) -> str:
    """The rows and size of each file, one a line."""
    return "\n".join(f"{each.rows:>12,} {each.path.name} ({byte_size(each.size)})" for each in files)


def _manifest(folder: Path, prefix: str, stamp: str) -> Path:
    return folder / f"{prefix}_manifest_{stamp}.json"


def _reserve(folder: Path, prefix: str, started: datetime) -> tuple[str, Path]:
    """The last part of the names of an extract, and the hidden folder that no other extract has."""
    while True:
        stamp = started.strftime("%Y%m%d%H%M%S")
        partial = folder / f".{prefix}_{stamp}.partial"
        with suppress(FileExistsError):
            partial.mkdir()
            # Whoever had the folder wrote the manifest before it went.
            if not _manifest(folder, prefix, stamp).exists():
                return stamp, partial
            partial.rmdir()
        started += timedelta(seconds=1)


def _remove_abandoned(folder: Path, prefix: str) -> None:
    """Remove what extracts left that were killed; one that still runs has written since."""
    for partial in folder.glob(f".{prefix}_*.partial"):
        with suppress(OSError):
            written = max(path.stat().st_mtime for path in (partial, *partial.iterdir()))
            if time.time() - written > ABANDONED_SECONDS:
                shutil.rmtree(partial, ignore_errors=True)


def _array(values: Sequence[Any], type_: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_timestamp(type_):
        values = [datetime.fromisoformat(value) if value else None for value in values]
    try:
        return pa.array(values, type_)
    except UnicodeEncodeError:
        return pa.array([value and value.encode("utf-8", "replace").decode() for value in values], type_)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
