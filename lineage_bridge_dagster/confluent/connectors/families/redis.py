"""Redis, and services with its protocol: the connectors of Redis, Confluent, Lenses and of the community."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families import kcql
from lineage_bridge_dagster.confluent.connectors.families.common import per_topic
from lineage_bridge_dagster.confluent.connectors.family import (
    SourceContext,
    WrittenTopic,
    sink_family,
    source_family,
)

_REDIS = "com.redis.kafka.connect."
_CONFLUENT = "io.confluent.connect.rediskafka."
#: The address, by the keys of all these connectors.
_HOST = (
    "redis.hosts",
    "redis.host",
    "redis.hostname",
    "redis.uri",
    "redis.cluster.nodes",
    "connect.redis.host",
)


def _database(config: Config, default: str = "0") -> str:
    """The database. A URI may name it: `redis://host:port/{database}`."""
    address = config.get(*_HOST)
    path = address.partition("://")[2].partition("/")[2].partition("?")[0]
    return naming.REDIS(
        host=address,
        port=config.get("redis.port", "redis.portnumber", "connect.redis.port"),
        database=config.get("redis.database", default=path if path.isdigit() else default),
    )


@source_family(
    "redis",
    "RedisKafkaSource",
    _CONFLUENT + "RedisKafkaSourceConnector",
    _REDIS + "RedisKeysSourceConnector",
    _REDIS + "RedisStreamSourceConnector",
    _REDIS + "RedisSourceConnector",
    "com.redislabs.kafka.connect.RedisEnterpriseSourceConnector",
)
def redis_source(context: SourceContext) -> Iterator[WrittenTopic]:
    """A stream, or the keys that match a pattern: one topic, which may be named for the stream."""
    config = context.config
    template = config.get("kafka.topic", "topic", default="${stream}")
    topic = template.replace("${stream}", config.get("redis.stream.name"))
    yield WrittenTopic(topic, _database(config))


sink_family(
    "redis",
    "RedisSink RedisKafkaSink",
    _CONFLUENT + "RedisKafkaSinkConnector",
    _REDIS + "RedisSinkConnector",
    "com.redislabs.kafka.connect.RedisEnterpriseSinkConnector",
    "io.github.jaredpetersen.kafkaconnectredis.sink.RedisSinkConnector",
    *kcql.classes("redis.sink.RedisSinkConnector"),
)(per_topic(_database))
sink_family("redis-community", "", "com.github.jcustenborder.kafka.connect.redis.RedisSinkConnector")(
    per_topic(lambda config: _database(config, default="1"))
)
