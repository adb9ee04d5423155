"""Rows of tables and queries, by JDBC sources and by sources with the same settings.

Sources: `TableQuerier` and `SchemaMapping` of confluentinc/kafka-connect-jdbc, which Aiven's and the managed
connectors share; "Oracle CDC Source Connector for Confluent Platform", which writes the row and fields of
metadata with names by `output.*.field`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from lineage_bridge_dagster.confluent.connectors.columns.records import (
    MADE_UP,
    ConnectRecord,
    RecordNode,
    anything,
    leaf,
    merged,
    struct,
    unknown,
)
from lineage_bridge_dagster.confluent.connectors.columns.sources.topic import SourceTopic, reads
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.extras import needs

#: sqlglot would give names in lower case, in which SQL Server does not return them.
_TSQL = "tsql, normalization_strategy = case_sensitive"
#: By the scheme of datasets, the dialect of their queries.
_DIALECTS = {
    "postgres": "postgres",
    "mysql": "mysql",
    "mssql": _TSQL,
    "sqlserver": _TSQL,
    "oracle": "oracle",
    "snowflake": "snowflake",
    "redshift": "redshift",
    "bigquery": "bigquery",
}
_AMBIGUOUS = "its query does not tell which table the column is from"
_STAR = "its query selects * from tables whose columns are not known"
_MAX_DEPTH = 32

#: Datasets with their columns, as far as a catalog tells them.
_Tables = tuple[tuple[str, tuple[str, ...]], ...]


def query_row(topic: SourceTopic, query: str) -> RecordNode:
    """The columns of a query as a struct. It is open, without sources, if the query is not understood."""
    tables = tuple((dataset, tuple(topic.columns(dataset))) for dataset in topic.datasets)
    try:
        return _row(query, tables)
    except ConfigurationError as error:
        return unknown(error.reason)


@lru_cache(maxsize=256)
def _row(query: str, tables: _Tables) -> RecordNode:
    """The columns of a query, by sqlglot.

    Raises:
        ConfigurationError: sqlglot, which the extra `collector` installs, is missing.
    """
    with needs("collector", "The columns of a connector's query"):
        import sqlglot
        from sqlglot import exp
        from sqlglot.errors import SqlglotError
        from sqlglot.optimizer.qualify import qualify
        from sqlglot.optimizer.scope import build_scope
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    scheme = tables[0][0].partition(":")[0] if tables else ""
    dialect = _DIALECTS.get(scheme)
    try:
        tree = sqlglot.parse_one(query, dialect=dialect)
        spelled: dict[str, str] = {}
        for name in tree.find_all(exp.Identifier) if dialect == _TSQL else ():
            if not isinstance(name.parent, exp.Alias):
                name.set("this", spelled.setdefault(name.name.casefold(), name.name))
        schema: dict[str, Any] = {}
        for table in tree.find_all(exp.Table):
            columns = next((found for name, found in tables if _names(name, table)), ())
            if columns:
                _put(schema, table, {spelled.get(name.casefold(), name): "text" for name in columns})
        tree = qualify(
            tree,
            dialect=dialect,
            schema=schema,
            validate_qualify_columns=False,
            quote_identifiers=False,
            identify=False,
        )
        scope = build_scope(tree)
    except (SqlglotError, RecursionError, ValueError, AttributeError) as error:
        return unknown(f"its query is not understood: {str(error).splitlines()[0]}")
    if scope is None or not isinstance(scope.expression, exp.Query):
        return unknown("its query selects nothing")
    items = scope.expression.selects
    if any(item.is_star for item in items):
        # A query of one table names each column after its field.
        return anything(tables[0][0]) if len(tables) == 1 and len(items) == 1 else unknown(_STAR)
    fields = {}
    for item in items:
        parts = [_node(each, at, tables, 0) for each, at in _selected(scope, item.alias_or_name)]
        fields[item.alias_or_name] = merged(parts)
    return struct(fields)


def _node(item: Any, scope: Any, tables: _Tables, depth: int) -> RecordNode:
    """What an expression is made of: its columns, except those that only filter."""
    from sqlglot import exp
    from sqlglot.optimizer.scope import Scope

    if depth > _MAX_DEPTH:
        return RecordNode(unknown="its query is nested too deep")
    found = []
    for inner in scope.subquery_scopes:
        if item in _ancestors(inner.expression):
            found += [_node(each, inner, tables, depth + 1) for each in inner.expression.selects]
    for column in item.find_all(exp.Column):
        select = column.find_ancestor(exp.Select)
        if select is not None and select is not scope.expression:
            continue
        sole = next(iter(scope.selected_sources), "") if len(scope.selected_sources) == 1 else ""
        source = scope.sources.get(column.table or sole)
        if isinstance(source, Scope):
            found += [_node(each, at, tables, depth + 1) for each, at in _selected(source, column.name)]
        else:
            found.append(_column(column.name, source, tables))
    return merged(found)


def _ancestors(expression: Any) -> Iterator[Any]:
    while expression is not None:
        yield expression
        expression = expression.parent


def _column(name: str, table: Any, tables: _Tables) -> RecordNode:
    """A column of a table; of any, if the query does not tell."""
    if table is None and len(tables) != 1:
        return RecordNode(unknown=_AMBIGUOUS)
    dataset = next((each for each, _ in tables if table is None or _names(each, table)), "")
    if not dataset:
        return RecordNode(unknown="it is not known which table its query reads")
    columns = dict(tables)[dataset]
    spelled = next((each for each in columns if each.casefold() == name.casefold()), name)
    return leaf(f"{dataset}.{spelled}")


def _selected(scope: Any, name: str) -> Iterator[tuple[Any, Any]]:
    """The items of a subquery that a column names, with their scopes; one of each branch of a UNION."""
    branches = list(scope.set_operation_scopes) or [scope]
    position = next(
        (at for at, each in enumerate(branches[0].expression.selects) if each.alias_or_name == name), None
    )
    for branch in branches:
        if branch is not scope and branch.set_operation_scopes:
            yield from _selected(branch, name)
        elif position is not None and position < len(branch.expression.selects):
            yield branch.expression.selects[position], branch


def _names(dataset: str, table: Any) -> bool:
    """Whether a table of a query is a dataset."""
    parts = [part.casefold() for part in dataset.rpartition("/")[2].split(".")]
    own = [part.casefold() for part in _path(table)]
    return parts[-len(own) :] == own


def _path(table: Any) -> list[str]:
    return [part for part in (table.catalog, table.db, table.name) if part]


def _put(schema: dict[str, Any], table: Any, columns: dict[str, str]) -> None:
    """Put columns where sqlglot looks for those of a table, as its name is qualified."""
    *path, name = _path(table)
    for part in path:
        schema = schema.setdefault(part, {})
    schema[name] = columns


#: Settings of the Oracle CDC connector that name fields of metadata, with their defaults.
_ORACLE_FIELDS = {
    "output.table.name.field": "table",
    "output.scn.field": "scn",
    "output.op.type.field": "op_type",
    "output.op.ts.field": "op_ts",
    "output.current.ts.field": "current_ts",
    "output.row.id.field": "row_id",
    "output.username.field": "username",
}
_OUTPUT_FIELD = re.compile(r"output\..+\.field")
_BEFORE = "output.before.state.field"


@reads("jdbc jdbc-postgres jdbc-mysql jdbc-sqlserver jdbc-oracle jdbc-db2 snowflake sap-hana kudu")
def jdbc(topic: SourceTopic) -> ConnectRecord:
    """A field for each column of the table or the query; the key is null."""
    query = topic.config.get("query")
    return ConnectRecord(None, query_row(topic, query) if query else topic.row())


@reads("oracle-cdc")
def oracle_cdc(topic: SourceTopic) -> ConnectRecord:
    """The row beside fields of metadata. The topic of the redo log has no columns."""
    config = topic.config
    if topic.topic == config.get("redo.log.topic.name"):
        reason = "it holds raw redo records of all captured tables"
        return ConnectRecord(None, RecordNode(open=True, unknown=reason))
    row = topic.row()
    names = [config.get(key, default=name) for key, name in _ORACLE_FIELDS.items()]
    names += [config.get(match[0]) for match in config.keys_like(_OUTPUT_FIELD) if match[0] != _BEFORE]
    fields = {**row.known, **dict.fromkeys(names, MADE_UP)}
    if before := config.get(_BEFORE):
        fields[before] = row
    key = config.get("key.template", default="${primaryKeyStructOrValue}")
    return ConnectRecord(
        topic.any_field() if "primaryKey" in key else struct({}), replace(row, fields=fields)
    )
