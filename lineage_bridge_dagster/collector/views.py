"""The SQL of Glue's views, decoded by engine, and the tables that it reads.

Athena and Trino keep a view as Base64 of a JSON document within a comment, Spark as text with the catalog and
namespace in parameters, Hive as text; a multi-dialect view has a text for each engine.
"""

from __future__ import annotations

import base64
import binascii
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.json_text import json_of

if TYPE_CHECKING:
    from sqlglot.expressions import Expr, Table

_PRESTO_VIEW = re.compile(r"/\*\s*Presto (?:Materialized )?View:\s*([A-Za-z0-9+/=_\s-]+?)\s*\*/")
_SPARK_NAMESPACE = "view.catalogAndNamespace."
_BEFORE_QUERY = frozenset({"(", ")", "ALL", "DISTINCT", "EXCEPT", "INTERSECT", "MINUS", "UNION"})


@dataclass(frozen=True, slots=True, order=True)
class ViewRead:
    """A table that a view reads; `catalog` is empty where the SQL names none."""

    catalog: str
    database: str
    table: str


@dataclass(frozen=True, slots=True)
class View:
    """The SQL of a view for one engine.

    Attributes:
        reads: Sorted; empty if the SQL could not be parsed.
        problem: Why the SQL or its reads are unknown; empty if they are known.
    """

    dialect: str
    version: str
    sql: str | None
    reads: tuple[ViewRead, ...] = ()
    problem: str = ""


def read_view(table: GlueTable) -> Iterator[View]:
    """The view that a table of Glue's API is, once per dialect; nothing for a table."""
    definition = table.raw.get("ViewDefinition")
    representations = definition.get("Representations") if isinstance(definition, Mapping) else None
    if isinstance(representations, list) and representations:
        for each in representations:
            if isinstance(each, Mapping):
                yield _representation(each, table)
        return
    original = str(table.raw.get("ViewOriginalText") or "")
    expanded = str(table.raw.get("ViewExpandedText") or "")
    if not original and not expanded:
        return
    if table.table_type.upper() not in ("VIRTUAL_VIEW", "MATERIALIZED_VIEW") and not original.strip():
        return
    yield _decoded(original, expanded, table)


def _representation(raw: Mapping[str, Any], table: GlueTable) -> View:
    dialect = str(raw.get("Dialect") or "").lower()
    version = str(raw.get("DialectVersion") or "")
    text = str(raw.get("ViewOriginalText") or raw.get("ViewExpandedText") or "")
    if match := _PRESTO_VIEW.search(text):
        view = _presto(match[1], table)
        return View(dialect or view.dialect, version, view.sql, view.reads, view.problem)
    return _parsed(dialect, version, text, table.database)


def _decoded(original: str, expanded: str, table: GlueTable) -> View:
    if match := _PRESTO_VIEW.search(original):
        return _presto(match[1], table)
    namespace = _spark_namespace(table.parameters)
    if namespace or "spark.sql.create.version" in table.parameters:
        return _parsed("spark", "", original or expanded, namespace[-1] if namespace else table.database)
    # Hive expands names to `database`.`table`.
    return _parsed("hive", "", expanded if _is_sql(expanded) else original, table.database)


def _presto(encoded: str, table: GlueTable) -> View:
    try:
        document = json_of(base64.b64decode(re.sub(r"\s", "", encoded), validate=True), dict) or {}
    except binascii.Error:
        document = {}
    sql = document.get("originalSql")
    if not isinstance(sql, str):
        return View("athena", "", None, problem="Its text is not Base64 of a view's JSON document")
    schema = document.get("schema")
    return _parsed("athena", "", sql, schema if isinstance(schema, str) and schema else table.database)


def _spark_namespace(parameters: Mapping[str, str]) -> list[str]:
    """The catalog and namespace in which Spark resolves the names of a view."""
    try:
        count = int(parameters.get(f"{_SPARK_NAMESPACE}numParts", "0"))
    except ValueError:
        return []
    parts = [parameters.get(f"{_SPARK_NAMESPACE}part.{number}", "") for number in range(min(count, 9))]
    return parts if all(parts) else []


def _is_sql(text: str) -> bool:
    """Whether a text is more than the comment that Athena writes as the expanded text."""
    return bool(re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL).strip())


def _parsed(dialect: str, version: str, sql: str, database: str) -> View:
    if not sql.strip():
        return View(dialect, version, None, problem="It has no SQL")
    reads, problem = reads_of(sql, dialect, database)
    return View(dialect, version, sql, reads, problem)


def reads_of(sql: str, dialect: str, database: str) -> tuple[tuple[ViewRead, ...], str]:
    """The tables that a query reads, and why they are unknown.

    Args:
        dialect: athena, spark, hive, redshift or another name of sqlglot's.
        database: The database of names without one.
    """
    from sqlglot import exp
    from sqlglot.errors import SqlglotError
    from sqlglot.optimizer.scope import traverse_scope

    try:
        query = parse(_with_selects(sql, dialect), dialect)
        scopes = traverse_scope(query)
    except (SqlglotError, ValueError, RecursionError) as error:
        return (), f"The SQL could not be parsed as {dialect}: {_first_line(error)}"
    if not scopes and not isinstance(query, exp.Values):
        return (), f"The SQL could not be parsed as {dialect}: it is not a query"
    reads = set()
    for scope in scopes:
        for source in scope.sources.values():
            if isinstance(source, exp.Table) and source.name:
                table = _table_name(source)
                if "/" in table:
                    continue  # Spark's parquet.`s3://bucket/path`: files, and no table.
                # None of the engines tells names by their case, and Glue stores them in lower case.
                reads.add(ViewRead(source.catalog, (source.db or database).lower(), table.lower()))
    return tuple(sorted(reads)), ""


def _with_selects(sql: str, dialect: str) -> str:
    """The query with `SELECT * FROM orders` for `TABLE orders`, which sqlglot does not parse for Spark."""
    import sqlglot

    tokens = sqlglot.tokenize(sql, read=dialect or None)
    for before, word, after in reversed([*zip([None, *tokens], tokens, tokens[1:], strict=False)]):
        starts = before is None or before.text.upper() in _BEFORE_QUERY
        if word.text.upper() == "TABLE" and starts and after.text != "(":
            sql = f"{sql[: word.start]}SELECT * FROM{sql[word.end + 1 :]}"
    return sql


def _table_name(source: Table) -> str:
    """The table, also of its metadata: Athena's `"orders$files"`, Spark's `catalog.db.orders.files`."""
    name = source.this.this.name if source.this.key == "dot" else source.name
    return name.partition("$")[0] or name


def parse(sql: str, dialect: str) -> Expr:
    """A statement as a tree.

    Raises:
        SqlglotError, ValueError, RecursionError: It is not a query in this dialect.
    """
    import sqlglot

    # Its warnings quote the statement, which may be masked.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    return sqlglot.parse_one(sql, dialect=dialect or None)


def _first_line(error: Exception) -> str:
    """The kind of an error alone: its text quotes the SQL, which may be masked."""
    errors = getattr(error, "errors", None)
    if errors and isinstance(errors[0], Mapping):
        found = errors[0]
        return f"{found.get('description') or 'error'} at line {found.get('line')}".split(".")[0]
    return type(error).__name__
