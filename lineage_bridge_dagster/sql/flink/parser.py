"""Flink SQL -> syntax trees and tables, by Flink's own parser.

Regexes and general SQL parsers get Flink's dialect wrong without anyone noticing; the engine's own parser
does not. It is Java, so it runs in a small process beside this one, started with the first statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.jars.worker import Answer, JvmProgram, JvmWorker, batches
from lineage_bridge_dagster.sql.flink import dialect
from lineage_bridge_dagster.sql.flink.split import StatementText, split
from lineage_bridge_dagster.sql.flink.tables import statement_of
from lineage_bridge_dagster.sql.flink.tree import ParsedText, Tree
from lineage_bridge_dagster.sql.statement import UNKNOWN_KIND, Position, SqlStatement, TextLineage

MAX_CHARS = 4 * 1024 * 1024
"""Longest text that is parsed. No Flink service accepts a longer one."""

PROGRAM = JvmProgram(
    name="Flink's SQL parser",
    died_on="the parser's process died on this statement",
    package=__package__,
    sources=("TreeNodes.java", "TableWriter.java", "TreeWriter.java", "FlinkTrees.java"),
    # Loaded by flink-sql-parser and Calcite while they parse.
    pyspark_jars=("guava", "slf4j-api", "commons-math3"),
    # As in Flink's planner: literals may contain any character.
    options=("-Xmx192m", "-Dcalcite.default.charset=utf8"),
    # None of tens of thousands of statements needed a tenth of it.
    milliseconds=20_000,
    archives=lambda: jars.ensure("flink"),
)

_AT = re.compile(r"\s*(?:at|From|from) line \d+, column \d+(?: to line \d+, column \d+)?")
_ENCOUNTERED = re.compile(r'^Encountered "(.*)"')
_LITERAL = re.compile(r"(?<!keyword )'[^']*'")


class FlinkSqlParser(AbstractContextManager["FlinkSqlParser"]):
    """Parses Flink SQL; a context manager.

    The JVM starts with the first statement, serves all threads one after another, is restarted after it died,
    and ends with `close()` or with this process. A statement that overflows it or takes too long fails alone.

    Args:
        java: The Java to run; by default the one found on this machine.
    """

    def __init__(self, *, java: Path | None = None) -> None:
        self._worker = JvmWorker(PROGRAM, java)

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """Process id of the JVM; None while it is not running."""
        return self._worker.pid

    def close(self) -> None:
        """End the JVM; the next call of `parse` starts another."""
        self._worker.close()

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
        for batch in batches(texts):
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

    def _parse_pieces(self, pieces: Sequence[StatementText]) -> list[tuple[SqlStatement, Tree | None]]:
        responses = self._worker.answers([dialect.prepare(piece) for piece in pieces])
        retries = [
            (i, text)
            for i, response in enumerate(responses)
            if "error" in response and (text := dialect.retry(pieces[i]))
        ]
        for (i, _), response in zip(
            retries, self._worker.answers([text for _, text in retries]), strict=True
        ):
            # Rejected again: the later of the two errors is not due to Confluent's extensions.
            if "error" not in response or _place(response) > _place(responses[i]):
                responses[i] = response
        return [_statement(piece, response) for piece, response in zip(pieces, responses, strict=True)]


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


def _place(response: Answer) -> tuple[int, int]:
    return response.get("line", 0), response.get("column", 0)


def _statement(piece: StatementText, response: Answer) -> tuple[SqlStatement, Tree | None]:
    if "error" not in response:
        tree = Tree.of(response)
        return statement_of(tree), tree
    kind = dialect.kind_without_flow(piece)
    if kind is not None:
        return SqlStatement(kind=kind, table=dialect.connection(piece)), None
    error = error_message(response["error"])
    if not response.get("line"):
        return SqlStatement(error=error, kind=UNKNOWN_KIND), None
    position = piece.position(response["line"], response["column"])
    return SqlStatement(error=f"{error} at {position}", kind=UNKNOWN_KIND, position=position), None
