"""What a text reads, writes and derives, as a person reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from rich.text import Text

from lineage_bridge_dagster.sql.columns.derivation import TextColumns
from lineage_bridge_dagster.sql.columns.origins import ColumnSource, How
from lineage_bridge_dagster.sql.columns.relations import Field, Relation
from lineage_bridge_dagster.sql.columns.statement import ColumnLineage
from lineage_bridge_dagster.sql.flink.names import known_part
from lineage_bridge_dagster.sql.flink.views import Expansion
from lineage_bridge_dagster.sql.ksql.parser import KsqlText, TopicFlow
from lineage_bridge_dagster.sql.statement import Statement, StatementLineage, TablePath

_PLAIN = re.compile(r"[^\W\d]\w*\Z")
_HOW_STYLES = {How.IDENTITY: "green", How.EXPRESSION: "yellow", How.AGGREGATE: "magenta"}
_LABEL = 9


def flink_account(
    lineage: StatementLineage, expansion: Expansion, columns: TextColumns | None = None
) -> Iterator[Text]:
    """Lines about a text of Flink SQL.

    Args:
        lineage: Its statements, names completed as far as known.
        expansion: The text with its views seen through.
        columns: Its columns, with outputs, if they are wanted.
    """
    several = len(lineage.statements) > 1
    for number, statement in enumerate(lineage.statements):
        yield from _statement(statement, number + 1 if several else None)
        if columns is not None:
            yield from _columns(statement, columns.statements[number], columns.outputs[number])
    if several or expansion.views or expansion.cycles:
        yield Text("in all", style="bold")
        yield from _names("reads", expansion.reads)
        yield from _names("writes", expansion.writes)
        yield from _names("through", expansion.views)
        for cycle in expansion.cycles:
            yield _line("cycle", Text(" -> ".join(map(name, (*cycle, cycle[0]))), style="red"))


def ksql_account(text: KsqlText, flow: TopicFlow) -> Iterator[Text]:
    """Lines about a text of ksqlDB's SQL.

    Args:
        text: Its statements.
        flow: Its topics.
    """
    several = len(text.lineage.statements) > 1
    for number, statement in enumerate(text.lineage.statements, 1):
        yield from _statement(statement, number if several else None)
    for declaration in text.declarations:
        kind = ("source " if declaration.source else "") + declaration.relation.lower()
        shown = f"{kind} {name((declaration.name,))} on topic {printable(declaration.topic)}"
        yield _line("makes", Text(shown))
        for label, names in (("key", declaration.key), ("value", declaration.value)):
            if names:
                yield _line(label, Text(", ".join(map(printable, names)), style="dim"))
    yield Text("topics", style="bold")
    yield from _names("reads", ((topic,) for topic in flow.reads))
    yield from _names("writes", ((topic,) for topic in flow.writes))
    for unresolved in flow.unresolved:
        shown = f"{name((unresolved,))}: no CREATE STREAM or TABLE in this text says which topic it is on"
        yield _line("unknown", Text(shown, style="yellow"))


def name(path: TablePath) -> str:
    """A path as SQL writes it, in backticks where it has to be."""
    return ".".join(
        part if _PLAIN.match(part) else "`" + printable(part).replace("`", "``") + "`"
        for part in known_part(path)
    )


def printable(text: str) -> str:
    """The text with what would move a terminal's cursor, or break its encoding, escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _statement(statement: Statement, number: int | None) -> Iterator[Text]:
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


def _columns(
    statement: Statement, written: Sequence[ColumnLineage], output: Relation | None
) -> Iterator[Text]:
    """Columns of the tables that a statement writes; of a query's own, where the target's are not known."""
    for table, columns in groupby(written, key=lambda column: column.table):
        yield _line("columns", Text("of " + name(table)))
        for column in columns:
            yield _made_of(name((column.column,)), column.sources, column.complete)
    if written or not output or not (statement.writes or statement.kind == "SELECT"):
        return
    if statement.writes:
        hint = "by position; what they are called in the table is not known without its CREATE TABLE"
        yield _line("columns", Text(hint, style="dim"))
    else:
        yield _line("columns", Text("of the result"))
    for place, item in enumerate(output, 1):
        if isinstance(item, Field):
            shown = f"{place}" + (f" ({name((item.name,))})" if item.name else "")
            yield _made_of(shown, item.origin.sources, item.origin.complete)
        else:
            of = f" of {name(item.table)}" if item.table else ""
            yield Text(" " * (_LABEL + 3) + f"all columns{of}, not known here", style="yellow")
            break


def _made_of(column: str, sources: Iterable[ColumnSource], complete: bool) -> Text:
    line = Text(" " * (_LABEL + 3) + column + "  <- ")
    parts = [
        Text.assemble(name((*s.table, s.column)), " ", (s.how.value, _HOW_STYLES[s.how])) for s in sources
    ]
    if not complete:
        parts.append(Text("what can't be derived", style="yellow"))
    return line.append_text(Text(", ").join(parts) if parts else Text("no column", style="dim"))


def _names(label: str, paths: Iterable[TablePath]) -> Iterator[Text]:
    for path in paths:
        yield _line(label, Text(name(path)))
        label = ""


def _line(label: str, text: Text) -> Text:
    return Text.assemble((f"   {label:<{_LABEL}}", "cyan"), text)
