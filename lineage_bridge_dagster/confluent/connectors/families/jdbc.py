"""Sources of relational databases by JDBC.

Source: `JdbcSourceConnector`, `TableMonitorThread` and `BulkTableQuerier` of confluentinc/kafka-connect-jdbc
and Aiven-Open/jdbc-connector-for-apache-kafka; "Snowflake Source Connector for Confluent Cloud".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from lineage_bridge_dagster.confluent.connectors.config import is_resolved
from lineage_bridge_dagster.confluent.connectors.families.jdbc_sinks import SINKS
from lineage_bridge_dagster.confluent.connectors.family import Family, Source, SourceContext, Written
from lineage_bridge_dagster.confluent.connectors.java_regex import BadRegexError
from lineage_bridge_dagster.confluent.connectors.query import tables_of
from lineage_bridge_dagster.confluent.connectors.relational import Database, database_of, plain_parts
from lineage_bridge_dagster.confluent.connectors.table_patterns import expand, matching

__all__ = ["SINKS", "SOURCES", "query_flows"]

#: A name part that no database has: what matches it in place of a schema matches any schema.
_ANY = "any_schema_at_all"
_WORD = re.compile(r"[\w$#-]+")
#: A dot that stands for itself.
_SEPARATOR = re.compile(r"\[\.\]|\\\.|(?<!\\)\.(?![*+?{])")
_MOST_WORDS = 50

_JDBC_SOURCE = (
    "io.confluent.connect.jdbc.JdbcSourceConnector",
    "io.aiven.connect.jdbc.JdbcSourceConnector",
    "com.yugabyte.jdbc.JdbcSourceConnector",
)

Path = tuple[str, ...]


def jdbc(kind: str = "") -> Source:
    """Topics `{topic.prefix}{table}`, with the table's last name part; with a query, the prefix alone.

    Args:
        kind: Of a managed connector's database, which its JDBC URL tells otherwise.
    """

    def source(context: SourceContext) -> Iterator[Written]:
        config, prefix = context.config, context.config.get("topic.prefix")
        database = database_of(config, kind)
        if database is None or not database.host:
            context.warnings.append("its database is not known from connection.url, so its datasets are not")
        if database is not None:
            database = _narrowed(context, database)
        if query := config.get("query", "query.masked"):
            yield from query_flows(context, database, query, prefix)
            return
        tables = _Tables(context, database, prefix)
        if not tables.listed and not prefix:
            context.warnings.append("neither a table list nor topic.prefix is set: its topics are not known")
        for path in tables.paths():
            yield Written(prefix + path[-1], _dataset(database, path))

    return source


def _dataset(database: Database | None, path: Path) -> str:
    """A table's dataset; the path is empty in front where the schema is not known."""
    return "" if database is None or not all(path) else database.table(*path)


def _narrowed(context: SourceContext, database: Database) -> Database:
    """The database with the schema and catalog that the patterns tell."""
    config = context.config
    schema, catalog = config.get("schema.pattern"), config.get("catalog.pattern")
    if schema and "schema" in database.dialect.path:
        if "%" in schema:
            context.warnings.append(
                f"schema.pattern {schema} stands for any schema: unqualified tables' are not known"
            )
        database = replace(database, schema="" if "%" in schema else schema)
    if catalog and "%" not in catalog and not database.name:
        database = replace(database, name=catalog)
    return database


def query_flows(
    context: SourceContext, database: Database | None, query: str, topic: str
) -> Iterator[Written]:
    """The topic of a query, and the tables that it reads."""
    if not topic:
        context.warnings.append("topic.prefix, the topic of its query, is not set")
    tables = tables_of(query)
    complete = tables.complete
    for name in tables.names:
        dataset = ""
        if database is not None:
            path = [part or database.schema for part in database.folded(list(name))]
            dataset = _dataset(database, tuple(path))
        complete = complete and bool(dataset) and is_resolved(dataset)
        if dataset:
            yield Written(topic, dataset)
    if not complete:
        context.warnings.append("some of the tables that its query reads are not known from its text")
    if not complete or not tables.names:
        yield Written(topic)


@dataclass(slots=True)
class _Tables:
    """The tables that a source reads, by its lists and by the topics that exist."""

    context: SourceContext
    database: Database | None
    prefix: str

    @property
    def listed(self) -> list[str]:
        return self.context.config.items("table.whitelist", "table.include.list")

    def paths(self) -> Iterator[Path]:
        """The qualified names, as far as they are known; an unknown schema is an empty part."""
        config = self.context.config
        found: list[Path] = [tuple(plain_parts(item)) for item in config.items("table.whitelist")]
        patterns = [] if found else config.items("table.include.list")
        for pattern in patterns:
            chosen = self._matched(pattern)
            if not chosen:
                self.context.warnings.append(f"{pattern} of its table list matches no topic of the cluster")
            found += chosen
        if not found and not patterns:
            found = [(table,) for table in self._existing()]
        exact = set(config.items("table.blacklist"))
        patterns = config.items("table.exclude.list")
        for path in dict.fromkeys(path for path in found if path):
            whole = self._qualified(path)
            names = {".".join(whole[start:]).lstrip(".") for start in range(len(whole))}
            if not names & exact and not any(self._matches(pattern, names) for pattern in patterns):
                yield path

    def _existing(self) -> list[str]:
        """The tables that the topics tell; a dot after the prefix is of another connector's topic."""
        return [name for name in self.context.named_like(self.prefix) if name and "." not in name]

    def _qualified(self, path: Path) -> Path:
        """A path with the schema, or database, of unqualified tables."""
        if self.database is None or len(path) > 1:
            return path
        head = self.database.schema if "schema" in self.database.dialect.path else self.database.name
        return (head, *path)

    def _matched(self, pattern: str) -> list[Path]:
        """The tables that an expression over qualified names stands for."""
        expansion = expand(pattern)
        if expansion is not None and expansion.spelled:
            paths = [tuple(name.split(".")) for name in expansion.names]
            topics = set(self.context.cluster_topics) if expansion.product else set()
            return [path for path in paths if self.prefix + path[-1] in topics] or paths
        found: list[Path] = []
        for table in self._existing():
            heads = self._heads(pattern, table)
            if heads:
                found.append((*heads[0], table) if len(heads) == 1 else ("", table))
        return found

    def _heads(self, pattern: str, table: str) -> list[Path]:
        """What may stand before a table so that an expression matches; the usual one if anything may."""
        usual = self._qualified((table,))[:-1]
        name, database = "", self.database
        if database is not None and len(database.dialect.path) > 2:
            # The drivers of some databases name the database, too.
            named = database.dialect.across or len(_SEPARATOR.findall(pattern)) > 1
            name = (database.name or _ANY) if named else ""
        anything = [(_ANY, table), *([(name, _ANY, table)] if name else [])]
        if any(self._matches(pattern, {".".join(path)}) for path in anything):
            return [usual]
        words = list(dict.fromkeys([*filter(None, usual), *_WORD.findall(pattern)]))[:_MOST_WORDS]
        tried = [(), *((word,) for word in words), *((name, word) for word in words if name)]
        fits = [head for head in tried if self._matches(pattern, {".".join((*head, table))})]
        # Both `dbo.orders` and `sales.dbo.orders` mean the same schema.
        return list({head[-1:]: head for head in fits}.values())

    def _matches(self, pattern: str, names: Iterable[str]) -> bool:
        try:
            return bool(matching(pattern, names))
        except BadRegexError as error:
            self.context.warnings.append(f"cannot apply {error}")
            return False


def snowflake(context: SourceContext) -> Iterator[Written]:
    """Topics `{topic.prefix}{database}.{schema}.{table}`."""
    config, prefix = context.config, context.config.get("topic.prefix")
    database = database_of(config, "snowflake")
    if database is None:
        return
    patterns, excluded = (
        config.items("table.include.list", "table.whitelist"),
        config.items("table.exclude.list"),
    )
    found: list[str] = []
    existing: list[str] | None = None
    for pattern in patterns or [r"[^.]+\.[^.]+\.[^.]+"]:
        expansion = expand(pattern)
        if expansion is not None and expansion.spelled:
            found += expansion.names
            continue
        if existing is None:
            existing = [name for name in context.named_like(prefix) if name.count(".") == 2]
        try:
            chosen = matching(pattern, existing)
        except BadRegexError as error:
            context.warnings.append(f"cannot apply {error}")
            continue
        found += sorted(chosen)
        if not chosen:
            context.warnings.append(f"{pattern} of its table list matches no topic of the cluster")
    for name in dict.fromkeys(found):
        if not any(matching(pattern, [name]) for pattern in excluded):
            yield Written(prefix + name, database.table(*name.split(".")))


SOURCES = (
    Family("jdbc-postgres", ("PostgresSource",), (), jdbc("postgresql")),
    Family("jdbc-mysql", ("MySqlSource",), (), jdbc("mysql")),
    Family("jdbc-sqlserver", ("MicrosoftSqlServerSource",), (), jdbc("sqlserver")),
    Family("jdbc-oracle", ("OracleDatabaseSource",), (), jdbc("oracle")),
    Family("jdbc-db2", ("IbmDb2Source",), (), jdbc("db2")),
    Family("jdbc", (), _JDBC_SOURCE, jdbc()),
    Family(
        "snowflake",
        ("SnowflakeSource",),
        ("io.confluent.connect.snowflake.jdbc.SnowflakeSourceConnector",),
        snowflake,
    ),
)
