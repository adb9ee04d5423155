"""`lineage-bridge sql`: what statements read, write and derive."""

from __future__ import annotations

from typing import IO

import click

_FAILED = 1


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
    # Imported here: other commands need none of it.
    from lineage_bridge_dagster.sql.report import command

    if jsonl:
        command.print_records(file, dialect, catalog, database, columns)
    elif not command.print_report(command.read_text(file), dialect, catalog, database, columns):
        raise SystemExit(_FAILED)
