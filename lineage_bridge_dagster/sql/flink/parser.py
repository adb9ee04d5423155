"""Flink SQL -> lineage, by Flink's own parser.

Regexes and general SQL parsers get Flink's dialect wrong in ways that nobody notices; the engine's own parser
does not. It is Java, so it runs in a small process beside this one, started when the first statement comes.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lineage_bridge_dagster.sql.columns.derivation import ColumnText, derive_columns
from lineage_bridge_dagster.sql.columns.statement import ColumnLineage, Schemas
from lineage_bridge_dagster.sql.flink import dialect
from lineage_bridge_dagster.sql.flink.names import NameIndex
from lineage_bridge_dagster.sql.flink.parse_cache import ParseCache
from lineage_bridge_dagster.sql.flink.process import PYSPARK_JARS, ParserProcess, ParserProcessDied
from lineage_bridge_dagster.sql.flink.split import Piece, split
from lineage_bridge_dagster.sql.flink.tables import statement_of
from lineage_bridge_dagster.sql.flink.tree import Tree
from lineage_bridge_dagster.sql.statement import (
    FALLBACK_KIND,
    Position,
    Statement,
    StatementLineage,
    aggregate,
    failure,
)

MAX_CHARS = 4 * 1024 * 1024
"""Longest text that is parsed. No Flink service takes a longer one."""


@dataclass(frozen=True, slots=True)
class ParsedText:
    """A text with the trees of its statements.

    Attributes:
        lineage: The tables that it reads and writes.
        trees: One for each of the lineage's statements; None for one that the parser rejected.
    """

    lineage: StatementLineage
    trees: tuple[Tree | None, ...]


_BATCH_STATEMENTS = 200
_BATCH_CHARS = 512 * 1024
_AT = re.compile(r"\s*(?:at|From|from) line \d+, column \d+(?: to line \d+, column \d+)?")
_ENCOUNTERED = re.compile(r'^Encountered "(.*)"')
_LITERAL = re.compile(r"(?<!keyword )'[^']*'")


class FlinkSqlParser:
    """Parses Flink SQL; a context manager.

    The JVM starts with the first statement, serves all threads one after another, is started again when it
    died, and ends with `close()` or with this process. A statement that overflows it or takes too long is an
    error of its own and harms no other.

    Args:
        cache: Texts parsed before; None parses every text given.
        java: The Java to run, else the one that is found.
        classpath: Jars of the parser, else fetched ones.
    """

    def __init__(
        self,
        *,
        cache: ParseCache | None = None,
        java: Path | None = None,
        classpath: Sequence[Path] | None = None,
    ) -> None:
        self._cache = cache
        self._java = java
        self._classpath = classpath
        self._lock = threading.RLock()
        self._owner = os.getpid()
        self._process: ParserProcess | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """Process id of the JVM; None while there is none."""
        process = self._process
        return process.pid if process is not None and process.usable else None

    def close(self) -> None:
        """Ends the JVM; the next `parse` starts another."""
        with self._lock:
            if self._process is not None:
                process, self._process = self._process, None
                process.close()

    def parse(self, statements: Sequence[str]) -> list[StatementLineage]:
        """What each text reads and writes, in order.

        Any text has an answer: one that the parser rejects has `error` and `position`.

        Raises:
            ConfigurationError: Java is missing or older than 17, or a jar is missing.
            LineageBridgeError: The parser's process does not start.
        """
        known: dict[str, StatementLineage] = {}
        new: list[str] = []
        for text in dict.fromkeys(statements):
            cached = self._cache.get(text) if self._cache is not None else None
            if cached is None:
                new.append(text)
            else:
                known[text] = cached
        for text, parsed in zip(new, self.parse_trees(new), strict=True):
            known[text] = parsed.lineage
            if self._cache is not None:
                self._cache.put(text, parsed.lineage)
        return [known[text] for text in statements]

    def parse_trees(self, texts: Sequence[str]) -> Iterator[ParsedText]:
        """As `parse`, with the trees, for what goes down to columns; parsed as they are asked for, uncached.

        Raises:
            ConfigurationError: Java is missing or older than 17, or a jar is missing.
            LineageBridgeError: The parser's process does not start.
        """
        for group in _batches(texts):
            yield from self._parse_group(group)

    def columns(
        self,
        texts: Sequence[str],
        schemas: Schemas | None = None,
        *,
        catalog: str = "",
        database: str = "",
        index: NameIndex | None = None,
    ) -> list[tuple[ColumnLineage, ...]]:
        """What each column that the texts write is made of, in order; views are seen through.

        Args:
            texts: In the order in which they were made: one may read views and tables that another defines.
            schemas: Columns of tables, by canonical path.
            catalog: The current catalog of all of them; empty when unknown.
            database: The current database, likewise.
            index: Names of clusters, for canonical paths.

        Raises:
            ConfigurationError: Java is missing or older than 17, or a jar is missing.
            LineageBridgeError: The parser's process does not start.
        """
        parsed = (
            ColumnText(one.lineage.statements, one.trees, catalog, database)
            for one in self.parse_trees(texts)
        )
        return [one.written for one in derive_columns(parsed, schemas, index)]

    def _parse_group(self, texts: Sequence[str]) -> list[ParsedText]:
        pieces = [split(text) if len(text) <= MAX_CHARS else [] for text in texts]
        flat = [piece for of_text in pieces for piece in of_text]
        parsed = iter(self._statements(flat))
        lineages = []
        for text, of_text in zip(texts, pieces, strict=True):
            if of_text:
                statements, trees = zip(*(next(parsed) for _ in of_text), strict=True)
                lineages.append(ParsedText(aggregate(statements), trees))
            elif len(text) > MAX_CHARS:
                reason = f"{len(text):,} characters; the longest text parsed has {MAX_CHARS:,}"
                lineages.append(ParsedText(failure(reason), (None,)))
            else:
                lineages.append(ParsedText(failure("no statement in it", Position(1, 1)), (None,)))
        return lineages

    def _statements(self, pieces: Sequence[Piece]) -> list[tuple[Statement, Tree | None]]:
        answers = self._answers([dialect.prepare(piece) for piece in pieces])
        again = [
            (i, text) for i, a in enumerate(answers) if "error" in a and (text := dialect.retry(pieces[i]))
        ]
        for (i, _), answer in zip(again, self._answers([text for _, text in again]), strict=True):
            # Rejected again: the reason that lies farther on is the one that our change did not cure.
            if "error" not in answer or _place(answer) > _place(answers[i]):
                answers[i] = answer
        return [_statement(piece, answer) for piece, answer in zip(pieces, answers, strict=True)]

    def _answers(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """The parser's answer to each statement."""
        with self._lock:
            return [answer for batch in _batches(texts) for answer in self._batch(batch)]

    def _batch(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        answers: list[dict[str, Any]] = []
        while len(answers) < len(texts):
            rest = texts[len(answers) :]
            got = self._ask(rest)
            if got is None:
                # It died twice on these: find the one that kills it. Alone, that one has its answer.
                if len(rest) == 1:
                    got = [{"error": "the parser's process died on this statement"}]
                else:
                    middle = len(rest) // 2
                    got = self._batch(rest[:middle]) + self._batch(rest[middle:])
            answers += got
        return answers

    def _ask(self, texts: Sequence[str]) -> list[dict[str, Any]] | None:
        """Answers to the first of the texts, at least one; None when the process died on them twice."""
        for _ in range(2):
            try:
                answers = self._running().parse(texts)
            except ParserProcessDied:
                self.close()
                continue
            if answers and answers[-1].get("fatal"):
                self.close()
            if answers:
                return answers
        return None

    def _running(self) -> ParserProcess:
        if self._process is not None and not self._process.usable:
            self.close()
        if self._process is None:
            # Imported here: what only resolves names or reads a cache needs neither Java nor jars.
            from lineage_bridge_dagster import jars

            java = self._java or jars.java()
            classpath = [*(self._classpath or jars.ensure("flink")), *jars.pyspark_jars(*PYSPARK_JARS)]
            self._process = ParserProcess(java, classpath)
        return self._process


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Runs of texts that one call can carry; a text that is larger alone is a run of its own."""
    group: list[str] = []
    total = 0
    for text in texts:
        if group and (len(group) == _BATCH_STATEMENTS or total + len(text) > _BATCH_CHARS):
            yield group
            group, total = [], 0
        group.append(text)
        total += len(text)
    if group:
        yield group


def _place(answer: dict[str, Any]) -> tuple[int, int]:
    return answer.get("line", 0), answer.get("column", 0)


def _statement(piece: Piece, answer: dict[str, Any]) -> tuple[Statement, Tree | None]:
    if "error" not in answer:
        tree = Tree.of(answer)
        return statement_of(tree), tree
    return _rejected(piece, answer), None


def _rejected(piece: Piece, answer: dict[str, Any]) -> Statement:
    kind = dialect.kind_without_flow(piece)
    if kind is not None:
        return Statement(kind=kind)
    error = message(answer["error"])
    if not answer.get("line"):
        return Statement(error=error, kind=FALLBACK_KIND)
    position = piece.position(answer["line"], answer["column"])
    return Statement(error=f"{error} at {position}", kind=FALLBACK_KIND, position=position)


def message(raw: str) -> str:
    """The parser's message in one line: no list of all it would have taken, no literal's text.

    A literal can be a password; the position tells which one it is.
    """
    first = raw.split("\n", 1)[0].split("after : ", 1)[0]
    encountered = _ENCOUNTERED.match(first)
    if encountered:
        head, quote, _ = encountered.group(1).partition("\\'")
        return f"Encountered \"{head}'...'\"" if quote else f'Encountered "{head}"'
    return _LITERAL.sub("'...'", _AT.sub("", first)).strip().rstrip(".,")
