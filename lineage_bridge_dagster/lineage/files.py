"""Text files: atomic writes, and reads with errors that say where."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import secrets
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.json_text import json_value


def write_atomically(path: str | os.PathLike[str], chunks: Iterable[str]) -> int:
    """Write a text file so that readers see either the old file or the complete new one.

    A path that is not a regular file (`/dev/stdout`, a pipe) is written directly. A symbolic link stays one:
    its target is replaced.

    Returns:
        The number of chunks.

    Raises:
        ConfigurationError: The file cannot be written. The old file, if any, is unchanged.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file():
            with target.open("w", encoding="utf-8") as stream:
                return _write_all(stream, chunks)
        temporary = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
        try:
            with temporary.open("x", encoding="utf-8") as stream:
                count = _write_all(stream, chunks)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        _sync_folder(target.parent)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write {path}: {error.strerror}.",
            hint="Choose a path in a folder that you may write to.",
        ) from error
    return count


def _write_all(stream: TextIO, chunks: Iterable[str]) -> int:
    count = 0
    for chunk in chunks:
        stream.write(chunk)
        count += 1
    return count


def _sync_folder(folder: Path) -> None:
    """Make a rename durable across a power loss, on systems that can sync a folder."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_json(path: Path, hint: str = "Give a file of JSON.") -> Any:
    """Read a JSON file; `-` is stdin.

    Raises:
        ConfigurationError: It cannot be read, or is not JSON; the message says where.
    """
    return parse_json(read_text(path, hint), str(path), hint)


def parse_json(text: str, name: str, hint: str) -> Any:
    """Parse JSON; error messages call it by `name`.

    Raises:
        ConfigurationError: It is not JSON; the message says where.
    """
    try:
        return json_value(text)
    except json.JSONDecodeError as error:
        raise ConfigurationError(
            f"{name}, line {error.lineno}, column {error.colno}: invalid JSON: {error.msg}.", hint=hint
        ) from error
    except ValueError as error:
        raise ConfigurationError(f"{name} {error}.", hint=hint) from error


def read_text(path: Path, hint: str = "Give a file that exists and that you may read.") -> str:
    """Read a file as UTF-8, or as UTF-16 if it begins with the mark of that; `-` is stdin.

    Raises:
        ConfigurationError: It cannot be read.
    """
    try:
        is_stdin = str(path) == "-" and sys.stdin is not None
        return text_of(sys.stdin.buffer.read() if is_stdin else path.read_bytes(), str(path))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror or error}.", hint=hint) from error


def text_of(data: bytes, name: str) -> str:
    """The text in the bytes of a file that a user gives, as `read_text` has it.

    Raises:
        ConfigurationError: It is not text in a known encoding.
    """
    if data.startswith(b"\x1f\x8b"):
        raise ConfigurationError(f"{name} is compressed with gzip.", hint="Unpack it first: gunzip")
    # PowerShell writes UTF-16.
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{name} is not UTF-8 text (byte {error.start}).",
            hint="If it is text, convert it: iconv -f ENCODING -t UTF-8",
        ) from error
