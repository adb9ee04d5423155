"""JSON lines of statements -> JSON lines of what they read and write, the form in which cases are kept.

Pure but for the parser that is handed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from lineage_bridge_dagster.sql.flink import FlinkSqlParser
from lineage_bridge_dagster.sql.statement import StatementLineage, TablePath, failure

_CHUNK = 1000


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


def accounts(lines: Iterable[Mapping[str, Any]], parser: FlinkSqlParser) -> Iterator[dict[str, Any]]:
    """Output lines for input lines `{"id", "sql"}`, in order, holding about a thousand at a time.

    A line whose `sql` is no text has an error of its own.
    """
    rest = iter(lines)
    while chunk := list(islice(rest, _CHUNK)):
        texts = [line["sql"] for line in chunk if isinstance(line.get("sql"), str)]
        parsed = iter(parser.parse(texts))
        for line in chunk:
            if isinstance(line.get("sql"), str):
                yield account(line, next(parsed))
            else:
                yield account(line, failure('no text under "sql"'))


def _last(paths: Iterable[TablePath]) -> list[str]:
    return sorted({path[-1] for path in paths})


def _full(paths: Iterable[TablePath]) -> list[list[str]]:
    return sorted(list(path) for path in set(paths))
