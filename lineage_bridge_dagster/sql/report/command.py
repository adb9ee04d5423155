"""What `lineage-bridge sql` prints: a report for people, or JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO, Any

import click
from rich.console import Console
from rich.text import Text

from lineage_bridge_dagster.lineage.columns import How
from lineage_bridge_dagster.sql.columns.derivation import TextColumns, derive_columns
from lineage_bridge_dagster.sql.columns.origins import ColumnOrigin
from lineage_bridge_dagster.sql.columns.relations import KnownColumn, Relation
from lineage_bridge_dagster.sql.columns.statement import Writer
from lineage_bridge_dagster.sql.flink.names import known_part, resolved_lineage
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster.sql.flink.tree import ParsedText
from lineage_bridge_dagster.sql.flink.views import ViewExpansion, expand_views
from lineage_bridge_dagster.sql.ksql import parser as ksql
from lineage_bridge_dagster.sql.ksql.derivation import derive_columns as ksql_columns
from lineage_bridge_dagster.sql.ksql.parser import KsqlText, TopicFlow
from lineage_bridge_dagster.sql.report.jsonl import (
    column_records,
    completed,
    ksql_column_records,
    lineage_records,
    read_lines,
)
from lineage_bridge_dagster.sql.statement import SqlStatement, TablePath, TextLineage

_PLAIN = re.compile(r"[^\W\d]\w*\Z")
_HOW_STYLES = {How.IDENTITY: "green", How.EXPRESSION: "yellow", How.AGGREGATE: "magenta"}
_LABEL = 9


def print_records(file: IO[bytes], dialect: str, catalog: str, database: str, columns: bool) -> None:
    """Print a JSON line for each line of the file."""
    lines = read_lines(file)
    if dialect == "ksql":
        _print(ksql_column_records(lines) if columns else lineage_records(lines, ksql.parse))
        return
    with FlinkSqlParser() as parser:

        def parse(texts: Sequence[str]) -> Iterator[ParsedText]:
            for text in parser.parse_trees(texts):
                yield replace(text, catalog=catalog, database=database)

        if columns:
            _print(column_records(lines, parse))
        else:
            _print(lineage_records(lines, lambda texts: map(completed, parse(texts))))


def print_report(text: str, dialect: str, catalog: str, database: str, columns: bool) -> bool:
    """Print a report on a text. Returns whether all of it could be parsed."""
    if dialect == "ksql":
        ksql_text = ksql.parse_text(text)
        (flow,) = ksql.topic_flows([ksql_text])
        found = ksql_columns(ksql_text) if columns else None
        _show(ksql_report(ksql_text, flow, found))
        return ksql_text.lineage.error is None
    with FlinkSqlParser() as parser:
        (parsed,) = parser.parse_trees([text])
    parsed = replace(parsed, catalog=catalog, database=database)
    derived = derive_columns([parsed], outputs=True)[0] if columns else None
    (expansion,) = expand_views([parsed])
    _show(flink_report(resolved_lineage(parsed), expansion, derived))
    return parsed.lineage.error is None


def _show(lines: Iterable[Text]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for line in lines:
        with console.capture() as shown:
            console.print(line)
        # Writes any character, whatever the locale.
        click.echo(shown.get(), nl=False)


def _print(records: Iterator[Mapping[str, Any]]) -> None:
    for record in records:
        # ASCII: a name may contain lone surrogates, which no encoding can represent.
        click.echo(json.dumps(record))


def flink_report(
    lineage: TextLineage, expansion: ViewExpansion, columns: TextColumns | None = None
) -> Iterator[Text]:
    """Lines on a text of Flink SQL.

    Args:
        lineage: Its statements, with names completed as far as known.
        expansion: Its base tables.
        columns: Its column lineage, with outputs, if requested.
    """
    several = len(lineage.statements) > 1
    for number, statement in enumerate(lineage.statements):
        yield from _statement(statement, number + 1 if several else None)
        if columns is not None:
            yield from _columns(statement, columns.statements[number], columns.outputs[number])
    shared = list(_shared_tables(columns)) if columns is not None else []
    if several or expansion.views or expansion.cycles or shared:
        yield Text("total", style="bold")
        yield from _names("reads", expansion.reads)
        yield from _names("writes", expansion.writes)
        yield from _names("via", expansion.views)
        yield from shared
        for cycle in expansion.cycles:
            yield _line("cycle", Text(" -> ".join(map(name, (*cycle, cycle[0]))), style="red"))


def ksql_report(text: KsqlText, flow: TopicFlow, columns: TextColumns | None = None) -> Iterator[Text]:
    """Lines on a text of ksqlDB's SQL, its topics and, if requested, its columns."""
    several = len(text.lineage.statements) > 1
    for number, statement in enumerate(text.lineage.statements):
        yield from _statement(statement, number + 1 if several else None)
        if columns is not None and number < len(columns.statements):
            # The query names the columns that it writes.
            output = None if statement.writes else columns.outputs[number]
            yield from _columns(statement, columns.statements[number], output)
    if columns is not None:
        yield from _shared_tables(columns)
    for declaration in text.declarations:
        kind = ("source " if declaration.source else "") + declaration.relation.lower()
        shown = f"{kind} {name((declaration.name,))} on topic {printable(declaration.topic)}"
        yield _line("creates", Text(shown))
        for label, names in (("key", declaration.key), ("value", declaration.value)):
            if names:
                yield _line(label, Text(", ".join(map(printable, names)), style="dim"))
    yield Text("topics", style="bold")
    yield from _names("reads", ((topic,) for topic in flow.reads))
    yield from _names("writes", ((topic,) for topic in flow.writes))
    for unresolved in flow.unresolved:
        shown = f"{name((unresolved,))}: no CREATE STREAM or TABLE in this text names its topic"
        yield _line("unknown", Text(shown, style="yellow"))


def name(path: TablePath) -> str:
    """A path in SQL syntax, with backticks where needed."""
    return ".".join(
        part if _PLAIN.match(part) else "`" + printable(part).replace("`", "``") + "`"
        for part in known_part(path)
    )


def printable(text: str) -> str:
    """The text with all characters escaped that could move a terminal's cursor or break its encoding."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _statement(statement: SqlStatement, number: int | None) -> Iterator[Text]:
    title = Text(f"{number}. " if number else "", style="dim")
    title.append(statement.kind, style="bold" if statement.error is None else "bold red")
    yield title
    if statement.error is not None:
        yield _line("error", Text("could not parse: " + printable(statement.error), style="red"))
        return
    yield from _names("reads", statement.reads)
    yield from _names("searches", statement.searches)
    if statement.view is None:
        yield from _names("writes", statement.writes)
    else:
        changed = {"create": "creates", "alter": "alters", "rename": "renames", "drop": "drops"}
        yield _line(changed[statement.view.action], Text("view " + name(statement.view.path)))
        if statement.view.new_path:
            yield _line("to", Text(name(statement.view.new_path)))
    if not statement.reads and not statement.writes and statement.view is None and not statement.searches:
        yield _line("", Text("moves no data", style="dim"))


def _shared_tables(columns: TextColumns) -> Iterator[Text]:
    """The columns of tables with several writers, from all of them."""
    tables = [writer.table for writer in columns.writers]
    for table in dict.fromkeys(table for table in tables if tables.count(table) > 1):
        yield _line("columns", Text(f"of {name(table)}, from {tables.count(table)} writers"))
        for column in columns.written:
            if column.table == table:
                yield _derivation(name((column.column,)), column.sources, column.open)
        for found in columns.open:
            if found.table == table and found.column is None:
                yield _further(found.reason)


def _columns(statement: SqlStatement, writers: Sequence[Writer], output: Relation | None) -> Iterator[Text]:
    """Columns that a statement writes, or its query's output where the target's columns are unknown."""
    for writer in writers:
        if not writer.columns and len(writers) == 1 and output:
            break
        yield _line("columns", Text("of " + name(writer.table)))
        for column in writer.columns:
            yield _derivation(name((column.column,)), column.sources, column.open)
        if writer.open:
            yield _further(writer.open)
    else:
        if writers or not output or statement.kind != "SELECT":
            return
    if statement.writes:
        hint = "by position; their names in the table are unknown without its CREATE TABLE"
        yield _line("columns", Text(hint, style="dim"))
    else:
        yield _line("columns", Text("of the result"))
    for place, item in enumerate(output, 1):
        if isinstance(item, KnownColumn):
            shown = f"{place}" + (f" ({name((item.name,))})" if item.name else "")
            yield _derivation(shown, item.origin.sources, item.origin.open)
        else:
            of = f"all columns of {name(item.table)}, names unknown" if item.table else ""
            yield _indented(Text(of or f"further columns: {printable(item.reason)}", style="yellow"))
            break


def _further(reason: str) -> Text:
    return _indented(Text(f"further columns open: {printable(reason)}", style="yellow"))


def _derivation(column: str, sources: Iterable[ColumnOrigin], reason: str) -> Text:
    line = _indented(Text(column + "  <- "))
    parts = [
        Text.assemble(name((*s.table, s.column)), " ", (s.how.value, _HOW_STYLES[s.how])) for s in sources
    ]
    if reason:
        parts.append(Text(f"open: {printable(reason)}", style="yellow"))
    return line.append_text(Text(", ").join(parts) if parts else Text("no column", style="dim"))


def _indented(text: Text) -> Text:
    return Text(" " * (_LABEL + 3)).append_text(text)


def _names(label: str, paths: Iterable[TablePath]) -> Iterator[Text]:
    for path in paths:
        yield _line(label, Text(name(path)))
        label = ""


def _line(label: str, text: Text) -> Text:
    return Text.assemble((f"   {label:<{_LABEL}}", "cyan"), text)
