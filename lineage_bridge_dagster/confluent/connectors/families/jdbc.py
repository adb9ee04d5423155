"""Relational databases by JDBC, and SAP HANA by SAP's own connectors.

Sources: `JdbcSourceConnector`, `TableMonitorThread`, `BulkTableQuerier` and `JdbcDbWriter` of
confluentinc/kafka-connect-jdbc and Aiven-Open/jdbc-connector-for-apache-kafka; "Snowflake Source Connector
for Confluent Cloud"; README.md of SAP/kafka-connect-sap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from lineage_bridge_dagster.confluent.connectors.config import UNRESOLVED, is_resolved
from lineage_bridge_dagster.confluent.connectors.families.common import debezium_collection, table_name
from lineage_bridge_dagster.confluent.connectors.family import (
    Sink,
    SinkContext,
    Source,
    SourceContext,
    WrittenTopic,
    named_for,
    sink_family,
    source_family,
)
from lineage_bridge_dagster.confluent.connectors.query import tables_of
from lineage_bridge_dagster.confluent.connectors.relational import (
    Database,
    database_of,
    name_parts,
    plain_parts,
)
from lineage_bridge_dagster.confluent.connectors.table_patterns import PatternExpansion, TableList

#: A name part that no database has: what matches it in place of a schema matches any schema.
_ANY = "any_schema_at_all"
_WORD = re.compile(r"[\w$#-]+")
#: A dot that stands for itself.
_SEPARATOR = re.compile(r"\[\.\]|\\\.|(?<!\\)\.(?![*+?{])")
_QUANTIFIER = re.compile(r"[*+{]")
_MOST_WORDS = 30
#: No database allows longer ones.
_LONGEST_NAME = 255

Path = tuple[str, ...]


def jdbc(kind: str = "") -> Source:
    """Topics `{topic.prefix}{table}`, with the table's last name part; with a query, the prefix alone.

    Args:
        kind: The database of a managed connector; by default the JDBC URL tells it.
    """

    def source(context: SourceContext) -> Iterator[WrittenTopic]:
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
        for path, by_name in tables.paths().items():
            yield named_for(prefix + path[-1], _dataset(database, path), listed=not by_name)

    return source


def _dataset(database: Database | None, path: Path) -> str:
    """A table's dataset; the path is empty in front where the schema is not known."""
    return "" if database is None or not (path[0] and path[-1]) else database.table(*path)


def _narrowed(context: SourceContext, database: Database) -> Database:
    """The database with the schema and catalog that the patterns tell."""
    config = context.config
    schema, catalog = config.get("schema.pattern")[:_LONGEST_NAME], config.get("catalog.pattern")
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
) -> Iterator[WrittenTopic]:
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
            yield WrittenTopic(topic, dataset)
    if not complete:
        context.warnings.append("some of the tables that its query reads are not known from its text")
    if not complete or not tables.names:
        yield WrittenTopic(topic)


@dataclass
class _Tables:
    """The tables that a source reads, by its lists and by the topics that exist."""

    context: SourceContext
    database: Database | None
    prefix: str

    @property
    def listed(self) -> list[str]:
        return self.context.config.items("table.whitelist", "table.include.list")

    def paths(self) -> dict[Path, bool]:
        """The known qualified names, each with whether it is inferred from a topic.

        An unknown schema is an empty part.
        """
        config, warnings = self.context.config, self.context.warnings
        listed: list[Path] = [tuple(plain_parts(item)) for item in config.items("table.whitelist")]
        include = TableList([] if listed else config.items("table.include.list"), warnings)
        for expansion in include.spelled.values():
            listed += self._spelled(expansion)
        guessed: list[Path] = [] if listed or include else [(table,) for table in self._existing]
        for pattern in list(include.open):
            chosen = self._matched(include, pattern)
            if not chosen:
                warnings.append(f"{pattern} of its table list matches no topic of the cluster")
            guessed += chosen
        found: dict[Path, bool] = dict.fromkeys(listed, False)
        for path in guessed:
            found.setdefault(path, True)
        exact = set(config.items("table.blacklist"))
        exclude = TableList(config.items("table.exclude.list"), warnings)
        names = {path: self._names(path) for path in found if path}
        exclude.learn(name for some in names.values() for name in some)
        return {
            path: found[path]
            for path, some in names.items()
            if not some & exact and not exclude.matches(some)
        }

    @cached_property
    def _existing(self) -> list[str]:
        """The tables that the topics tell; a dot after the prefix is of another connector's topic."""
        return [name for name in self.context.named_like(self.prefix) if name and "." not in name]

    def _qualified(self, path: Path) -> Path:
        """A path with the schema, or database, of unqualified tables."""
        if self.database is None or len(path) > 1:
            return path
        head = self.database.schema if "schema" in self.database.dialect.path else self.database.name
        return (head, *path)

    def _names(self, path: Path) -> set[str]:
        """A table's names, qualified to any degree."""
        whole = self._qualified(path)
        return {".".join(whole[start:]).lstrip(".") for start in range(len(whole))}

    def _spelled(self, expansion: PatternExpansion) -> list[Path]:
        paths = [tuple(name.split(".")) for name in expansion.names]
        if not expansion.product:
            return paths
        # Not all of these need to exist.
        topics = self.context.cluster_topics
        return [path for path in paths if self.prefix + path[-1] in topics] or paths

    def _matched(self, include: TableList, pattern: str) -> list[Path]:
        """The existing tables that an expression over qualified names matches.

        Topics lack the schema. It is the usual one if the expression allows any, else one that it names.
        """
        tables = self._existing
        usual = self._qualified(("",))[:-1]
        database, name = self.database, ""
        if database is not None and len(database.dialect.path) > 2:
            # The drivers of some databases also name the database.
            named = database.dialect.across or len(_SEPARATOR.findall(pattern)) > 1
            name = (database.name or _ANY) if named else ""
        any_head = [(_ANY,), *([(name, _ANY)] if name else [])]
        anywhere = {table for head in any_head for table in self._below(include, pattern, head)}
        before = _QUANTIFIER.split(pattern, maxsplit=1)[0]
        words = list(dict.fromkeys([*filter(None, usual), *_WORD.findall(before)]))[:_MOST_WORDS]
        heads = [(), *((word,) for word in words), *((name, word) for word in words if name)]
        schemas: dict[str, dict[Path, Path]] = {}
        for head in heads:
            for table in self._below(include, pattern, head):
                # Both `dbo.orders` and `sales.dbo.orders` mean the same schema.
                schemas.setdefault(table, {})[head[-1:]] = head
        found: list[Path] = []
        for table in tables:
            if table in anywhere:
                found.append((*usual, table))
            elif fits := schemas.get(table):
                found.append((*next(iter(fits.values())), table) if len(fits) == 1 else ("", table))
        return found

    def _below(self, include: TableList, pattern: str, head: Path) -> list[str]:
        """The existing tables that an expression matches below a head."""
        names = {".".join((*head, table)): table for table in self._existing}
        return [names[name] for name in include.matching(pattern, names)] if pattern in include.open else []


@source_family("snowflake", "SnowflakeSource", "confluent:snowflake.jdbc.SnowflakeSourceConnector")
def snowflake(context: SourceContext) -> Iterator[WrittenTopic]:
    """Topics `{topic.prefix}{database}.{schema}.{table}`."""
    config, prefix = context.config, context.config.get("topic.prefix")
    database = database_of(config, "snowflake")
    if database is None:
        return
    include = TableList(config.items("table.include.list", "table.whitelist"), context.warnings)
    exclude = TableList(config.items("table.exclude.list"), context.warnings)
    listed = [name for expansion in include.spelled.values() for name in expansion.names]
    found = [*listed]
    if include.open or not include:
        existing = [name for name in context.named_like(prefix) if name.count(".") == 2]
        include.learn(existing)
        chosen = [name for name in existing if not include or include.matches([name])]
        if not chosen and include:
            context.warnings.append("its table list matches no topic of the cluster")
        found += chosen
    exclude.learn(found)
    for name in dict.fromkeys(found):
        if not exclude.matches([name]):
            yield named_for(prefix + name, database.table(*name.split(".")), listed=name in listed)


source_family("jdbc-postgres", "PostgresSource")(jdbc("postgresql"))
source_family("jdbc-mysql", "MySqlSource")(jdbc("mysql"))
source_family("jdbc-sqlserver", "MicrosoftSqlServerSource")(jdbc("sqlserver"))
source_family("jdbc-oracle", "OracleDatabaseSource")(jdbc("oracle"))
source_family("jdbc-db2", "IbmDb2Source")(jdbc("db2"))
source_family(
    "jdbc",
    "confluent:jdbc.JdbcSourceConnector",
    "io.aiven.connect.jdbc.JdbcSourceConnector",
    "com.yugabyte.jdbc.JdbcSourceConnector",
)(jdbc())


def _jdbc_sink(kind: str = "") -> Sink:
    """A table by `table.name.format`, which may name its schema, or its database in MySQL.

    Args:
        kind: The database of a managed connector; by default the JDBC URL tells it.
    """

    def sink(context: SinkContext, topic: str) -> str:
        config = context.config
        name = config.pairs("topics.to.tables.mapping").get(topic, "")
        if not name:
            name = table_name(config, topic)
            if config.flag("table.name.normalize"):
                name = re.sub(r"[^A-Za-z0-9_]", "_", name)
        unquoted = config.get("quote.sql.identifiers").lower() == "never"
        unquoted = unquoted or not config.flag("sql.quote.identifiers", True)
        return _written_table(context, kind, name, quoted=not unquoted)

    return sink


@sink_family("debezium-jdbc", "io.debezium.connector.jdbc.JdbcSinkConnector")
def debezium_jdbc_sink(context: SinkContext, topic: str) -> str:
    """A table by Debezium's naming strategy."""
    name = debezium_collection(context, topic)
    return name and _written_table(context, "", name, quoted=context.config.flag("quote.identifiers"))


def _written_table(context: SinkContext, kind: str, name: str, *, quoted: bool) -> str:
    """The dataset of a table's name."""
    config = context.config
    database = database_of(config, kind)
    if database is None or not database.host:
        key = "connection.host" if config.get("connection.host") else "connection.url"
        context.warnings.append(f"its database is not known from {key}")
        return ""
    parts = name_parts(name)
    plain = [part for part, _ in parts] if quoted else database.folded(parts)
    dataset = database.table(*plain)
    if not dataset and UNRESOLVED not in name:
        context.warnings.append(
            f"{name}, the table by its configuration, names none in its database, or the database is not set"
        )
    return dataset


sink_family("jdbc-postgres", "PostgresSink AlloyDbSink")(_jdbc_sink("postgresql"))
sink_family("jdbc-mysql", "MySqlSink")(_jdbc_sink("mysql"))
sink_family("jdbc-sqlserver", "MicrosoftSqlServerSink")(_jdbc_sink("sqlserver"))
sink_family("jdbc-oracle", "OracleDatabaseSink")(_jdbc_sink("oracle"))
sink_family(
    "jdbc",
    "confluent:jdbc.JdbcSinkConnector",
    "io.aiven.connect.jdbc.JdbcSinkConnector",
    "com.yugabyte.jdbc.JdbcSinkConnector",
    "com.ibm.eventstreams.connect.jdbcsink.JDBCSinkConnector",
)(_jdbc_sink())


_SAP = "com.sap.kafka.connect."


def _hana_table(database: Database | None, name: str) -> str:
    return database.table(*database.folded(name_parts(name))) if database and name else ""


@source_family("sap-hana", _SAP + "source.hana.HANASourceConnector")
def hana_source(context: SourceContext) -> Iterator[WrittenTopic]:
    """Topics of `topics`, each with `{topic}.table.name` or `{topic}.query`."""
    config = context.config
    database = database_of(config)
    for topic in config.items("topics"):
        query = config.get(f"{topic}.query")
        if query and config.get("queryMode").lower() == "query":
            yield from query_flows(context, database, query, topic)
        else:
            yield WrittenTopic(topic, _hana_table(database, config.get(f"{topic}.table.name")))


@sink_family("sap-hana", _SAP + "sink.hana.HANASinkConnector")
def hana_sink(context: SinkContext, topic: str) -> str:
    """The table of `{topic}.table.name`."""
    config = context.config
    return _hana_table(database_of(config), config.get(f"{topic}.table.name"))
