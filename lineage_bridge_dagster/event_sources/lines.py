"""Events in the bytes of a file: one a line, or one document of one event or a list of them."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from typing import IO, Any, NamedTuple, cast

import orjson

from lineage_bridge_dagster.event_sources.source import EventIntake

#: Bytes of a line, and of a file that is one document.
MAX_LINE = 16 * 1024 * 1024
MAX_DOCUMENT = 256 * 1024 * 1024
_UNPACKING = (EOFError, gzip.BadGzipFile, zlib.error)


class LinesTaken(NamedTuple):
    """The bytes and the lines that were read.

    Both are 0 for a file that is one document: it is read from its beginning when it changes.
    """

    size: int
    lines: int


def take_lines(
    stream: IO[bytes],
    intake: EventIntake,
    name: str,
    *,
    line: int = 0,
    whole: bool = True,
    growing: bool = True,
) -> LinesTaken:
    """Take the events of a stream.

    Args:
        name: What places are called by.
        line: The number of lines before.
        whole: Whether the stream is at the beginning of the file, which then may be one document.
        growing: Whether an end that is missing may be written yet; else it is refused.

    Returns:
        What was read: up to a last line that is not finished.
    """
    taken, before = 0, line
    first = True
    while True:
        where = f"{name}, line {line + 1}"
        try:
            text = stream.readline(MAX_LINE + 1)
        except _UNPACKING as error:
            if not (growing and isinstance(error, EOFError)):
                intake.refuse(where, f"it cannot be unpacked: {error}")
            break
        if not text:
            break
        line += 1
        content = text.removeprefix(codecs.BOM_UTF8) if first and whole else text
        if first and whole and _is_part_of_document(content):
            _take_document(content, stream, intake, name)
            return LinesTaken(0, 0)
        first = False
        if len(text) > MAX_LINE and not text.endswith(b"\n"):
            length = len(text) + _skip_line(stream)
            intake.refuse(where, f"it has more than {MAX_LINE} bytes")
            taken += length
            continue
        stripped = content.strip()
        if growing and not text.endswith(b"\n") and _is_unfinished(stripped):
            # It is being written, or its writer has died: the next reading sees.
            line -= 1
            break
        if stripped:
            intake.take(stripped, where)
        taken += len(text)
    return LinesTaken(taken, line - before)


def _take_document(text: bytes, rest: IO[bytes], intake: EventIntake, name: str) -> None:
    try:
        text += rest.read(MAX_DOCUMENT + 1)
    except _UNPACKING as error:
        intake.refuse(name, f"it cannot be unpacked: {error}")
        return
    if len(text) > MAX_DOCUMENT:
        intake.refuse(name, f"it has more than {MAX_DOCUMENT} bytes; write one event a line")
    else:
        intake.take(text, name)


def is_packed(head: bytes) -> bool:
    """Whether what begins so is packed with gzip, whatever its name."""
    return head.startswith(b"\x1f\x8b")


def opened(stream: io.BufferedReader[Any]) -> IO[bytes]:
    """The stream, unpacked if it is packed with gzip."""
    return cast("IO[bytes]", gzip.open(stream)) if is_packed(stream.peek(2)) else stream


def _is_part_of_document(text: bytes) -> bool:
    """Whether a first line is the beginning of JSON that goes on behind it."""
    stripped = text.strip()
    return stripped[:1] in (b"{", b"[") and text.endswith(b"\n") and _is_unfinished(stripped)


def _is_unfinished(text: bytes) -> bool:
    """Whether a text ends too early to be JSON, maybe within a character; one that is wrong before is not."""
    try:
        known, _ = codecs.utf_8_decode(text)
        orjson.loads(known)
    except orjson.JSONDecodeError as error:
        return error.pos == len(known)
    except UnicodeDecodeError:
        return False
    return len(known.encode()) < len(text)


def _skip_line(stream: IO[bytes]) -> int:
    skipped = 0
    while rest := stream.readline(io.DEFAULT_BUFFER_SIZE):
        skipped += len(rest)
        if rest.endswith(b"\n"):
            break
    return skipped
