"""ksqlDB's SQL -> the streams and tables that it reads and writes, and their topics. Pure.

Used only for queries that ksqlDB's engine does not describe. The language has no subqueries, CTEs or set
operators, so all sources follow FROM and JOIN, and expressions are skipped. `parse` returns streams and
tables; `topic_flows` resolves them to topics.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from lineage_bridge_dagster.sql.ksql.tokens import (
    Cursor,
    Kind,
    KsqlError,
    Token,
    position,
    statements,
    tokens,
)
from lineage_bridge_dagster.sql.statement import (
    UNKNOWN_KIND,
    Position,
    Statement,
    TablePath,
    TextLineage,
    unique,
)

# Starts of the clauses after FROM; none of these can be an alias.
_CLAUSES = (
    ("WINDOW",),
    ("WHERE",),
    ("GROUP", "BY"),
    ("PARTITION", "BY"),
    ("HAVING",),
    ("EMIT", "CHANGES"),
    ("EMIT", "FINAL"),
    ("LIMIT",),
)
_JOINS = (
    ("JOIN",),
    ("INNER", "JOIN"),
    *((side, *outer, "JOIN") for side in ("LEFT", "RIGHT", "FULL") for outer in ((), ("OUTER",))),
)
# First words of statements without data flow.
_PLAIN = frozenset(
    {
        *("LIST", "SHOW", "DESCRIBE", "PRINT", "TERMINATE", "PAUSE", "RESUME", "SET", "UNSET", "ALTER"),
        *("UNDEFINE", "DROP", "EXPLAIN", "ASSERT", "RUN"),
    }
)


@dataclass(frozen=True, slots=True)
class Declaration:
    """A stream or table that a statement creates.

    Attributes:
        name: Its name, folded to upper case unless quoted.
        relation: Which of the two.
        topic: Its topic: `KAFKA_TOPIC`, by default its name.
        source: Whether it is read-only (`CREATE SOURCE ...`). A source table has a query of its own, which
            reads its topic.
        derived: Whether a query fills it.
        key: Declared key columns.
        value: Declared value columns, without header columns.
    """

    name: str
    relation: Literal["STREAM", "TABLE"]
    topic: str
    source: bool = False
    derived: bool = False
    key: tuple[str, ...] = ()
    value: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KsqlText:
    """A parsed text.

    Attributes:
        lineage: Streams and tables that it reads and writes, each a path of one part.
        declarations: Streams and tables that it creates.
    """

    lineage: TextLineage
    declarations: tuple[Declaration, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicFlow:
    """Topics that a text reads and writes.

    Attributes:
        reads: Topics, in order of first appearance.
        writes: Likewise.
        unresolved: Streams and tables that no text creates: their topics are unknown.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()


def parse(texts: Sequence[str]) -> list[TextLineage]:
    """Streams and tables that each text reads and writes; a rejected text has `error`."""
    return [parse_text(text).lineage for text in texts]


def parse_text(text: str) -> KsqlText:
    """Parse a text. Never fails: rejected statements have `error`."""
    found: list[Statement] = []
    declarations: list[Declaration] = []
    variables: dict[str, str] = {}
    for statement in statements(tokens(text)):
        reader = _Reader(Cursor(statement, variables))
        try:
            found.append(reader.statement())
        except KsqlError as error:
            where = position(text, error.start)
            found.append(Statement(error=f"{error.message} at {where}", kind=UNKNOWN_KIND, position=where))
            continue
        if reader.declaration is not None:
            declarations.append(reader.declaration)
        variables.update(reader.variables)
    if not found:
        return KsqlText(TextLineage.failed("no statement in it", Position(1, 1)))
    return KsqlText(TextLineage.of(found), tuple(declarations))


def topic_flows(texts: Iterable[KsqlText]) -> list[TopicFlow]:
    """The topics of each text, found through the declarations in all of them.

    A name refers to its latest declaration so far; before any, to the first one that follows.
    """
    known = list(texts)
    topics: dict[str, str] = {}
    for text in known:
        for declaration in text.declarations:
            topics.setdefault(declaration.name, declaration.topic)
    flows = []
    for text in known:
        topics.update({d.name: d.topic for d in text.declarations})
        names = [path[-1] for path in (*text.lineage.reads, *text.lineage.writes)]
        tables = (d.topic for d in text.declarations if d.source and d.relation == "TABLE")
        reads = [topics[path[-1]] for path in text.lineage.reads if path[-1] in topics]
        flows.append(
            TopicFlow(
                tuple(dict.fromkeys([*reads, *tables])),
                tuple(dict.fromkeys(topics[p[-1]] for p in text.lineage.writes if p[-1] in topics)),
                tuple(dict.fromkeys(name for name in names if name not in topics)),
            )
        )
    return flows


@dataclass(slots=True)
class _Reader:
    """Parses one statement."""

    cursor: Cursor
    declaration: Declaration | None = None
    variables: dict[str, str] = field(default_factory=dict)

    def statement(self) -> Statement:
        cursor = self.cursor
        if cursor.sees("SELECT"):
            return Statement(reads=self._query(), kind="SELECT")
        if cursor.take("INSERT"):
            cursor.expect("INTO")
            return self._insert()
        if cursor.take("CREATE"):
            return self._create()
        if cursor.take("DEFINE"):
            name = cursor.name()
            cursor.expect("=")
            self.variables["${" + name + "}"] = cursor.literal()
            return Statement(kind="DEFINE")
        first = cursor.peek()
        if first is None or not first.is_any(*_PLAIN):
            raise cursor.unexpected("a statement of ksqlDB")
        return Statement(kind=_plain_kind(cursor))

    def _insert(self) -> Statement:
        cursor = self.cursor
        target = (cursor.name(),)
        if cursor.sees("WITH"):
            self._properties()
        if cursor.sees("SELECT"):
            return Statement(reads=self._query(), writes=(target,), kind="INSERT")
        if cursor.sees("("):
            cursor.group()
        cursor.expect("VALUES")
        cursor.group()
        self._end()
        return Statement(writes=(target,), kind="INSERT VALUES")

    def _create(self) -> Statement:
        cursor = self.cursor
        replaces = cursor.take("OR", "REPLACE")
        if not replaces and cursor.sees("TYPE"):
            return Statement(kind="CREATE TYPE")
        if not replaces and (cursor.sees("SINK", "CONNECTOR") or cursor.sees("SOURCE", "CONNECTOR")):
            return Statement(kind="CREATE CONNECTOR")
        source = cursor.take("SOURCE")
        relation: Literal["STREAM", "TABLE"] = "STREAM"
        if not cursor.take("STREAM"):
            cursor.expect("TABLE")
            relation = "TABLE"
        cursor.take("IF", "NOT", "EXISTS")
        name = cursor.name()
        declaration = Declaration(name, relation, name, source)
        if cursor.sees("("):
            declaration = _with_columns(declaration, cursor.group(types=True))
        if cursor.sees("WITH"):
            topic = self._properties().get("KAFKA_TOPIC", name)
            declaration = replace(declaration, topic=topic)
        kind = f"CREATE {'SOURCE ' * source}{relation}"
        if cursor.take("AS"):
            reads = self._query()
            self.declaration = replace(declaration, derived=True)
            return Statement(reads=reads, writes=((name,),), kind=f"{kind} AS")
        self._end()
        self.declaration = declaration
        return Statement(kind=kind)

    def _query(self) -> tuple[TablePath, ...]:
        """Parse a query, which extends to the end of the statement, into its sources."""
        cursor = self.cursor
        cursor.expect("SELECT")
        if not cursor.skip_to(("FROM",)):
            raise cursor.unexpected("FROM")
        cursor.expect("FROM")
        sources = [self._source()]
        while self._join():
            sources.append(self._source())
            if cursor.take("WITHIN") and not cursor.skip_to(("ON",)):
                raise cursor.unexpected("ON")
            cursor.expect("ON")
            cursor.skip_to(*_JOINS_AND_CLAUSES)
        if not cursor.done and not any(cursor.sees(*clause) for clause in _CLAUSES):
            raise cursor.unexpected("JOIN, WHERE, GROUP BY or another clause")
        cursor.skip_to()
        return unique((source,) for source in sources)

    def _join(self) -> bool:
        cursor = self.cursor
        return any(cursor.take(*join) for join in _JOINS)

    def _source(self) -> str:
        cursor = self.cursor
        name = cursor.name()
        if cursor.take("AS"):
            cursor.name()
            return name
        token = cursor.peek()
        ends = (*_JOINS_AND_CLAUSES, ("WITHIN",), ("ON",))
        named = token is not None and token.kind in (Kind.WORD, Kind.QUOTED, Kind.VARIABLE)
        if named and not any(cursor.sees(*end) for end in ends):
            cursor.name()
        return name

    def _properties(self) -> dict[str, str]:
        """Parse a WITH; returns only the property that names the topic, since others can be secrets."""
        cursor = self.cursor
        cursor.expect("WITH")
        found = {}
        for member in cursor.group():
            inner = Cursor(member, cursor.variables)
            key = inner.literal().upper()
            inner.expect("=")
            if key == "KAFKA_TOPIC":
                found[key] = inner.literal()
        return found

    def _end(self) -> None:
        if not self.cursor.done:
            raise self.cursor.unexpected("the end of the statement")


_JOINS_AND_CLAUSES = (*_JOINS, *_CLAUSES)


def _plain_kind(cursor: Cursor) -> str:
    first, second = cursor.peek(), cursor.peek(1)
    words = [token.text for token in (first, second) if token is not None and token.kind is Kind.WORD]
    return " ".join(words[: 2 if words[0] in ("DROP", "ALTER", "SHOW", "LIST", "RUN") else 1])


def _with_columns(declaration: Declaration, members: Sequence[Sequence[Token]]) -> Declaration:
    key: list[str] = []
    value: list[str] = []
    for name, *rest in members:
        words = [token.text for token in rest if token.kind is Kind.WORD]
        if words[-1:] == ["KEY"]:
            key.append(name.text)
        elif "HEADERS" not in words and "HEADER" not in words:
            value.append(name.text)
    return replace(declaration, key=tuple(key), value=tuple(value))
