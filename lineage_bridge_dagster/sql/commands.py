"""`lineage-bridge sql`: what statements read, write and derive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO

import click
from rich.console import Console

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.sql import ksql, readable
from lineage_bridge_dagster.sql.column_texts import ColumnText, derive_columns
from lineage_bridge_dagster.sql.flink import FlinkSqlParser
from lineage_bridge_dagster.sql.jsonl import accounts, column_accounts, parse_lines
from lineage_bridge_dagster.sql.statement import StatementLineage
from lineage_bridge_dagster.sql.views import SourceText, expand_views, qualified_lineage

_FAILED = 1


class _Ksql:
    """ksqlDB's reader, in the form of a parser."""

    parse = staticmethod(ksql.parse)


@click.command("sql")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--dialect", type=click.Choice(["flink", "ksql"]), default="flink", show_default=True)
@click.option("--catalog", default="", metavar="C", help="Current catalog: an environment, by id or name.")
@click.option("--database", default="", metavar="D", help="Current database: a cluster, by id or name.")
@click.option("--jsonl", is_flag=True, help='Lines {"id", "sql"} in, lines with reads and writes out.')
@click.option("--columns", is_flag=True, help="Also what each written column is made of, and how.")
def sql(file: IO[bytes], dialect: str, catalog: str, database: str, jsonl: bool, columns: bool) -> None:
    """Tell what SQL statements read, write and derive.

    Reads a FILE, or stdin. Exits 1 when a statement could not be parsed. With --jsonl such a line has its
    reason under "error", and the command exits 0 once every line has its answer, in the order given. With
    --columns a line may bring "schemas", the columns by table name.

    \b
    Examples:
      lineage-bridge sql --columns job.sql
      echo 'INSERT INTO d SELECT * FROM t' | lineage-bridge sql --catalog prod --database main
      lineage-bridge sql --dialect ksql queries.ksql
      lineage-bridge sql --jsonl < statements.jsonl > lineage.jsonl
    """
    if dialect == "ksql":
        for option, given in (("--catalog", catalog), ("--database", database), ("--columns", columns)):
            if given:
                raise click.UsageError(f"{option} is for --dialect flink")
    if getattr(file, "name", "") == "<stdin>" and file.isatty():
        click.echo("Reading from the terminal; end with Ctrl-D.", err=True)
    if jsonl:
        _answer_lines(file, dialect, catalog, database, columns)
    elif not _show(_text(file), dialect, catalog, database, columns):
        raise SystemExit(_FAILED)


def _answer_lines(file: IO[bytes], dialect: str, catalog: str, database: str, columns: bool) -> None:
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


def _show(text: str, dialect: str, catalog: str, database: str, columns: bool) -> bool:
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


def _text(file: IO[bytes]) -> str:
    try:
        return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        name = getattr(file, "name", "the input")
        raise ConfigurationError(
            f"{name} is no UTF-8 (byte {error.start})",
            hint="convert it: iconv -t UTF-8",
        ) from None
