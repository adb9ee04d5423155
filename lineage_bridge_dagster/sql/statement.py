"""Tables that SQL reads and writes: frozen records, pure.

A *text* is the SQL of one Flink statement resource and can hold several statements. `SqlStatement` is one of
them, `TextLineage` the whole text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

TablePath = tuple[str, ...]
"""A table name as written, one to three parts: [[catalog,] database,] table. Case and dots are kept."""

UNKNOWN_KIND = "UNKNOWN"
"""Kind of a statement that the parser rejected."""

NEWLINE = re.compile(r"\r\n|\r|\n")
"""The end of a line."""

_SESSION_KINDS = frozenset({"SET", "RESET", "USE", "USE CATALOG", "BEGIN STATEMENT SET", "END STATEMENT SET"})


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Line and column in a text, both counted from 1, columns in code points."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


class Positions:
    """Lines and columns of a text, whose lines are found once."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(newline.end() for newline in NEWLINE.finditer(text))]

    def of(self, start: int) -> Position:
        """Line and column of an offset."""
        line = bisect_right(self._starts, start)
        return Position(line, start - self._starts[line - 1] + 1)


@dataclass(frozen=True, slots=True)
class ViewChange:
    """A view that a statement creates, alters, renames or drops.

    Attributes:
        action: What the statement does to the view.
        path: The view's name.
        reads: Tables and views that its query reads or searches; empty for rename and drop.
        temporary: Whether it ends with its session.
        if_not_exists: Whether an existing view of that name is left unchanged.
        new_path: The new name of a renamed view.
    """

    action: Literal["create", "alter", "rename", "drop"]
    path: TablePath
    reads: tuple[TablePath, ...] = ()
    temporary: bool = False
    if_not_exists: bool = False
    new_path: TablePath = ()

    @property
    def defines(self) -> bool:
        """Whether the statement contains the view's query."""
        return self.action in ("create", "alter")


@dataclass(frozen=True, slots=True)
class TableChange:
    """A table that a statement creates, replaces, drops or configures, or a connection that tables use.

    Attributes:
        action: What the statement does; `connect` to create or configure a connection.
        path: The table's or the connection's name.
        options: Those that tell what the table stands for, without secrets; an empty value resets one.
        if_not_exists: Whether an existing table of that name is left unchanged.
        base: The table whose options it takes over (`LIKE`).
    """

    action: Literal["create", "replace", "drop", "set", "connect"]
    path: TablePath
    options: tuple[tuple[str, str], ...] = ()
    if_not_exists: bool = False
    base: TablePath = ()


@dataclass(frozen=True, slots=True)
class SessionChange:
    """The current catalog and database for later statements.

    None leaves the value unchanged. An empty database is unknown: `USE CATALOG` switches to the catalog's
    default database, which only the catalog knows.
    """

    catalog: str | None = None
    database: str | None = None


class TableSink(NamedTuple):
    """A table that is written, and the tables and views that it is made of, in order of first appearance."""

    path: TablePath
    reads: tuple[TablePath, ...]


@dataclass(frozen=True, slots=True)
class SqlStatement:
    """One statement of a text.

    Attributes:
        reads: Tables and views read, in order of first appearance.
        writes: Tables and views written, likewise.
        error: Why the parser rejected it, else None.
        kind: `INSERT`, `CREATE TABLE AS`, `SELECT`, ...; `UNKNOWN` when rejected.
        position: Where in the whole text the parser failed.
        searches: External tables passed to a search function by name (`VECTOR_SEARCH_AGG(docs, ...)`). They
            are columns in Flink's grammar, so they are not among the reads.
        view: The view that it changes, if any.
        table: The table or connection that it changes, if any.
        session: What it changes for later statements, if anything.
        parts: The writes of a statement set, each with its own reads; empty for another statement.
    """

    reads: tuple[TablePath, ...] = ()
    writes: tuple[TablePath, ...] = ()
    error: str | None = None
    kind: str = ""
    position: Position | None = None
    searches: tuple[TablePath, ...] = ()
    view: ViewChange | None = None
    table: TableChange | None = None
    session: SessionChange | None = None
    parts: tuple[TableSink, ...] = ()

    @property
    def sources(self) -> tuple[TablePath, ...]:
        """Tables and views that data comes from: those read, then those searched."""
        return unique((*self.reads, *self.searches))

    @property
    def sinks(self) -> tuple[TableSink, ...]:
        """The tables and views that it writes, each with those that it is made of."""
        return self.parts or tuple(TableSink(path, self.sources) for path in self.writes)


@dataclass(frozen=True, slots=True)
class TextLineage:
    """Tables that a whole text reads and writes, with its statements.

    Attributes:
        reads: Tables and views that any of its statements reads, in order of first appearance.
        writes: Tables and views that any of them writes, likewise.
        error: Error of the first rejected statement, else None. Reads and writes of the other statements are
            included regardless.
        kind: Kind of its statements, ignoring those that only change the session; `STATEMENT SET` for a set,
            `SCRIPT` for several kinds, `UNKNOWN` when nothing could be parsed.
        position: Position of the first error.
        statements: In the order of the text.
    """

    reads: tuple[TablePath, ...]
    writes: tuple[TablePath, ...]
    error: str | None = None
    kind: str = ""
    position: Position | None = None
    statements: tuple[SqlStatement, ...] = ()

    @classmethod
    def of(cls, statements: Sequence[SqlStatement]) -> Self:
        """Combine the statements of a text."""
        failed = next((s for s in statements if s.error is not None), None)
        return cls(
            reads=unique(path for s in statements for path in s.reads),
            writes=unique(path for s in statements for path in s.writes),
            error=failed.error if failed else None,
            kind=_kind(statements),
            position=failed.position if failed else None,
            statements=tuple(statements),
        )

    @classmethod
    def failed(cls, error: str, position: Position | None = None) -> Self:
        """Lineage of a text that could not be parsed at all."""
        return cls.of([SqlStatement(error=error, kind=UNKNOWN_KIND, position=position)])

    @property
    def views(self) -> tuple[ViewChange, ...]:
        """View changes, in order."""
        return tuple(s.view for s in self.statements if s.view is not None)


def unique(paths: Iterable[TablePath]) -> tuple[TablePath, ...]:
    """Distinct paths, in order of first appearance."""
    return tuple(dict.fromkeys(paths))


def _kind(statements: Sequence[SqlStatement]) -> str:
    kinds = [s.kind for s in statements]
    if "BEGIN STATEMENT SET" in kinds:
        return "STATEMENT SET"
    parsed = list(dict.fromkeys(k for k in kinds if k not in _SESSION_KINDS and k != UNKNOWN_KIND))
    if len(parsed) == 1:
        return parsed[0]
    if parsed:
        return "SCRIPT"
    if UNKNOWN_KIND in kinds:
        return UNKNOWN_KIND
    return kinds[-1] if kinds else ""
