"""JSON lines of statements -> JSON lines of what they read and write, the format of the test cases.

Pure, given the function that parses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from lineage_bridge_dagster.json_text import json_value
from lineage_bridge_dagster.sql.columns.derivation import Open, Schemas, TextColumns, derive_columns
from lineage_bridge_dagster.sql.columns.statement import ColumnLineage, Writer
from lineage_bridge_dagster.sql.flink.names import known_part, resolved_lineage
from lineage_bridge_dagster.sql.flink.tree import ParsedText
from lineage_bridge_dagster.sql.ksql import derivation as ksql
from lineage_bridge_dagster.sql.ksql.parser import KsqlText, parse_text
from lineage_bridge_dagster.sql.ksql.scopes import Table
from lineage_bridge_dagster.sql.ksql.syntax import KsqlColumn
from lineage_bridge_dagster.sql.statement import TablePath, TextLineage

_CHUNK = 1000

_Line = Mapping[str, Any]


def lineage_record(line: _Line, lineage: TextLineage) -> dict[str, Any]:
    """One output line: `id`, `reads`, `writes` (last name parts), `reads_fq`, `writes_fq` (paths), `error`.

    All lists are sorted and without repeats. CTE names, models and functions are not tables; views are not
    expanded; `CREATE VIEW` writes the view; DDL without data flow has empty lists.
    """
    return {
        "id": line.get("id"),
        "reads": _last_parts(lineage.reads),
        "writes": _last_parts(lineage.writes),
        "reads_fq": _known_parts(lineage.reads),
        "writes_fq": _known_parts(lineage.writes),
        "error": lineage.error,
    }


def lineage_records(
    lines: Iterable[_Line], parse: Callable[[Sequence[str]], Iterable[TextLineage]]
) -> Iterator[dict[str, Any]]:
    """Output lines for input lines `{"id", "sql"}`, in order, with about a thousand in memory at a time.

    A line without text under `sql` gets an error of its own.
    """

    def records(chunk: Sequence[_Line]) -> Iterator[dict[str, Any]]:
        for line, lineage in zip(chunk, parse([line["sql"] for line in chunk]), strict=True):
            yield lineage_record(line, lineage)

    return _records(lines, records)


def column_records(
    lines: Iterable[_Line], parse: Callable[[Sequence[str]], Iterable[ParsedText]]
) -> Iterator[dict[str, Any]]:
    """As `lineage_records`, with the column lineage of each line.

    - `columns`: each column written by any of its statements, with `sources` and how it derives from each.
      `complete` is false if it may derive from other columns, too.
    - `open`: everything that could not be derived, with the reason. `column` is null for further columns of
      unknown names; `table` is empty if a statement was rejected.
    - `writers`: the same for each INSERT, CREATE ... AS, view and UPDATE, with the number of its statement.

    A line may have `schemas`: columns by table, named by its last part or by all its parts with dots between.
    The `CREATE TABLE` statements in its text are used as well; views that its text defines are expanded.
    """

    def records(chunk: Sequence[_Line]) -> Iterator[dict[str, Any]]:
        for line, text in zip(chunk, parse([line["sql"] for line in chunk]), strict=True):
            (columns,) = derive_columns([text], schemas_by_name(line.get("schemas")))
            yield {**lineage_record(line, completed(text)), **_columns(columns)}

    return _records(lines, records)


def ksql_column_records(lines: Iterable[_Line]) -> Iterator[dict[str, Any]]:
    """As `column_records`, for ksqlDB's SQL; a line's `schemas` are by stream or table."""

    def records(chunk: Sequence[_Line]) -> Iterator[dict[str, Any]]:
        for line in chunk:
            text = parse_text(line["sql"])
            columns = ksql_columns(text, schemas_by_name(line.get("schemas")))
            yield {**lineage_record(line, text.lineage), **_columns(columns)}

    return _records(lines, records)


def ksql_columns(text: KsqlText, schemas: Schemas | None) -> TextColumns:
    """Column lineage of a text of ksqlDB; schemas are by stream or table."""

    def table(name: str) -> Table | None:
        names = schemas((name,)) if schemas else None
        return None if names is None else Table.of(name, map(KsqlColumn, names))

    return ksql.derive_columns(text, table)


def completed(text: ParsedText) -> TextLineage:
    """The text's lineage, its names completed if a current catalog or database is given, else as written."""
    return resolved_lineage(text) if text.catalog or text.database else text.lineage


def read_lines(raw: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The JSON objects on the lines of a file, without blank lines.

    A line that is not a JSON object becomes `{"id": None, "unreadable": reason}`, for which the output line
    has an error.
    """
    for number, line in enumerate(raw, 1):
        if not line.strip():
            continue
        try:
            value = json_value(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError:
            yield {"id": None, "unreadable": f"line {number} is not UTF-8"}
        except ValueError as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else f"it {error}"
            yield {"id": None, "unreadable": f"line {number} is not JSON: {reason}"}
        else:
            if isinstance(value, dict):
                value.pop("unreadable", None)
                yield value
            else:
                yield {"id": None, "unreadable": f"line {number} is not a JSON object"}


def _records(
    lines: Iterable[_Line], records_of: Callable[[Sequence[_Line]], Iterator[dict[str, Any]]]
) -> Iterator[dict[str, Any]]:
    rest = iter(lines)
    while chunk := list(islice(rest, _CHUNK)):
        records = records_of([line for line in chunk if isinstance(line.get("sql"), str)])
        for line in chunk:
            if isinstance(line.get("sql"), str):
                yield next(records)
            else:
                error = line.get("unreadable") or 'no text under "sql"'
                yield lineage_record(line, TextLineage.failed(error))


def schemas_by_name(value: Any) -> Schemas | None:
    """Columns by table, named by its last part or by all its parts with dots between; others are ignored."""
    if not isinstance(value, Mapping):
        return None
    known = {
        name: columns
        for name, columns in value.items()
        if isinstance(columns, list) and all(isinstance(column, str) for column in columns)
    }

    def schema(path: TablePath) -> Sequence[str] | None:
        return known.get(".".join(path), known.get(path[-1]))

    return schema


def _columns(text: TextColumns) -> dict[str, Any]:
    return {
        "columns": [_column(column) for column in text.written],
        "open": [_open(found) for found in text.open],
        "writers": [
            _writer(number, writer) for number, writers in enumerate(text.statements, 1) for writer in writers
        ],
    }


def _writer(number: int, writer: Writer) -> dict[str, Any]:
    missing = [Open(writer.table, column.column, column.open) for column in writer.columns if column.open]
    if writer.open:
        missing.append(Open(writer.table, None, writer.open))
    return {
        "statement": number,
        "kind": writer.kind,
        "table": list(known_part(writer.table)),
        "columns": [_column(column) for column in writer.columns],
        "open": [_open(found) for found in missing],
    }


def _open(found: Open) -> dict[str, Any]:
    return {"table": list(known_part(found.table)), "column": found.column, "reason": found.reason}


def _column(column: ColumnLineage) -> dict[str, Any]:
    sources = [
        {"table": list(known_part(s.table)), "column": s.column, "how": s.how.value} for s in column.sources
    ]
    return {
        "table": list(known_part(column.table)),
        "column": column.column,
        "sources": sources,
        "complete": column.complete,
    }


def _last_parts(paths: Iterable[TablePath]) -> list[str]:
    return sorted({path[-1] for path in paths})


def _known_parts(paths: Iterable[TablePath]) -> list[list[str]]:
    return sorted(list(known_part(path)) for path in set(paths))
