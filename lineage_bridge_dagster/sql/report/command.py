"""Answers of `lineage-bridge sql`, to a person or line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO

import click
from rich.console import Console

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.sql.columns.derivation import ColumnText, derive_columns
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster.sql.flink.views import SourceText, expand_views, qualified_lineage
from lineage_bridge_dagster.sql.ksql import parser as ksql
from lineage_bridge_dagster.sql.report import readable
from lineage_bridge_dagster.sql.report.jsonl import accounts, column_accounts, parse_lines
from lineage_bridge_dagster.sql.statement import StatementLineage


class _Ksql:
    """ksqlDB's reader, in the form of a parser."""

    parse = staticmethod(ksql.parse)


def answer_lines(file: IO[bytes], dialect: str, catalog: str, database: str, columns: bool) -> None:
    """Prints a line for each of the file's lines."""
    lines = parse_lines(file)
    if dialect == "ksql":
        _echo(accounts(lines, _Ksql()))
        return

    def qualify(lineage: StatementLineage) -> StatementLineage:
        return qualified_lineage(SourceText(lineage, catalog, database)) if catalog or database else lineage

    with FlinkSqlParser() as parser:
        if columns:
            _echo(column_accounts(lines, parser, qualify, catalog=catalog, database=database))
        else:
            _echo(accounts(lines, parser, qualify))


def _echo(answers: Iterator[dict[str, object]]) -> None:
    for answer in answers:
        # ASCII: a name may hold what no encoding has.
        click.echo(json.dumps(answer))


def show(text: str, dialect: str, catalog: str, database: str, columns: bool) -> bool:
    """Prints an account of a text; whether all of it could be parsed."""
    console = Console(highlight=False, soft_wrap=True)
    if dialect == "ksql":
        parsed = ksql.parse_text(text)
        (flow,) = ksql.topic_flows([parsed])
        for line in readable.ksql_account(parsed, flow):
            console.print(line)
        return parsed.lineage.error is None
    with FlinkSqlParser() as parser:
        ((lineage, trees),) = [(one.lineage, one.trees) for one in parser.parse_trees([text])]
    source = SourceText(lineage, catalog, database)
    derived = None
    if columns:
        whole = ColumnText(lineage.statements, trees, catalog, database)
        (derived,) = derive_columns([whole], outputs=True)
    (expansion,) = expand_views([source])
    for line in readable.flink_account(qualified_lineage(source), expansion, derived):
        console.print(line)
    return lineage.error is None


def text_of(file: IO[bytes]) -> str:
    """The text of a file.

    Raises:
        ConfigurationError: It is no UTF-8.
    """
    try:
        return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        name = getattr(file, "name", "the input")
        raise ConfigurationError(
            f"{name} is no UTF-8 (byte {error.start})",
            hint="convert it: iconv -t UTF-8",
        ) from None
