"""Redis, and services with its protocol: the connectors of Redis, Confluent, Lenses and of the community."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import per_topic
from lineage_bridge_dagster.confluent.connectors.family import Family, SourceContext, Written


def _dataset(default_database: str = "0") -> Callable[[Config], list[str]]:
    """The database, by the keys of all these connectors. A URI may name it: `redis://host:port/{database}`."""

    def datasets(config: Config) -> list[str]:
        address = config.get(
            "redis.hosts",
            "redis.host",
            "redis.hostname",
            "redis.uri",
            "redis.cluster.nodes",
            "connect.redis.host",
        )
        path = address.partition("://")[2].partition("/")[2].partition("?")[0]
        return [
            naming.REDIS(
                host=address,
                port=config.get("redis.port", "redis.portnumber", "connect.redis.port"),
                database=config.get("redis.database", default=path if path.isdigit() else default_database),
            )
        ]

    return datasets


def redis_source(context: SourceContext) -> Iterator[Written]:
    """A stream, or the keys that match a pattern: one topic, which may be named for the stream."""
    config = context.config
    template = config.get("kafka.topic", "topic", default="${stream}")
    topic = template.replace("${stream}", config.get("redis.stream.name"))
    for dataset in _dataset()(config):
        yield Written(topic, dataset)


_REDIS = "com.redis.kafka.connect."
_CONFLUENT = "io.confluent.connect.rediskafka."

SOURCES = (
    Family(
        "redis",
        ("RedisKafkaSource",),
        (
            _CONFLUENT + "RedisKafkaSourceConnector",
            _REDIS + "RedisKeysSourceConnector",
            _REDIS + "RedisStreamSourceConnector",
            _REDIS + "RedisSourceConnector",
            "com.redislabs.kafka.connect.RedisEnterpriseSourceConnector",
        ),
        redis_source,
    ),
)


SINKS = (
    Family(
        "redis",
        ("RedisSink", "RedisKafkaSink"),
        (
            _CONFLUENT + "RedisKafkaSinkConnector",
            _REDIS + "RedisSinkConnector",
            "com.redislabs.kafka.connect.RedisEnterpriseSinkConnector",
            "io.github.jaredpetersen.kafkaconnectredis.sink.RedisSinkConnector",
            "io.lenses.streamreactor.connect.redis.sink.RedisSinkConnector",
            "com.datamountaineer.streamreactor.connect.redis.sink.RedisSinkConnector",
        ),
        sink=per_topic(_dataset()),
    ),
    Family(
        "redis-community",
        (),
        ("com.github.jcustenborder.kafka.connect.redis.RedisSinkConnector",),
        # Unlike the managed connector, it has 1 as the default.
        sink=per_topic(_dataset("1")),
    ),
)
