"""A text of ksqlDB's SQL -> the columns that it writes, with their origins. Pure.

Statements are applied in order: a query reads a stream or table as the statements before it left it. ksqlDB
matches the columns of an INSERT by name, not by position as Flink does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from lineage_bridge_dagster.sql.columns.derivation import TextColumns, united
from lineage_bridge_dagster.sql.columns.origins import CONSTANT, partly, unknown
from lineage_bridge_dagster.sql.columns.relations import (
    KnownColumn,
    Relation,
    known_columns,
    opaque,
    shown,
    unknown_columns,
)
from lineage_bridge_dagster.sql.columns.statement import Writer
from lineage_bridge_dagster.sql.ksql.parser import KsqlText
from lineage_bridge_dagster.sql.ksql.queries import KsqlQueryReader, Types
from lineage_bridge_dagster.sql.ksql.scopes import Table
from lineage_bridge_dagster.sql.ksql.syntax import ColumnPlace, Declaration, Form, KsqlColumn

Tables = Callable[[str], Table | None]
"""The name of a stream or table -> what is known of it, None when nothing is."""

# Formats whose columns ksqlDB takes from Schema Registry when a statement declares none.
_INFERRED = frozenset({"AVRO", "JSON_SR", "PROTOBUF"})


def derive_columns(text: KsqlText, tables: Tables | None = None) -> TextColumns:
    """Column lineage of a text; a path is the name of a stream or table.

    Args:
        tables: Streams and tables that exist. What the text itself tells in full takes precedence.
    """
    deriver = _KsqlDeriver(text.types, tables or (lambda _: None))
    for form in text.forms:
        if form is not None and form.declaration is not None and form.query is None:
            deriver.first.setdefault(form.name, _declared(form.declaration))
    for statement, form in zip(text.lineage.statements, text.forms, strict=False):
        deriver.apply(form, statement.kind)
    rejected = [i for i, s in enumerate(text.lineage.statements, 1) if s.error is not None]
    return united(deriver.written, deriver.outputs, deriver.current, rejected)


@dataclass(slots=True)
class _KsqlDeriver:
    """Applies one statement after another.

    Attributes:
        types: Custom types.
        given: Streams and tables that exist.
        first: What the text declares first under each name: a statement may be before it.
        tables: Streams and tables as the statements so far have left them.
        dropped: Those that are dropped.
        written: The writers of each statement so far.
        outputs: The columns of each statement's query.
        current: The writers that have not been replaced.
    """

    types: Types
    given: Tables
    first: dict[str, Table] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    written: list[tuple[Writer, ...]] = field(default_factory=list)
    outputs: list[Relation | None] = field(default_factory=list)
    current: list[Writer] = field(default_factory=list)

    def apply(self, form: Form | None, kind: str) -> None:
        """Apply a statement of a kind."""
        writer: Writer | None = None
        relation: Relation | None = None
        if form is not None and form.query is not None:
            reader = KsqlQueryReader(form.query, self._table, self.types, is_written=form.action != "select")
            try:
                relation = reader.relation()
            except RecursionError:
                # The caller's stack was nearly full.
                relation = opaque("its query is nested too deeply")
            if form.action == "insert":
                writer = self._inserted(form.name, kind, relation)
            elif form.action == "create" and not self._is_left(form):
                writer = Writer.of_relation(kind, (form.name,), relation)
                self._replace(form)
                self.tables[form.name] = _table_of(writer, relation, windowed=reader.is_windowed)
        elif form is not None:
            writer = self._changed(form, kind)
        self.written.append((writer,) if writer else ())
        self.outputs.append(relation)
        self.current += (writer,) if writer else ()

    def _table(self, name: str) -> Table:
        known = self.tables.get(name)
        if known is not None and not known.open:
            return known
        return self.given(name) or known or self.first.get(name) or Table.unknown(name)

    def _is_left(self, form: Form) -> bool:
        """Whether IF NOT EXISTS leaves a stream or table as it is."""
        return form.if_not_exists and form.name in self.tables

    def _replace(self, form: Form) -> None:
        """Forget the writers that a new definition of their stream or table ends."""
        path = (form.name,)
        if form.name in self.dropped:
            self.current = [writer for writer in self.current if writer.table != path]
        elif form.replaces:
            self.current = [w for w in self.current if w.table != path or not w.kind.startswith("CREATE")]
        self.dropped.discard(form.name)

    def _changed(self, form: Form, kind: str) -> Writer | None:
        """Apply a statement without a query."""
        name = form.name
        if form.action == "insert":
            table = self._table(name)
            columns = form.columns or _filled(table)
            reason = "" if form.columns else table.open
            return Writer.of(kind, (name,), ((column.name, CONSTANT) for column in columns), reason)
        if form.action == "create" and form.declaration is not None and not self._is_left(form):
            self.tables[name] = _declared(form.declaration)
            self._replace(form)
        elif form.action == "drop":
            self.tables.pop(name, None)
            self.dropped.add(name)
        elif form.action == "alter":
            table = self._table(name)
            names = {column.name for column in table.columns}
            added = (column for column in form.columns if column.name not in names)
            self.tables[name] = replace(table, columns=(*table.columns, *added))
        return None

    def _inserted(self, name: str, kind: str, relation: Relation) -> Writer:
        """The writer of INSERT INTO ... SELECT, whose columns are those of its stream, by name."""
        table = self._table(name)
        if table.open:
            return Writer.of_relation(kind, (name,), relation)
        found, gaps = dict(known_columns(relation)), unknown_columns(relation)
        names = [column.name for column in _filled(table)]
        missing = [name for name in names if name not in found]
        unnamed = [c.origin for c in relation if isinstance(c, KnownColumn) and not (c.certain and c.name)]
        if set(found) - set(names) or (missing and not gaps and len(unnamed) != len(missing)):
            reason = f"the query's columns differ from those of {shown(table.path)}, which ksqlDB rejects"
            origins = ((n, partly(found.get(n, CONSTANT), reason)) for n in names)
            return Writer.of(kind, table.path, origins)
        for column in missing:
            if len(unnamed) == 1 and not gaps:
                found[column] = unnamed[0]
            elif len(gaps) == 1 and not unnamed:
                found[column] = gaps[0].column(column)
            else:
                found[column] = unknown(gaps[0].reason if gaps else "the names of some columns are unknown")
        return Writer.of(kind, table.path, ((name, found[name]) for name in names))


def _declared(declaration: Declaration) -> Table:
    """The columns that a CREATE STREAM or TABLE declares; others can come from Schema Registry."""
    name, columns = declaration.name, declaration.columns
    kinds = {column.place for column in columns}
    value, key = declaration.value_format, declaration.key_format
    reason = ""
    if ColumnPlace.VALUE not in kinds and (not value or value in _INFERRED):
        reason = f"the value columns of {shown((name,))} are inferred from its schema"
    elif ColumnPlace.KEY not in kinds and key in _INFERRED:
        reason = f"the key columns of {shown((name,))} are inferred from its schema"
    return Table.of(name, columns, reason, windowed=declaration.windowed)


def _filled(table: Table) -> tuple[KsqlColumn, ...]:
    return tuple(column for column in table.columns if column.place is not ColumnPlace.HEADER)


def _table_of(writer: Writer, relation: Relation, *, windowed: bool) -> Table:
    """The stream or table that a query creates."""
    types = {column.name: column.type for column in relation if isinstance(column, KnownColumn)}
    columns = tuple(KsqlColumn(column.column, type=types.get(column.column)) for column in writer.columns)
    return Table(writer.table, columns, writer.open, windowed)
