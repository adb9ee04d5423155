"""JSON lines of statements -> JSON lines of what they read and write, the form in which cases are kept.

Pure but for the parser that is handed in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

from lineage_bridge_dagster.sql.columns.derivation import ColumnText, derive_columns
from lineage_bridge_dagster.sql.columns.statement import ColumnLineage, Schemas
from lineage_bridge_dagster.sql.flink.names import known_part
from lineage_bridge_dagster.sql.flink.parser import ParsedText
from lineage_bridge_dagster.sql.statement import StatementLineage, TablePath, failure

_CHUNK = 1000

Qualify = Callable[[StatementLineage], StatementLineage]


class Parser(Protocol):
    """Whatever tells what texts read and write."""

    def parse(self, statements: Sequence[str]) -> Sequence[StatementLineage]:
        """What each text reads and writes, in order."""


class TreeParser(Protocol):
    """A parser that gives the trees, too."""

    def parse_trees(self, texts: Sequence[str]) -> Iterable[ParsedText]:
        """As `Parser.parse`, with trees."""


def account(line: Mapping[str, Any], lineage: StatementLineage) -> dict[str, Any]:
    """One output line: `id`, `reads`, `writes` (last name parts), `reads_fq`, `writes_fq` (paths), `error`.

    All lists are sets in sorted order. CTE names, models and functions are no tables; views are not expanded;
    `CREATE VIEW` writes the view; DDL without data flow has empty lists.
    """
    return {
        "id": line.get("id"),
        "reads": _last(lineage.reads),
        "writes": _last(lineage.writes),
        "reads_fq": _full(lineage.reads),
        "writes_fq": _full(lineage.writes),
        "error": lineage.error,
    }


def accounts(
    lines: Iterable[Mapping[str, Any]], parser: Parser, qualify: Qualify | None = None
) -> Iterator[dict[str, Any]]:
    """Output lines for input lines `{"id", "sql"}`, in order, holding about a thousand at a time.

    A line whose `sql` is no text has an error of its own.

    Args:
        lines: The input.
        parser: What parses the texts.
        qualify: What completes the names in a lineage, if anything.
    """

    def answer(chunk: Sequence[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
        for line, lineage in zip(chunk, parser.parse([line["sql"] for line in chunk]), strict=True):
            yield account(line, qualify(lineage) if qualify else lineage)

    return _answered(lines, answer)


def column_accounts(
    lines: Iterable[Mapping[str, Any]],
    parser: TreeParser,
    qualify: Qualify | None = None,
    *,
    catalog: str = "",
    database: str = "",
) -> Iterator[dict[str, Any]]:
    """As `accounts`, with `columns`: each column written, what it is made of and how.

    A line may bring `schemas`: columns by table, by its last name part or its parts with dots between. The
    `CREATE TABLE` statements in its text count, too. Views that its text defines are seen through.
    """

    def answer(chunk: Sequence[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
        for line, parsed in zip(chunk, parser.parse_trees([line["sql"] for line in chunk]), strict=True):
            lineage = parsed.lineage
            text = ColumnText(lineage.statements, parsed.trees, catalog, database)
            (columns,) = derive_columns([text], _schemas(line.get("schemas")))
            yield {
                **account(line, qualify(lineage) if qualify else lineage),
                "columns": [_column(column) for column in columns.written],
            }

    return _answered(lines, answer)


def parse_lines(raw: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The objects on the lines of a file; blank lines are none.

    A line that is no JSON object becomes `{"id": None, "unreadable": why}`, which `accounts` answers with an
    error.
    """
    for number, line in enumerate(raw, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError:
            yield {"id": None, "unreadable": f"line {number} is no UTF-8"}
        except (ValueError, RecursionError) as error:
            reason = (
                error.msg if isinstance(error, json.JSONDecodeError) else "too large or nested too deeply"
            )
            yield {"id": None, "unreadable": f"line {number} is no JSON: {reason}"}
        else:
            if isinstance(value, dict):
                value.pop("unreadable", None)
                yield value
            else:
                yield {"id": None, "unreadable": f"line {number} is no JSON object"}


def _answered(
    lines: Iterable[Mapping[str, Any]],
    answer: Callable[[Sequence[Mapping[str, Any]]], Iterable[dict[str, Any]]],
) -> Iterator[dict[str, Any]]:
    rest = iter(lines)
    while chunk := list(islice(rest, _CHUNK)):
        answers = iter(answer([line for line in chunk if isinstance(line.get("sql"), str)]))
        for line in chunk:
            if isinstance(line.get("sql"), str):
                yield next(answers)
            else:
                yield account(line, failure(line.get("unreadable") or 'no text under "sql"'))


def _schemas(given: Any) -> Schemas | None:
    if not isinstance(given, Mapping):
        return None
    known = {
        name: columns
        for name, columns in given.items()
        if isinstance(columns, list) and all(isinstance(column, str) for column in columns)
    }

    def schema(path: TablePath) -> Sequence[str] | None:
        return known.get(".".join(path), known.get(path[-1]))

    return schema


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


def _last(paths: Iterable[TablePath]) -> list[str]:
    return sorted({path[-1] for path in paths})


def _full(paths: Iterable[TablePath]) -> list[list[str]]:
    return sorted(list(known_part(path)) for path in set(paths))
