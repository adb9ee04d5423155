"""Relational databases by JDBC."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import datasets
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import qualified, table_name
from lineage_bridge_dagster.confluent.connectors.family import (
    Family,
    Sink,
    SinkContext,
    Source,
    SourceContext,
    Written,
)
from lineage_bridge_dagster.confluent.connectors.java_regex import is_literal, literal

_JDBC_SOURCE = ("io.confluent.connect.jdbc.JdbcSourceConnector", "io.aiven.connect.jdbc.JdbcSourceConnector")


_JDBC_SINK = ("io.confluent.connect.jdbc.JdbcSinkConnector", "io.aiven.connect.jdbc.JdbcSinkConnector")


def _connection(config: Config, scheme: str) -> tuple[str, str, str, str]:
    """Scheme, host, port and database, from a JDBC URL or managed keys."""
    parsed = datasets.jdbc(config.get("connection.url"))
    if parsed is not None:
        return parsed
    host = config.get("connection.host", "database.hostname")
    return (
        scheme,
        host,
        config.get("connection.port", "database.port"),
        config.get("db.name", "database.dbname"),
    )


def jdbc(scheme: str) -> Source:
    """Topics `{topic.prefix}{table}`, with the table's last name part; with `query`, the prefix alone."""

    def source(context: SourceContext) -> Iterator[Written]:
        config, prefix = context.config, context.config.get("topic.prefix")
        if config.get("query"):
            context.warnings.append("query is set: the tables it reads are not known from the configuration")
            if prefix:
                yield Written(prefix)
            return
        kind, host, port, name = _connection(config, scheme)
        if kind == "snowflake":
            host, port = datasets.snowflake_account(config.get("connection.url")), ""
        items = config.items("table.include.list", "table.whitelist")
        default = ["public"] if kind == "postgres" else ["dbo"] if kind == "mssql" else []
        heads = [*default, *([".".join([name, *default])] if name else [])]
        candidates = [] if items and all(map(is_literal, items)) else context.named_like(prefix)
        tables = [] if items else candidates
        for item in items:
            chosen = [literal(item)] if is_literal(item) else qualified(item, candidates, heads)
            if not chosen:
                context.warnings.append(f"{item} of its table list matches no topic of the cluster")
            tables += chosen
        excluded = {
            name.rpartition(".")[2]
            for item in config.items("table.exclude.list", "table.blacklist")
            for name in qualified(item, [table.rpartition(".")[2] for table in tables], heads)
        }
        tables = [table for table in dict.fromkeys(tables) if table.rpartition(".")[2] not in excluded]
        if not items and not prefix:
            context.warnings.append("neither a table list nor topic.prefix is set: its topics are not known")
        for table in tables:
            *schema, last = table.split(".")
            path = [name, *(schema[-1:] or (config.items("schema.pattern") or default)), last]
            if kind == "mysql":
                path = [name or (schema[-1] if schema else ""), last]
            yield Written(prefix + last, datasets.database(kind, host, port, *path) if host else "")

    return source


def relational(scheme: str) -> Sink:
    """A JDBC sink, by managed keys or `connection.url`; `table.name.format` may contain a schema."""

    def sink(context: SinkContext, topic: str) -> str:
        config = context.config
        parsed = datasets.jdbc(config.get("connection.url"))
        kind, host, port, name = parsed or (
            scheme,
            config.get("connection.host"),
            config.get("connection.port"),
            config.get("db.name"),
        )
        if not host or not kind:
            return ""
        schema = {"postgres": "public", "mssql": "dbo"}.get(kind, "")
        return datasets.database(kind, host, port, name, table_name(context.config, topic, schema))

    return sink


SOURCES = (
    Family("jdbc-postgres", ("PostgresSource",), (), jdbc("postgres")),
    Family("jdbc-mysql", ("MySqlSource",), (), jdbc("mysql")),
    Family("jdbc-sqlserver", ("MicrosoftSqlServerSource",), (), jdbc("mssql")),
    Family("jdbc-oracle", ("OracleDatabaseSource",), (), jdbc("oracle")),
    Family("jdbc-db2", ("IbmDb2Source",), (), jdbc("db2")),
    Family("jdbc", (), _JDBC_SOURCE, jdbc("")),
    Family(
        "snowflake",
        ("SnowflakeSource",),
        ("io.confluent.connect.snowflake.jdbc.SnowflakeSourceConnector",),
        jdbc("snowflake"),
    ),
)


SINKS = (
    Family("jdbc-postgres", ("PostgresSink", "AlloyDbSink"), (), sink=relational("postgres")),
    Family("jdbc-mysql", ("MySqlSink",), (), sink=relational("mysql")),
    Family("jdbc-sqlserver", ("MicrosoftSqlServerSink",), (), sink=relational("mssql")),
    Family("jdbc-oracle", ("OracleDatabaseSink",), (), sink=relational("oracle")),
    Family("jdbc", (), _JDBC_SINK, sink=relational("")),
)
