"""What `lineage-bridge sql` prints: a report for people, or JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import IO, Any

import click
from rich.console import Console

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.sql.columns.derivation import derive_columns
from lineage_bridge_dagster.sql.flink.names import resolved_lineage
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster.sql.flink.tree import ParsedText
from lineage_bridge_dagster.sql.flink.views import expand_views
from lineage_bridge_dagster.sql.ksql import parser as ksql
from lineage_bridge_dagster.sql.ksql.derivation import derive_columns as ksql_columns
from lineage_bridge_dagster.sql.report import readable
from lineage_bridge_dagster.sql.report.jsonl import (
    column_records,
    completed,
    ksql_column_records,
    lineage_records,
    read_lines,
)


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
    console = Console(highlight=False, soft_wrap=True)
    if dialect == "ksql":
        ksql_text = ksql.parse_text(text)
        (flow,) = ksql.topic_flows([ksql_text])
        found = ksql_columns(ksql_text) if columns else None
        for line in readable.ksql_report(ksql_text, flow, found):
            console.print(line)
        return ksql_text.lineage.error is None
    with FlinkSqlParser() as parser:
        (parsed,) = parser.parse_trees([text])
    parsed = replace(parsed, catalog=catalog, database=database)
    derived = derive_columns([parsed], outputs=True)[0] if columns else None
    (expansion,) = expand_views([parsed])
    for line in readable.flink_report(resolved_lineage(parsed), expansion, derived):
        console.print(line)
    return parsed.lineage.error is None


def read_text(file: IO[bytes]) -> str:
    """Read a file as UTF-8.

    Raises:
        ConfigurationError: It is not UTF-8.
    """
    try:
        return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        name = getattr(file, "name", "the input")
        raise ConfigurationError(
            f"{name} is not UTF-8 (byte {error.start})", hint="convert it: iconv -t UTF-8"
        ) from None


def _print(records: Iterator[Mapping[str, Any]]) -> None:
    for record in records:
        # ASCII: a name may contain lone surrogates, which no encoding can represent.
        click.echo(json.dumps(record))
