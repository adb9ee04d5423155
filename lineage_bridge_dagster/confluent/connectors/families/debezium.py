"""Debezium: change data capture from databases, and the connectors that are built on it."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.debezium_tables import Capture
from lineage_bridge_dagster.confluent.connectors.families.debezium_topics import (
    Path,
    internal_topics,
    topic_names,
)
from lineage_bridge_dagster.confluent.connectors.family import Family, Source, SourceContext, Written
from lineage_bridge_dagster.confluent.connectors.jdbc_url import parse_jdbc_url

_PREFIX = ("topic.prefix", "database.server.name")


def debezium(capture: Capture, *prefix: str, by_name: bool = False) -> Source:
    """Topics `{prefix}.{path of the table}`.

    Args:
        capture: Which tables it reads.
        *prefix: Keys of the prefix.
        by_name: Whether the connector's own id or name is the prefix.
    """
    keys = prefix or _PREFIX

    def source(context: SourceContext) -> Iterator[Written]:
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


def _postgres(config: Config, path: Path, port: str = "") -> str:
    return naming.POSTGRES(
        host=config.get("database.hostname"),
        port=config.get("database.port", default=port),
        database=config.get("database.dbname"),
        schema=path[0],
        table=path[1],
    )


def _cockroach(config: Config, path: Path) -> str:
    return _postgres(config, path, "26257")


def _yugabyte(config: Config, path: Path) -> str:
    return _postgres(config, path, "5433")


def _mysql(config: Config, path: Path) -> str:
    host, port = config.get("database.hostname"), config.get("database.port")
    return naming.MYSQL(host=host, port=port, database=path[0], table=path[1])


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


def _db2(config: Config, path: Path) -> str:
    host, port = config.get("database.hostname"), config.get("database.port")
    return naming.DB2(
        host=host, port=port, database=config.get("database.dbname"), schema=path[0], table=path[1]
    )


def _db2_i(config: Config, path: Path) -> str:
    host, port = config.get("database.hostname"), config.get("database.port")
    return naming.DB2_I(host=host, port=port, schema=path[0], table=path[1])


def _db2_i_schema(config: Config) -> list[Path]:
    schema = config.get("database.schema")
    return [(schema,)] if schema else [()]


def _informix(config: Config, path: Path) -> str:
    host, port = config.get("database.hostname"), config.get("database.port")
    return naming.INFORMIX(
        host=host, port=port, database=config.get("database.dbname"), schema=path[0], table=path[1]
    )


def _vitess(config: Config, path: Path) -> str:
    host, port = config.get("database.hostname"), config.get("database.port")
    return naming.VITESS(host=host, port=port, keyspace=path[0], table=path[1])


def _keyspaces(config: Config) -> list[Path]:
    keyspace = config.get("vitess.keyspace")
    return [(keyspace,)] if keyspace else [()]


def _spanner(config: Config, path: Path) -> str:
    """A table; with its schema, if it is in a named one."""
    return naming.SPANNER(
        project=config.get("gcp.spanner.project.id"),
        instance=config.get("gcp.spanner.instance.id"),
        database=config.get("gcp.spanner.database.id"),
        table=path[0],
    )


def _mongodb(config: Config, path: Path) -> str:
    # mongodb.hosts, of 1.x: replica set/host:port,...
    host = config.get("mongodb.connection.string") or config.get("mongodb.hosts").rpartition("/")[2]
    return naming.MONGODB(host=host, database=path[0], collection=path[1])


def _cassandra(config: Config, path: Path) -> str:
    host, port = config.get("cassandra.hosts"), config.get("cassandra.port")
    return naming.CASSANDRA(host=host, port=port, keyspace=path[0], table=path[1])


def _dbname(config: Config) -> str:
    return config.get("database.dbname")


_DBZ = "io.debezium.connector."

_POSTGRES = Capture(_postgres, database=_dbname)
_ORACLE = Capture(_oracle, database=_oracle_service)
_MYSQL_SYSTEM = frozenset({"mysql", "information_schema", "performance_schema", "sys"})
_MYSQL = Capture(_mysql, container="database", system=_MYSQL_SYSTEM)
_MONGO = Capture(
    _mongodb,
    container="database",
    system=frozenset({"admin", "config", "local"}),
    items="collection",
    open_end=True,
)

SOURCES = (
    Family(
        "debezium-postgres",
        ("PostgresCdcSource", "PostgresCdcSourceV2"),
        (_DBZ + "postgresql.PostgresConnector", _DBZ + "v2.postgresql.PostgresConnectorV2"),
        debezium(_POSTGRES),
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
        debezium(_MYSQL),
    ),
    Family(
        "debezium-sqlserver",
        ("SqlServerCdcSource", "SqlServerCdcSourceV2"),
        (_DBZ + "sqlserver.SqlServerConnector", _DBZ + "v2.sqlserver.SqlServerConnectorV2"),
        debezium(Capture(_mssql, heads=_mssql_databases, database=_dbname)),
    ),
    Family("debezium-oracle", (), (_DBZ + "oracle.OracleConnector",), debezium(_ORACLE)),
    Family(
        "oracle-xstream",
        ("OracleXStreamSource",),
        ("io.confluent.connect.oracle.xstream.cdc.OracleXStreamSourceConnector",),
        debezium(_ORACLE),
    ),
    Family(
        "debezium-mongodb",
        ("MongoDbCdcSource",),
        (_DBZ + "mongodb.MongoDbConnector",),
        debezium(_MONGO, "topic.prefix", "mongodb.name"),
    ),
    Family("debezium-db2", (), (_DBZ + "db2.Db2Connector",), debezium(Capture(_db2, database=_dbname))),
    Family(
        "debezium-ibmi",
        (),
        (_DBZ + "db2as400.As400RpcConnector",),
        debezium(Capture(_db2_i, heads=_db2_i_schema, heads_listed=True, hidden=1)),
    ),
    Family(
        "debezium-informix",
        (),
        (_DBZ + "informix.InformixConnector",),
        debezium(Capture(_informix, database=_dbname)),
    ),
    Family(
        "debezium-vitess",
        (),
        (_DBZ + "vitess.VitessConnector",),
        debezium(Capture(_vitess, heads=_keyspaces, heads_listed=True)),
    ),
    Family(
        "debezium-spanner",
        ("SpannerCdcSource",),
        (_DBZ + "spanner.SpannerConnector",),
        debezium(Capture(_spanner, listed=1, open_end=True), "gcp.spanner.topic.prefix", by_name=True),
    ),
    Family(
        "debezium-cockroachdb",
        (),
        (_DBZ + "cockroachdb.CockroachDBConnector",),
        debezium(Capture(_cockroach, database=_dbname)),
    ),
    Family(
        "yugabytedb",
        (),
        (_DBZ + "yugabytedb.YugabyteDBgRPCConnector", _DBZ + "yugabytedb.YugabyteDBConnector"),
        debezium(Capture(_yugabyte, database=_dbname)),
    ),
    Family(
        "debezium-cassandra",
        (),
        (_DBZ + "cassandra.CassandraConnector", _DBZ + "cassandra.Cassandra4Connector"),
        debezium(Capture(_cassandra), "topic.prefix", "kafka.topic.prefix"),
    ),
)
