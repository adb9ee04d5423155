"""Apache Cassandra and ScyllaDB: the connectors of DataStax, Confluent, ScyllaDB and Lenses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families import kcql
from lineage_bridge_dagster.confluent.connectors.family import Family, SinkContext, SourceContext, Written

#: `topic.{topic}.{keyspace}.{table}.mapping`; only a topic's name may have dots.
_MAPPING = re.compile(r"topic\.(.+)\.(\w+)\.(\w+)\.mapping", re.DOTALL)


def datastax_sink(context: SinkContext, topic: str) -> Iterable[str]:
    """The tables that a `topic.{topic}.{keyspace}.{table}.mapping` names."""
    config = context.config
    host = config.get("contactPoints")
    if not host:
        context.warnings.append(
            "contactPoints is not set: cloud.secureConnectBundle does not tell the address of the database"
        )
        return
    for match in config.keys_like(_MAPPING):
        if match[1] == topic:
            yield _table(host, config.get("port"), match[2], match[3])


def _table(host: str, port: str, keyspace: str, table: str) -> str:
    return naming.CASSANDRA(host=host, port=port, keyspace=keyspace, table=table)


def confluent_sink(context: SinkContext, topic: str) -> str:
    config = context.config
    port = config.get("cassandra.port")
    return _table(config.get("cassandra.contact.points"), port, config.get("cassandra.keyspace"), topic)


def scylla_sink(context: SinkContext, topic: str) -> str:
    """The topic's table: a dot or a hyphen in its name becomes an underscore."""
    config = context.config
    keyspace = config.get("scylladb.keyspace")
    table = re.sub("[.-]", "_", topic)
    return _table(config.get("scylladb.contact.points"), config.get("scylladb.port"), keyspace, table)


def scylla_source(context: SourceContext) -> Iterator[Written]:
    """Topics `{prefix}.{keyspace}.{table}`, one for each listed table."""
    config = context.config
    prefix = config.get("topic.prefix", "scylla.name")
    context.internal.append(
        f"{config.get('heartbeat.topics.prefix', default='__debezium-heartbeat')}.{prefix}"
    )
    for name in config.items("scylla.table.names"):
        keyspace, _, table = name.partition(".")
        dataset = _table(config.get("scylla.cluster.ip.addresses"), "", keyspace, table)
        yield Written(f"{prefix}.{name}" if prefix else "", dataset)


def _lenses_table(config: Config, name: str) -> str:
    """A table, in its own keyspace or in `connect.cassandra.key.space`."""
    keyspace, _, table = name.rpartition(".")
    host, port = config.get("connect.cassandra.contact.points"), config.get("connect.cassandra.port")
    return _table(host, port, keyspace or config.get("connect.cassandra.key.space"), table)


def lenses_sink(context: SinkContext, topic: str) -> list[str]:
    config = context.config
    statements = kcql.for_topic(config.get("connect.cassandra.kcql"), topic)
    return [_lenses_table(config, item.target) for item in statements]


def lenses_source(context: SourceContext) -> Iterator[Written]:
    config = context.config
    for item in kcql.statements(config.get("connect.cassandra.kcql")):
        topic = item.source if item.target in ("", "*") else item.target
        yield Written(topic, _lenses_table(config, item.source))


SOURCES = (
    Family("scylladb", (), ("com.scylladb.cdc.debezium.connector.ScyllaConnector",), scylla_source),
    Family(
        "cassandra-lenses",
        (),
        (
            "io.lenses.streamreactor.connect.cassandra.source.CassandraSourceConnector",
            "com.datamountaineer.streamreactor.connect.cassandra.source.CassandraSourceConnector",
        ),
        lenses_source,
    ),
)


SINKS = (
    Family(
        "cassandra-datastax",
        (),
        (
            "com.datastax.oss.kafka.sink.CassandraSinkConnector",
            "com.datastax.kafkaconnector.DseSinkConnector",
            "com.datastax.kafkaconnector.CassandraSinkConnector",
        ),
        sink=datastax_sink,
    ),
    Family(
        "cassandra",
        (),
        ("io.confluent.connect.cassandra.CassandraSinkConnector",),
        sink=confluent_sink,
    ),
    Family("scylladb", (), ("io.connect.scylladb.ScyllaDbSinkConnector",), sink=scylla_sink),
    Family(
        "cassandra-lenses",
        (),
        (
            "io.lenses.streamreactor.connect.cassandra.CassandraSinkConnector",
            "io.lenses.streamreactor.connect.cassandra.sink.CassandraSinkConnector",
            "com.datamountaineer.streamreactor.connect.cassandra.sink.CassandraSinkConnector",
        ),
        sink=lenses_sink,
    ),
)
