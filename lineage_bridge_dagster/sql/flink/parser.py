"""Flink SQL -> syntax trees and tables, by Flink's own parser.

Regexes and general SQL parsers get Flink's dialect wrong without anyone noticing; the engine's own parser
does not. It is Java, so it runs in a small process beside this one, started with the first statement.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from lineage_bridge_dagster.jars.gateway import JvmDied
from lineage_bridge_dagster.sql.flink import dialect
from lineage_bridge_dagster.sql.flink.process import PYSPARK_JARS, ParserProcess
from lineage_bridge_dagster.sql.flink.split import Piece, split
from lineage_bridge_dagster.sql.flink.tables import statement_of
from lineage_bridge_dagster.sql.flink.tree import ParsedText, Tree
from lineage_bridge_dagster.sql.statement import UNKNOWN_KIND, Position, Statement, TextLineage

MAX_CHARS = 4 * 1024 * 1024
"""Longest text that is parsed. No Flink service accepts a longer one."""

_BATCH_STATEMENTS = 200
_BATCH_CHARS = 512 * 1024
_AT = re.compile(r"\s*(?:at|From|from) line \d+, column \d+(?: to line \d+, column \d+)?")
_ENCOUNTERED = re.compile(r'^Encountered "(.*)"')
_LITERAL = re.compile(r"(?<!keyword )'[^']*'")

_Response = dict[str, Any]
"""The process's response for one statement: `{"root", "nodes"}` or `{"error", "line", "column"}`."""


class FlinkSqlParser(AbstractContextManager["FlinkSqlParser"]):
    """Parses Flink SQL; a context manager.

    The JVM starts with the first statement, serves all threads one after another, is restarted after it died,
    and ends with `close()` or with this process. A statement that overflows it or takes too long fails alone.

    Args:
        java: The Java to run; by default the one found on this machine.
        classpath: Jars of the parser; by default the cached ones.
    """

    def __init__(self, *, java: Path | None = None, classpath: Sequence[Path] | None = None) -> None:
        self._java = java
        self._classpath = classpath
        self._lock = threading.RLock()
        self._process: ParserProcess | None = None

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """Process id of the JVM; None while it is not running."""
        process = self._process
        return process.pid if process is not None and process.usable else None

    def close(self) -> None:
        """End the JVM; the next call of `parse` starts another."""
        with self._lock:
            if self._process is not None:
                process, self._process = self._process, None
                process.close()

    def parse(self, texts: Sequence[str]) -> list[TextLineage]:
        """The tables that each text reads and writes, as `parse_trees`."""
        return [text.lineage for text in self.parse_trees(texts)]

    def parse_trees(self, texts: Sequence[str]) -> Iterator[ParsedText]:
        """Parse texts batch by batch, as the results are consumed, in order.

        Every text has a result: the lineage of a rejected one has `error` and `position`.

        Raises:
            ConfigurationError: Java is missing or older than 17, or a jar is missing.
            LineageBridgeError: The parser's process does not start.
        """
        for batch in _batches(texts):
            yield from self._parse_batch(batch)

    def _parse_batch(self, texts: Sequence[str]) -> list[ParsedText]:
        pieces = [split(text) if len(text) <= MAX_CHARS else [] for text in texts]
        statements = iter(self._parse_pieces([piece for of_text in pieces for piece in of_text]))
        parsed = []
        for text, of_text in zip(texts, pieces, strict=True):
            if of_text:
                found, trees = zip(*(next(statements) for _ in of_text), strict=True)
                parsed.append(ParsedText(TextLineage.of(found), trees))
            elif len(text) > MAX_CHARS:
                reason = f"{len(text):,} characters; the longest text parsed has {MAX_CHARS:,}"
                parsed.append(ParsedText(TextLineage.failed(reason), (None,)))
            else:
                failed = TextLineage.failed("no statement in it", Position(1, 1))
                parsed.append(ParsedText(failed, (None,)))
        return parsed

    def _parse_pieces(self, pieces: Sequence[Piece]) -> list[tuple[Statement, Tree | None]]:
        responses = self._responses([dialect.prepare(piece) for piece in pieces])
        retries = [
            (i, text)
            for i, response in enumerate(responses)
            if "error" in response and (text := dialect.retry(pieces[i]))
        ]
        for (i, _), response in zip(retries, self._responses([text for _, text in retries]), strict=True):
            # Rejected again: the later of the two errors is not due to Confluent's extensions.
            if "error" not in response or _place(response) > _place(responses[i]):
                responses[i] = response
        return [_statement(piece, response) for piece, response in zip(pieces, responses, strict=True)]

    def _responses(self, texts: Sequence[str]) -> list[_Response]:
        with self._lock:
            return [response for batch in _batches(texts) for response in self._send(batch)]

    def _send(self, texts: Sequence[str]) -> list[_Response]:
        """Send a batch, again and again until every text has its response."""
        responses: list[_Response] = []
        while len(responses) < len(texts):
            rest = texts[len(responses) :]
            received = self._try_send(rest)
            if received is None:
                # The process died twice on these: halve them until the statement that kills it is isolated.
                if len(rest) == 1:
                    received = [{"error": "the parser's process died on this statement"}]
                else:
                    middle = len(rest) // 2
                    received = self._send(rest[:middle]) + self._send(rest[middle:])
            responses += received
        return responses

    def _try_send(self, texts: Sequence[str]) -> list[_Response] | None:
        """Responses to the first texts, at least one; None when the process died on them twice."""
        for _ in range(2):
            try:
                responses = self._running().parse(texts)
            except JvmDied:
                self.close()
                continue
            if responses and responses[-1].get("fatal"):
                self.close()
            if responses:
                return responses
        return None

    def _running(self) -> ParserProcess:
        if self._process is not None and not self._process.usable:
            self.close()
        if self._process is None:
            # Imported here: resolving names and reading the cache need neither Java nor jars.
            from lineage_bridge_dagster import jars

            java = self._java or jars.java()
            classpath = [*(self._classpath or jars.ensure("flink")), *jars.pyspark_jars(*PYSPARK_JARS)]
            self._process = ParserProcess(java, classpath)
        return self._process


def error_message(raw: str) -> str:
    """The parser's message in one line, without the list of tokens it expected and without literals.

    A literal can be a password; the position shows which one it is.
    """
    first = raw.split("\n", 1)[0].split("after : ", 1)[0]
    encountered = _ENCOUNTERED.match(first)
    if encountered:
        head, quote, _ = encountered.group(1).partition("\\'")
        return f"Encountered \"{head}'...'\"" if quote else f'Encountered "{head}"'
    return _LITERAL.sub("'...'", _AT.sub("", first)).strip().rstrip(".,")


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Batches that fit into one call; a text larger than that is a batch of its own."""
    batch: list[str] = []
    chars = 0
    for text in texts:
        if batch and (len(batch) == _BATCH_STATEMENTS or chars + len(text) > _BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += len(text)
    if batch:
        yield batch


def _place(response: _Response) -> tuple[int, int]:
    return response.get("line", 0), response.get("column", 0)


def _statement(piece: Piece, response: _Response) -> tuple[Statement, Tree | None]:
    if "error" not in response:
        tree = Tree.of(response)
        return statement_of(tree), tree
    kind = dialect.kind_without_flow(piece)
    if kind is not None:
        return Statement(kind=kind, table=dialect.connection(piece)), None
    error = error_message(response["error"])
    if not response.get("line"):
        return Statement(error=error, kind=UNKNOWN_KIND), None
    position = piece.position(response["line"], response["column"])
    return Statement(error=f"{error} at {position}", kind=UNKNOWN_KIND, position=position), None
