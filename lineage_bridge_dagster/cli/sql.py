"""`lineage-bridge sql`: reports what SQL statements read, write and derive."""

from __future__ import annotations

from typing import IO

import click

from lineage_bridge_dagster.cli.output import EXIT_FAILED


@click.command("sql")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--dialect", type=click.Choice(["flink", "ksql", "ksqldb"]), default="flink", show_default=True)
@click.option("--catalog", default="", metavar="C", help="Current catalog: an environment, by id or name.")
@click.option("--database", default="", metavar="D", help="Current database: a cluster, by id or name.")
@click.option("--jsonl", is_flag=True, help='Read lines {"id", "sql"}, write lines with reads and writes.')
@click.option("--columns", is_flag=True, help="Also derive each written column from its source columns.")
def sql(file: IO[bytes], dialect: str, catalog: str, database: str, jsonl: bool, columns: bool) -> None:
    """Report what SQL statements read, write and derive.

    Reads FILE, or stdin. Exits 1 if a statement could not be parsed. With --jsonl the output line of such a
    statement has the reason under "error", and the command exits 0 after one output line per input line, in
    the same order.

    With --columns each written column has its sources and "how" it derives from them: identity, expression
    (one row) or aggregate (many rows). "complete" is false if it may derive from other columns, too; "open"
    lists all that could not be derived, with the reason; "writers" has the columns of each INSERT. Arguments
    of functions, conditions of CASE and keys of OVER count; filters, joins' conditions, GROUP BY and ORDER BY
    do not. An input line may include "schemas", the columns by table name.

    ksqlDB's names are folded to upper case unless quoted, and columns without an alias have the names that
    ksqlDB generates (KSQL_COL_0, ROWKEY, ALIAS_COLUMN in joins).

    \b
    Examples:
      lineage-bridge sql --columns job.sql
      echo 'INSERT INTO d SELECT * FROM t' | lineage-bridge sql --catalog prod --database main
      lineage-bridge sql --dialect ksqldb --columns queries.ksql
      lineage-bridge sql --jsonl < statements.jsonl > lineage.jsonl
    """
    if dialect == "ksqldb":
        dialect = "ksql"
    if dialect == "ksql":
        for option, given in (("--catalog", catalog), ("--database", database)):
            if given:
                raise click.UsageError(f"{option} applies only to --dialect flink")
    if getattr(file, "name", "") == "<stdin>" and file.isatty():
        click.echo("Reading from the terminal; press Ctrl-D to end.", err=True)
    from lineage_bridge_dagster.lineage.files import text_of
    from lineage_bridge_dagster.sql.report import command

    if jsonl:
        command.print_records(file, dialect, catalog, database, columns)
    else:
        text = text_of(file.read(), getattr(file, "name", "the input"))
        if not command.print_report(text, dialect, catalog, database, columns):
            raise SystemExit(EXIT_FAILED)
