"""Wide-column stores and stores like them: Apache Cassandra, ScyllaDB, HBase, MapR and GemFire.

Cassandra's connectors are those of DataStax, Confluent, ScyllaDB and Lenses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.families.declared import declare
from lineage_bridge_dagster.confluent.connectors.family import SinkContext, sink_family

#: `topic.{topic}.{keyspace}.{table}.mapping`; only a topic's name may have dots.
_MAPPING = re.compile(r"topic\.(.+)\.(\w+)\.(\w+)\.mapping", re.DOTALL)


@sink_family(
    "cassandra-datastax",
    "com.datastax.oss.kafka.sink.CassandraSinkConnector",
    "com.datastax.kafkaconnector.DseSinkConnector",
    "com.datastax.kafkaconnector.CassandraSinkConnector",
)
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
            yield _cassandra(host, config.get("port"), match[2], match[3])


def _cassandra(host: str, port: str, keyspace: str, table: str) -> str:
    return naming.CASSANDRA(host=host, port=port, keyspace=keyspace, table=table)


@sink_family("scylladb", "io.connect.scylladb.ScyllaDbSinkConnector")
def scylla_sink(context: SinkContext, topic: str) -> str:
    """The topic's table: a dot or a hyphen in its name becomes an underscore."""
    config = context.config
    keyspace = config.get("scylladb.keyspace")
    table = re.sub("[.-]", "_", topic)
    return _cassandra(config.get("scylladb.contact.points"), config.get("scylladb.port"), keyspace, table)


def _lenses_table(host: str, port: str, keyspace: str, name: str) -> str:
    """A table, in its own keyspace or in the one of the configuration."""
    own, _, table = name.rpartition(".")
    return _cassandra(host, port, own or keyspace, table)


@sink_family("mapr", "confluent:mapr.db.MapRDbSinkConnector")
def mapr(context: SinkContext, topic: str) -> str:
    """A table by its path in MapR's file system, which starts with the cluster's name."""
    return naming.MAPR_DB(table=context.config.get(f"mapr.table.map.{topic}"))


declare(
    """
    cassandra: CASSANDRA keys:cassandra. host=contact.points port=port keyspace=keyspace table==${topic}
        confluent:cassandra.CassandraSinkConnector
    cassandra-lenses: lenses_table kcql:connect.cassandra.kcql
        keys:connect.cassandra. host=contact.points port=port keyspace=key.space name==${topic}
        lenses:cassandra.source.CassandraSourceConnector
        io.lenses.streamreactor.connect.cassandra.CassandraSinkConnector
        lenses:cassandra.sink.CassandraSinkConnector
    hbase: HBASE host=hbase.zookeeper.quorum port=hbase.zookeeper.property.clientPort
        table=table.name.format=${topic} confluent:hbase.HBaseSinkConnector
    gemfire: GEMFIRE keys:gemfire. host=locator.host port=locator.port region=region
        confluent:pivotal.gemfire.PivotalGemfireSinkConnector
    """,
    lenses_table=_lenses_table,
)
