"""Key-value stores: Redis and services with its protocol, Amazon DynamoDB and Aerospike.

Redis' connectors are those of Redis, Confluent, Lenses and of the community.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import per_topic, table_name
from lineage_bridge_dagster.confluent.connectors.families.declared import declare
from lineage_bridge_dagster.confluent.connectors.family import (
    SinkContext,
    SourceContext,
    WrittenTopic,
    sink_family,
    source_family,
)

_REDIS = "com.redis.kafka.connect."
_CONFLUENT = "confluent:rediskafka."
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
    "lenses:redis.sink.RedisSinkConnector",
)(per_topic(_database))
sink_family("redis-community", "com.github.jcustenborder.kafka.connect.redis.RedisSinkConnector")(
    per_topic(lambda config: _database(config, default="1"))
)


#: `dynamodb.us-east-1.amazonaws.com`, with or without FIPS, VPC endpoint or China's domain.
_REGION = re.compile(r"\b((?:us|eu|ap|sa|ca|me|af|il|mx|cn)(?:-[a-z]{1,12}){1,2}-\d)\b")


def _region(*values: str) -> str:
    """The first region that is named in an endpoint or is itself a value."""
    return next((found[1] for value in values if (found := _REGION.search(value.lower()))), "")


@source_family("dynamodb", "DynamoDbCdcSource", "confluent:dynamodb.DynamoDBSourceConnector")
def dynamodb_source(context: SourceContext) -> Iterator[WrittenTopic]:
    """The tables of the include list, each with a topic of its name. An item may be an ARN.

    Tables discovered by tags are not known from the configuration.
    """
    config = context.config
    region = _region(
        config.get("dynamodb.service.endpoint"),
        config.get("aws.dynamodb.region", "dynamodb.region", "aws.region"),
        config.get("kafka.region") if config.get("cloud.provider", default="aws").lower() == "aws" else "",
    )
    tables = config.items("dynamodb.table.includelist")
    if config.get("dynamodb.table.discovery.mode").upper() == "TAG" or not tables:
        context.warnings.append(
            "dynamodb.table.includelist is not set or not used: tables found by their tags are not known"
        )
        return
    for item in tables:
        name = item.rpartition("/")[2]
        yield WrittenTopic(name, naming.DYNAMODB(region=_region(item) or region, table=name))


@source_family("dynamodb-trustpilot", "com.trustpilot.connector.dynamodb.DynamoDBSourceConnector")
def trustpilot_source(context: SourceContext) -> Iterator[WrittenTopic]:
    """The community's source: `{prefix}{topic of the map, else the table}`."""
    config = context.config
    region = _region(config.get("dynamodb.service.endpoint"), config.get("aws.region", default="eu-west-1"))
    prefix = config.get("kafka.topic.prefix", default="dynamodb-")
    mapped = config.json_object("kafka.topic.map", context.warnings)
    tables = config.items("dynamodb.table.whitelist")
    if not tables:
        context.warnings.append(
            "dynamodb.table.whitelist is not set: tables found by their tags are not known"
        )
    for table in tables or [
        name for name, topic in mapped.items() if prefix + topic in context.cluster_topics
    ]:
        yield WrittenTopic(prefix + mapped.get(table, table), naming.DYNAMODB(region=region, table=table))


@sink_family("dynamodb", "DynamoDbSink", "confluent:aws.dynamodb.DynamoDbSinkConnector")
def dynamodb_sink(context: SinkContext, topic: str) -> str:
    config = context.config
    region = _region(
        config.get("aws.dynamodb.endpoint"), config.get("aws.dynamodb.region"), config.get("kafka.region")
    )
    return naming.DYNAMODB(region=region, table=table_name(config, topic))


declare(
    """
    aerospike: AEROSPIKE host=hosts default_port=hosts.default.port namespace=namespace set==${topic}
        com.github.jcustenborder.kafka.connect.aerospike.AerospikeSinkConnector
    """
)
