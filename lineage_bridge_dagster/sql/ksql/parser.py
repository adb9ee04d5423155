"""ksqlDB's SQL -> the streams and tables that it reads and writes, and their topics. Pure.

Used only for queries that ksqlDB's engine does not describe. The language has no subqueries, CTEs or set
operators, so all sources follow FROM and JOIN. Expressions are kept as tokens: one that cannot be parsed
costs a column (see `derivation.py`), never a table. `parse` returns streams and tables; `topic_flows`
resolves them to topics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from lineage_bridge_dagster.sql.columns.types import SqlType
from lineage_bridge_dagster.sql.ksql.syntax import (
    ColumnPlace,
    Declaration,
    Form,
    KsqlColumn,
    Query,
    QuerySource,
    Tokens,
)
from lineage_bridge_dagster.sql.ksql.tokens import (
    KsqlError,
    KsqlToken,
    TokenCursor,
    TokenKind,
    Variables,
    statements,
    tokens,
)
from lineage_bridge_dagster.sql.ksql.types import read_type
from lineage_bridge_dagster.sql.statement import (
    UNKNOWN_KIND,
    Position,
    Positions,
    SqlStatement,
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
# Properties that are read; others can be secrets.
_PROPERTIES = frozenset({"KAFKA_TOPIC", "FORMAT", "KEY_FORMAT", "VALUE_FORMAT", "WINDOW_TYPE"})
# First words of statements without data flow.
_PLAIN = frozenset(
    {
        *("LIST", "SHOW", "DESCRIBE", "PRINT", "TERMINATE", "PAUSE", "RESUME", "SET", "UNSET", "ALTER"),
        *("UNDEFINE", "DROP", "EXPLAIN", "ASSERT", "RUN"),
    }
)


@dataclass(frozen=True, slots=True)
class KsqlText:
    """A parsed text.

    Attributes:
        lineage: Streams and tables that it reads and writes, each a path of one part.
        declarations: Streams and tables that it creates.
        forms: What each statement does to columns; None where it does nothing.
        types: Types that it defines, by name.
    """

    lineage: TextLineage
    declarations: tuple[Declaration, ...] = ()
    forms: tuple[Form | None, ...] = ()
    types: Mapping[str, SqlType | None] = field(default_factory=dict)


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
    found: list[SqlStatement] = []
    declarations: list[Declaration] = []
    forms: list[Form | None] = []
    variables = Variables()
    types: dict[str, SqlType | None] = {}
    positions = Positions(text)
    for statement in statements(tokens(text)):
        reader = _Reader(TokenCursor(statement, variables), types)
        try:
            found.append(reader.statement())
        except KsqlError as error:
            where = positions.of(error.start)
            found.append(SqlStatement(error=f"{error.message} at {where}", kind=UNKNOWN_KIND, position=where))
            forms.append(None)
            continue
        forms.append(reader.form)
        if reader.declaration is not None:
            declarations.append(reader.declaration)
        if reader.defined is not None:
            variables = variables.with_value(*reader.defined)
    if not found:
        return KsqlText(TextLineage.failed("no statement in it", Position(1, 1)))
    return KsqlText(TextLineage.of(found), tuple(declarations), tuple(forms), types)


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

    cursor: TokenCursor
    types: dict[str, SqlType | None]
    declaration: Declaration | None = None
    form: Form | None = None
    defined: tuple[str, str] | None = None

    def statement(self) -> SqlStatement:
        cursor = self.cursor
        if cursor.sees("SELECT"):
            query = self._query()
            self.form = Form("select", query=query)
            return SqlStatement(reads=_reads(query), kind="SELECT")
        if cursor.take("INSERT"):
            cursor.expect("INTO")
            return self._insert()
        if cursor.take("CREATE"):
            return self._create()
        if cursor.take("DEFINE"):
            name = cursor.name()
            cursor.expect("=")
            self.defined = ("${" + name + "}", cursor.literal())
            return SqlStatement(kind="DEFINE")
        first = cursor.peek()
        if first is None or not first.is_any(*_PLAIN):
            raise cursor.unexpected("a statement of ksqlDB")
        kind = _plain_kind(cursor)
        if kind in ("DROP STREAM", "DROP TABLE", "ALTER STREAM", "ALTER TABLE"):
            self.form = self._changed()
        return SqlStatement(kind=kind)

    def _changed(self) -> Form | None:
        """What a DROP or an ALTER does; None if it cannot be parsed, for it moves no data."""
        cursor = self.cursor
        try:
            drops = cursor.take("DROP")
            cursor.at += 1 if drops else 2
            cursor.take("IF", "EXISTS")
            name = cursor.name()
            if drops:
                return Form("drop", name)
            added: list[KsqlColumn] = []
            while not added or cursor.take(","):
                cursor.expect("ADD")
                cursor.take("COLUMN")
                added.append(KsqlColumn(cursor.name(), type=read_type(cursor, self.types)))
        except KsqlError:
            return None
        return Form("alter", name, columns=tuple(added))

    def _insert(self) -> SqlStatement:
        cursor = self.cursor
        name = cursor.name()
        target = (name,)
        if cursor.sees("WITH"):
            self._properties()
        if cursor.sees("SELECT"):
            query = self._query()
            self.form = Form("insert", name, query=query)
            return SqlStatement(reads=_reads(query), writes=(target,), kind="INSERT")
        listed = cursor.group() if cursor.sees("(") else []
        cursor.expect("VALUES")
        cursor.group()
        self._end()
        columns = (KsqlColumn(self._text(member)) for member in listed)
        self.form = Form("insert", name, columns=tuple(columns))
        return SqlStatement(writes=(target,), kind="INSERT VALUES")

    def _text(self, member: Sequence[KsqlToken]) -> str:
        try:
            return TokenCursor(member, self.cursor.variables).name()
        except KsqlError:
            return member[0].text

    def _create(self) -> SqlStatement:
        cursor = self.cursor
        replaces = cursor.take("OR", "REPLACE")
        if not replaces and cursor.take("TYPE"):
            self._create_type()
            return SqlStatement(kind="CREATE TYPE")
        if not replaces and (cursor.sees("SINK", "CONNECTOR") or cursor.sees("SOURCE", "CONNECTOR")):
            return SqlStatement(kind="CREATE CONNECTOR")
        source = cursor.take("SOURCE")
        relation: Literal["STREAM", "TABLE"] = "STREAM"
        if not cursor.take("STREAM"):
            cursor.expect("TABLE")
            relation = "TABLE"
        keeps = cursor.take("IF", "NOT", "EXISTS")
        name = cursor.name()
        declaration = Declaration(name, relation, name, source)
        if cursor.sees("("):
            columns = (self._column(member) for member in cursor.group(types=True))
            declaration = replace(declaration, columns=tuple(columns))
        if cursor.sees("WITH"):
            properties = self._properties()
            both = properties.get("FORMAT", "")
            declaration = replace(
                declaration,
                topic=properties.get("KAFKA_TOPIC", name),
                key_format=properties.get("KEY_FORMAT", both).upper(),
                value_format=properties.get("VALUE_FORMAT", both).upper(),
                windowed="WINDOW_TYPE" in properties,
            )
        kind = f"CREATE {'SOURCE ' * source}{relation}"
        if cursor.take("AS"):
            query = self._query()
            self.declaration = declaration
            self.form = Form("create", name, self.declaration, query, (), replaces, keeps)
            return SqlStatement(reads=_reads(query), writes=((name,),), kind=f"{kind} AS")
        self._end()
        self.declaration = declaration
        self.form = Form("create", name, declaration, None, (), replaces, keeps)
        return SqlStatement(kind=kind)

    def _create_type(self) -> None:
        """Note the type that a CREATE TYPE defines; it moves no data, so an unknown one is not an error."""
        cursor = self.cursor
        try:
            keeps = cursor.take("IF", "NOT", "EXISTS")
            name = cursor.name()
            if keeps and name in self.types:
                return
            self.types[name] = None
            cursor.expect("AS")
            self.types[name] = read_type(cursor, self.types)
        except KsqlError:
            return

    def _column(self, member: Sequence[KsqlToken]) -> KsqlColumn:
        """A declared column; one whose type cannot be parsed has none."""
        cursor = TokenCursor(member, self.cursor.variables)
        try:
            name, of = cursor.name(), read_type(cursor, self.types)
        except KsqlError:
            name, of = self._text(member), None
        words = {token.text for token in member[max(cursor.at, 1) :] if token.kind is TokenKind.WORD}
        if "HEADERS" in words or "HEADER" in words:
            return KsqlColumn(name, ColumnPlace.HEADER, of)
        return KsqlColumn(name, ColumnPlace.KEY if "KEY" in words else ColumnPlace.VALUE, of)

    def _query(self) -> Query:
        """Parse a query, which extends to the end of the statement."""
        cursor = self.cursor
        cursor.expect("SELECT")
        start = cursor.at
        if not cursor.skip_to(("FROM",)):
            raise cursor.unexpected("FROM")
        items = cursor.split(start)
        cursor.expect("FROM")
        sources = [self._source()]
        while (is_outer := self._join()) is not None:
            source = replace(self._source(), is_outer=is_outer)
            if cursor.take("WITHIN") and not cursor.skip_to(("ON",)):
                raise cursor.unexpected("ON")
            cursor.expect("ON")
            sources.append(replace(source, condition=self._clause(*_JOINS_AND_CLAUSES)))
        if not cursor.done and not any(cursor.sees(*clause) for clause in _CLAUSES):
            raise cursor.unexpected("JOIN, WHERE, GROUP BY or another clause")
        clauses: dict[tuple[str, ...], Tokens] = {}
        while (clause := next((c for c in _CLAUSES if cursor.take(*c)), None)) is not None:
            clauses[clause] = self._clause(*_CLAUSES)
        return Query(
            tuple(items),
            tuple(sources),
            clauses.get(("GROUP", "BY")),
            clauses.get(("PARTITION", "BY")),
            ("WINDOW",) in clauses,
            cursor.variables,
        )

    def _clause(self, *ends: tuple[str, ...]) -> Tokens:
        """Read up to the first of these, or to the end."""
        start = self.cursor.at
        self.cursor.skip_to(*ends)
        return self.cursor.read_since(start)

    def _join(self) -> bool | None:
        """Read the start of a join. Returns whether it is a full one; None if none follows."""
        cursor = self.cursor
        join = next((join for join in _JOINS if cursor.take(*join)), None)
        return None if join is None else join[0] == "FULL"

    def _source(self) -> QuerySource:
        cursor = self.cursor
        name = cursor.name()
        if cursor.take("AS"):
            return QuerySource(name, cursor.name())
        token = cursor.peek()
        ends = (*_JOINS_AND_CLAUSES, ("WITHIN",), ("ON",))
        named = token is not None and token.kind in (TokenKind.WORD, TokenKind.QUOTED, TokenKind.VARIABLE)
        if named and not any(cursor.sees(*end) for end in ends):
            return QuerySource(name, cursor.name())
        return QuerySource(name, name)

    def _properties(self) -> dict[str, str]:
        """Parse a WITH; returns only the properties that matter here, since others can be secrets."""
        cursor = self.cursor
        cursor.expect("WITH")
        found = {}
        for member in cursor.group():
            inner = TokenCursor(member, cursor.variables)
            key = inner.literal().upper()
            inner.expect("=")
            if key == "KAFKA_TOPIC" or (key in _PROPERTIES and not inner.done):
                found[key] = inner.literal()
        return found

    def _end(self) -> None:
        if not self.cursor.done:
            raise self.cursor.unexpected("the end of the statement")


_JOINS_AND_CLAUSES = (*_JOINS, *_CLAUSES)


def _plain_kind(cursor: TokenCursor) -> str:
    first, second = cursor.peek(), cursor.peek(1)
    words = [token.text for token in (first, second) if token is not None and token.kind is TokenKind.WORD]
    return " ".join(words[: 2 if words[0] in ("DROP", "ALTER", "SHOW", "LIST", "RUN") else 1])


def _reads(query: Query) -> tuple[TablePath, ...]:
    return unique((source.name,) for source in query.sources)
