"""Sinks of relational databases by JDBC.

Source: `JdbcDbWriter` of confluentinc/kafka-connect-jdbc and Aiven-Open/jdbc-connector-for-apache-kafka.
"""

from __future__ import annotations

import re

from lineage_bridge_dagster.confluent.connectors.config import UNRESOLVED, Config
from lineage_bridge_dagster.confluent.connectors.families.common import debezium_collection, table_name
from lineage_bridge_dagster.confluent.connectors.family import Sink, SinkContext, sink_family
from lineage_bridge_dagster.confluent.connectors.relational import database_of, name_parts


def jdbc(kind: str = "") -> Sink:
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
        return _table(context, kind, name, quoted=not unquoted)

    return sink


@sink_family("debezium-jdbc", "", "io.debezium.connector.jdbc.JdbcSinkConnector")
def debezium(context: SinkContext, topic: str) -> str:
    """A table by Debezium's naming strategy."""
    name = debezium_collection(context, topic)
    return name and _table(context, "", name, quoted=context.config.flag("quote.identifiers"))


def _table(context: SinkContext, kind: str, name: str, *, quoted: bool) -> str:
    """The dataset of a table's name."""
    config = context.config
    database = database_of(config, kind)
    if database is None or not database.host:
        context.warnings.append(f"its database is not known from {_address_key(config)}")
        return ""
    parts = name_parts(name)
    plain = [part for part, _ in parts] if quoted else database.folded(parts)
    dataset = database.table(*plain)
    if not dataset and UNRESOLVED not in name:
        context.warnings.append(
            f"{name}, the table by its configuration, names none in its database, or the database is not set"
        )
    return dataset


def _address_key(config: Config) -> str:
    return "connection.host" if config.get("connection.host") else "connection.url"


sink_family("jdbc-postgres", "PostgresSink AlloyDbSink")(jdbc("postgresql"))
sink_family("jdbc-mysql", "MySqlSink")(jdbc("mysql"))
sink_family("jdbc-sqlserver", "MicrosoftSqlServerSink")(jdbc("sqlserver"))
sink_family("jdbc-oracle", "OracleDatabaseSink")(jdbc("oracle"))
sink_family(
    "jdbc",
    "",
    "io.confluent.connect.jdbc.JdbcSinkConnector",
    "io.aiven.connect.jdbc.JdbcSinkConnector",
    "com.yugabyte.jdbc.JdbcSinkConnector",
    "com.ibm.eventstreams.connect.jdbcsink.JDBCSinkConnector",
)(jdbc())
