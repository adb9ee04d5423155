"""Debezium: change data capture from databases, and the connectors that are built on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.addresses import parse_jdbc_url
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import key_values
from lineage_bridge_dagster.confluent.connectors.families.debezium_tables import Capture
from lineage_bridge_dagster.confluent.connectors.families.debezium_topics import (
    Path,
    internal_topics,
    topic_names,
)
from lineage_bridge_dagster.confluent.connectors.family import (
    Source,
    SourceContext,
    WrittenTopic,
    source_family,
)
from lineage_bridge_dagster.confluent.connectors.naming import Rule

_PREFIX = ("topic.prefix", "database.server.name")


def debezium(capture: Capture, *prefix: str, by_name: bool = False) -> Source:
    """Topics `{prefix}.{path of the table}`.

    Args:
        *prefix: Keys of the prefix.
        by_name: Whether the connector's own id or name is the prefix.
    """
    keys = prefix or _PREFIX

    def source(context: SourceContext) -> Iterator[WrittenTopic]:
        config = context.config
        name = config.get(*keys) or (context.connector.id or context.connector.name if by_name else "")
        if not name:
            context.warnings.append(f"its prefix is not set ({' or '.join(keys)})")
            return
        names = topic_names(config, name)
        internal = dict.fromkeys(internal_topics(context, names))
        context.internal += [topic for topic in internal if topic]
        yield from capture.written(context, names)

    return source


def _tables(rule: Rule, *path: str, **keys: str) -> Callable[[Config, Path], str]:
    """Names the tables of a kind of database.

    Args:
        *path: The parts of the rule that are a table's path.
        **keys: The keys of other parts, in addition to those of the server's address or in place of them.
    """
    values = key_values(**{"host": "database.hostname", "port": "database.port"} | keys)
    return lambda config, names: rule(**values(config, "") | dict(zip(path, names, strict=False)))


def _mssql(config: Config, path: Path) -> str:
    return naming.MSSQL(
        host=config.get("database.hostname"),
        port=config.get("database.port"),
        database=path[0] if len(path) == 3 else config.get("database.dbname"),
        schema=path[-2],
        table=path[-1],
    )


def _mssql_databases(config: Config) -> list[Path]:
    """Several databases can be named since 1.9; then they are in the topics, even if it is one."""
    return [(name,) for name in config.items("database.names")] or [()]


def _oracle_service(config: Config) -> str:
    """The tables are in the pluggable database, if there is one."""
    url = parse_jdbc_url(config.get("database.url"))
    named = config.get("database.pdb.name", "database.dbname", "database.service.name")
    return named or (url.database if url else "")


def _oracle(config: Config, path: Path) -> str:
    if path[0].startswith("C__"):
        # Topics spell common users so, `C##USER`, and no list tells the user's own name.
        return ""
    host, port = config.get("database.hostname"), config.get("database.port")
    if not host and (url := parse_jdbc_url(config.get("database.url"))):
        host = url.host
    return naming.ORACLE(host=host, port=port, service=_oracle_service(config), schema=path[0], table=path[1])


def _mongodb(config: Config, path: Path) -> str:
    # mongodb.hosts, of 1.x: replica set/host:port,...
    host = config.get("mongodb.connection.string") or config.get("mongodb.hosts").rpartition("/")[2]
    return naming.MONGODB(host=host, database=path[0], collection=path[1])


def _dbname(config: Config) -> str:
    return config.get("database.dbname")


def _head(key: str) -> Callable[[Config], list[Path]]:
    """The first part of all paths, if the configuration tells it."""
    return lambda config: [(name,)] if (name := config.get(key)) else [()]


def _postgres(default_port: str = "") -> Capture:
    """PostgreSQL, or a database with its protocol."""
    port = f"database.port = {default_port}"
    tables = _tables(naming.POSTGRES, "schema", "table", port=port, database="database.dbname")
    return Capture(tables, database=_dbname)


_DBZ = "io.debezium.connector."

_ORACLE = Capture(_oracle, database=_oracle_service)
_MYSQL_SYSTEM = frozenset({"mysql", "information_schema", "performance_schema", "sys"})
_MYSQL = Capture(_tables(naming.MYSQL, "database", "table"), container="database", system=_MYSQL_SYSTEM)
_DB2 = Capture(_tables(naming.DB2, "schema", "table", database="database.dbname"), database=_dbname)
_DB2_I = Capture(
    _tables(naming.DB2_I, "schema", "table"), heads=_head("database.schema"), heads_listed=True, hidden=1
)
_INFORMIX = Capture(_tables(naming.INFORMIX, "schema", "table", database="database.dbname"), database=_dbname)
_VITESS = Capture(
    _tables(naming.VITESS, "keyspace", "table"), heads=_head("vitess.keyspace"), heads_listed=True
)
#: A table has its schema in its name, if it is in a named one.
_SPANNER = Capture(
    _tables(
        naming.SPANNER,
        "table",
        project="gcp.spanner.project.id",
        instance="gcp.spanner.instance.id",
        database="gcp.spanner.database.id",
    ),
    listed=1,
    open_end=True,
)
_CASSANDRA = Capture(
    _tables(naming.CASSANDRA, "keyspace", "table", host="cassandra.hosts", port="cassandra.port")
)
_SCYLLA = Capture(
    _tables(naming.CASSANDRA, "keyspace", "table", host="scylla.cluster.ip.addresses", port="= ")
)
_MONGO = Capture(
    _mongodb,
    container="database",
    system=frozenset({"admin", "config", "local"}),
    items="collection",
    open_end=True,
)

source_family(
    "debezium-postgres",
    "PostgresCdcSource PostgresCdcSourceV2",
    _DBZ + "postgresql.PostgresConnector",
    _DBZ + "v2.postgresql.PostgresConnectorV2",
)(debezium(_postgres()))
source_family(
    "debezium-mysql",
    "MySqlCdcSource MySqlCdcSourceV2 MariaDbCdcSource",
    _DBZ + "mysql.MySqlConnector",
    _DBZ + "v2.mysql.MySqlConnectorV2",
    _DBZ + "mariadb.MariaDbConnector",
    _DBZ + "v2.mariadb.MariaDbConnector",
)(debezium(_MYSQL))
source_family(
    "debezium-sqlserver",
    "SqlServerCdcSource SqlServerCdcSourceV2",
    _DBZ + "sqlserver.SqlServerConnector",
    _DBZ + "v2.sqlserver.SqlServerConnectorV2",
)(debezium(Capture(_mssql, heads=_mssql_databases, database=_dbname)))
source_family("debezium-oracle", _DBZ + "oracle.OracleConnector")(debezium(_ORACLE))
source_family(
    "oracle-xstream", "OracleXStreamSource", "confluent:oracle.xstream.cdc.OracleXStreamSourceConnector"
)(debezium(_ORACLE))
source_family("debezium-mongodb", "MongoDbCdcSource", _DBZ + "mongodb.MongoDbConnector")(
    debezium(_MONGO, "topic.prefix", "mongodb.name")
)
source_family("debezium-db2", _DBZ + "db2.Db2Connector")(debezium(_DB2))
source_family("debezium-ibmi", _DBZ + "db2as400.As400RpcConnector")(debezium(_DB2_I))
source_family("debezium-informix", _DBZ + "informix.InformixConnector")(debezium(_INFORMIX))
source_family("debezium-vitess", _DBZ + "vitess.VitessConnector")(debezium(_VITESS))
source_family("debezium-spanner", "SpannerCdcSource", _DBZ + "spanner.SpannerConnector")(
    debezium(_SPANNER, "gcp.spanner.topic.prefix", by_name=True)
)
source_family("debezium-cockroachdb", _DBZ + "cockroachdb.CockroachDBConnector")(debezium(_postgres("26257")))
source_family(
    "yugabytedb", _DBZ + "yugabytedb.YugabyteDBgRPCConnector", _DBZ + "yugabytedb.YugabyteDBConnector"
)(debezium(_postgres("5433")))
source_family(
    "debezium-cassandra", _DBZ + "cassandra.CassandraConnector", _DBZ + "cassandra.Cassandra4Connector"
)(debezium(_CASSANDRA, "topic.prefix", "kafka.topic.prefix"))
source_family("scylladb", "com.scylladb.cdc.debezium.connector.ScyllaConnector")(
    debezium(_SCYLLA, "topic.prefix", "scylla.name")
)
