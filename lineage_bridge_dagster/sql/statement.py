"""What a text of SQL reads and writes: frozen records, pure.

A *text* is what one Flink statement resource holds; it can hold several statements. `Statement` is one of
them, `StatementLineage` the text as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

TablePath = tuple[str, ...]
"""A name as written, one to three parts: [[catalog,] database,] table. Case and dots are kept."""

FALLBACK_KIND = "UNKNOWN"
"""Of a statement that the parser rejected."""

_SESSION_KINDS = frozenset({"SET", "RESET", "USE", "USE CATALOG", "BEGIN STATEMENT SET", "END STATEMENT SET"})


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Where in a text, both counted from 1, columns in characters (code points)."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


@dataclass(frozen=True, slots=True)
class ViewChange:
    """A view created, altered, renamed or dropped by a statement.

    Attributes:
        action: What is done.
        path: The view as it was named.
        reads: The tables and views that its query reads; empty for rename and drop.
        temporary: Whether it lives no longer than its session.
        if_not_exists: Whether an existing view of that name is left as it is.
        new_path: The new name of a renamed view.
    """

    action: Literal["create", "alter", "rename", "drop"]
    path: TablePath
    reads: tuple[TablePath, ...] = ()
    temporary: bool = False
    if_not_exists: bool = False
    new_path: TablePath = ()


@dataclass(frozen=True, slots=True)
class SessionChange:
    """The catalog or database that names of the statements after this one are resolved in.

    None leaves it as it was; an empty database is one not known: `USE CATALOG` moves to the catalog's default
    database, which only the catalog can tell.
    """

    catalog: str | None = None
    database: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a text.

    Attributes:
        reads: Tables and views read, in the order in which they first appear.
        writes: Tables and views written, likewise.
        error: Why the parser rejected it, else None.
        kind: `INSERT`, `CREATE TABLE AS`, `SELECT`, ...; `UNKNOWN` when rejected.
        position: Where the parser stumbled, in the whole text.
        searches: External tables that a search function is given by name (`VECTOR_SEARCH_AGG(docs, ...)`):
            Flink's grammar has them as columns, so they are not among the reads.
        view: The view that it changes, if it changes one.
        session: What it changes for the statements after it, if anything.
    """

    reads: tuple[TablePath, ...] = ()
    writes: tuple[TablePath, ...] = ()
    error: str | None = None
    kind: str = ""
    position: Position | None = None
    searches: tuple[TablePath, ...] = ()
    view: ViewChange | None = None
    session: SessionChange | None = None


@dataclass(frozen=True, slots=True)
class StatementLineage:
    """A whole text: the union over its statements, and the statements themselves.

    Attributes:
        reads: Tables and views read by any of its statements, in order of appearance.
        writes: Tables and views written by any of them.
        error: Of the first statement that the parser rejected, else None. The other statements' reads and
            writes stand all the same.
        kind: The kind of its one statement that matters; `STATEMENT SET` for a set; `SCRIPT` for several
            kinds; `UNKNOWN` when nothing of it could be parsed.
        position: Where the first error is.
        statements: In the order of the text.
    """

    reads: tuple[TablePath, ...]
    writes: tuple[TablePath, ...]
    error: str | None = None
    kind: str = ""
    position: Position | None = None
    statements: tuple[Statement, ...] = ()

    @property
    def views(self) -> tuple[ViewChange, ...]:
        """Views that the text creates, alters, renames or drops, in order."""
        return tuple(s.view for s in self.statements if s.view is not None)

    @property
    def searches(self) -> tuple[TablePath, ...]:
        """External tables that search functions are given by name."""
        return unique(path for s in self.statements for path in s.searches)


def unique(paths: Iterable[TablePath]) -> tuple[TablePath, ...]:
    """The paths without repeats, in order of first appearance."""
    return tuple(dict.fromkeys(paths))


def aggregate(statements: Sequence[Statement]) -> StatementLineage:
    """The lineage of a text from its statements."""
    failed = next((s for s in statements if s.error is not None), None)
    return StatementLineage(
        reads=unique(path for s in statements for path in s.reads),
        writes=unique(path for s in statements for path in s.writes),
        error=failed.error if failed else None,
        kind=_kind(statements),
        position=failed.position if failed else None,
        statements=tuple(statements),
    )


def failure(error: str, position: Position | None = None) -> StatementLineage:
    """The lineage of a text that could not be parsed at all."""
    return aggregate([Statement(error=error, kind=FALLBACK_KIND, position=position)])


def _kind(statements: Sequence[Statement]) -> str:
    kinds = [s.kind for s in statements]
    if "BEGIN STATEMENT SET" in kinds:
        return "STATEMENT SET"
    telling = list(dict.fromkeys(k for k in kinds if k not in _SESSION_KINDS and k != FALLBACK_KIND))
    if len(telling) == 1:
        return telling[0]
    if telling:
        return "SCRIPT"
    if FALLBACK_KIND in kinds:
        return FALLBACK_KIND
    return kinds[-1] if kinds else ""
