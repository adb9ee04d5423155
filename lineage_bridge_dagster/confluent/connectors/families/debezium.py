"""Debezium: change data capture from databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lineage_bridge_dagster.confluent.connectors import datasets
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import selected
from lineage_bridge_dagster.confluent.connectors.family import Family, Source, SourceContext, Written
from lineage_bridge_dagster.confluent.connectors.java_regex import full_matches, is_literal


def _no_database(_config: Config) -> list[str]:
    """For connectors whose table lists have qualified names."""
    return [""]


def _mssql_databases(config: Config) -> list[str]:
    return config.items("database.names") or [""]


_DBZ = "io.debezium.connector."


def debezium(scheme: str, databases: Callable[[Config], list[str]]) -> Source:
    """Topics `{topic.prefix}.{table path}`.

    Args:
        scheme: Of the datasets.
        databases: The databases that precede the listed names, `[""]` for none.
    """

    def source(context: SourceContext) -> Iterator[Written]:
        config = context.config
        prefix = config.get("topic.prefix", "database.server.name")
        if not prefix:
            context.warnings.append("topic.prefix (V1: database.server.name) is not set")
            return
        context.internal += _debezium_internal(config, prefix)
        heads = databases(config)
        items = config.items("table.include.list", "table.whitelist")
        candidates = [] if items and all(map(is_literal, items)) else context.named_like(prefix + ".")
        for head in heads:
            within = f"{head}." if head else ""
            known = [name.removeprefix(within) for name in candidates if name.startswith(within)]
            tables = selected(items, known) if items else _included(config, known)
            if items and not tables:
                context.warnings.append("its table list matches no topic of the cluster")
            for table in tables:
                dataset = _debezium_dataset(config, scheme, head, table)
                yield Written(f"{prefix}.{within}{table}", dataset)

    return source


def _included(config: Config, tables: list[str]) -> list[str]:
    """Without a table list: the cluster's tables, filtered by schema, database and exclude lists."""
    groups = config.items("schema.include.list", "database.include.list")
    if groups:
        heads = {table.partition(".")[0] for table in tables}
        chosen = {head for item in groups for head in full_matches(item, heads)}
        tables = [table for table in tables if table.partition(".")[0] in chosen]
    excluded_heads = {
        head
        for item in config.items("schema.exclude.list", "database.exclude.list")
        for head in full_matches(item, {table.partition(".")[0] for table in tables})
    }
    excluded = {table for item in config.items("table.exclude.list") for table in full_matches(item, tables)}
    return [
        table for table in tables if table not in excluded and table.partition(".")[0] not in excluded_heads
    ]


def _debezium_dataset(config: Config, scheme: str, head: str, table: str) -> str:
    host = config.get("database.hostname")
    if not host:
        return ""
    database = {
        "postgres": config.get("database.dbname"),
        "mssql": head or config.get("database.dbname"),
        # The tables are in the pluggable database, if there is one.
        "oracle": config.get("database.pdb.name", "database.dbname", "database.service.name"),
    }
    return datasets.database(scheme, host, config.get("database.port"), database.get(scheme, head), table)


def _debezium_internal(config: Config, prefix: str) -> list[str]:
    history = config.get(
        "schema.history.internal.kafka.topic", "database.history.kafka.topic", default=f"dbhistory.{prefix}"
    )
    heartbeat = config.get(
        "heartbeat.topics.prefix", "topic.heartbeat.prefix", default="__debezium-heartbeat"
    )
    names = [
        history.replace("${topic.prefix}", prefix).partition(".{{")[0],
        f"{heartbeat}.{prefix}",
        f"{prefix}.transaction",
        config.get("notification.sink.topic.name"),
    ]
    return [name for name in names if name]


SOURCES = (
    Family(
        "debezium-postgres",
        ("PostgresCdcSource", "PostgresCdcSourceV2"),
        (_DBZ + "postgresql.PostgresConnector", _DBZ + "v2.postgresql.PostgresConnectorV2"),
        debezium("postgres", _no_database),
    ),
    Family(
        "debezium-mysql",
        ("MySqlCdcSource", "MySqlCdcSourceV2", "MariaDbCdcSource"),
        (
            _DBZ + "mysql.MySqlConnector",
            _DBZ + "v2.mysql.MySqlConnectorV2",
            _DBZ + "mariadb.MariaDbConnector",
            _DBZ + "v2.mariadb.MariaDbConnector",
        ),
        debezium("mysql", _no_database),
    ),
    Family(
        "debezium-sqlserver",
        ("SqlServerCdcSource", "SqlServerCdcSourceV2"),
        (_DBZ + "sqlserver.SqlServerConnector", _DBZ + "v2.sqlserver.SqlServerConnectorV2"),
        debezium("mssql", _mssql_databases),
    ),
    Family(
        "oracle-xstream",
        ("OracleXStreamSource",),
        ("io.confluent.connect.oracle.xstream.cdc.OracleXStreamSourceConnector",),
        debezium("oracle", _no_database),
    ),
)
