"""Document, key-value and wide-column stores."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from lineage_bridge_dagster.confluent.connectors import datasets
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import table_name, topic_map, url
from lineage_bridge_dagster.confluent.connectors.family import (
    Family,
    Sink,
    SinkContext,
    SourceContext,
    Written,
)


def _cosmos(endpoint: str, name: str) -> Callable[[Config, str], str]:
    def dataset(config: Config, container: str) -> str:
        return (
            f"azurecosmos://{datasets.host_of(config.get(endpoint))}/dbs/{config.get(name)}/colls/{container}"
        )

    return dataset


def mongodb_source(context: SourceContext) -> Iterator[Written]:
    """Topics `[prefix.]database.collection[.suffix]`, unless `topic.namespace.map` overrides them."""
    config = context.config
    separator = config.get("topic.separator", default=".")
    prefix, suffix = config.get("topic.prefix"), config.get("topic.suffix")
    name, collection = config.get("database"), config.get("collection")
    host = datasets.host_of(config.get("connection.host", "connection.uri"))

    def dataset(*path: str) -> str:
        return datasets.database("mongodb", *host.partition(":")[::2], *path) if host else ""

    try:
        mapped = json.loads(config.get("topic.namespace.map", default="{}"))
    except ValueError:
        mapped = {}
        context.warnings.append("topic.namespace.map is not JSON and is ignored")
    if isinstance(mapped, dict) and mapped:
        for namespace, topic in mapped.items():
            if namespace != "*":
                yield Written(str(topic), dataset(*str(namespace).split(".", 1)))
        if f"{name}.{collection}" in mapped:
            return
    if name and collection:
        parts = [part for part in (prefix, name, collection, suffix) if part]
        yield Written(separator.join(parts), dataset(name, collection))
        return
    start = separator.join([part for part in (prefix, name) if part]) + separator
    for rest in context.named_like(start if name else ""):
        yield Written(
            start + rest, dataset(name, rest.removesuffix(f"{separator}{suffix}") if suffix else rest)
        )
    if not name:
        context.warnings.append("database is not set: its topics are not known from the configuration")


def dynamodb_source(context: SourceContext) -> Iterator[Written]:
    """Tables of the include list whose topics, under one of two possible names, exist in the cluster."""
    config = context.config
    prefix = config.get("topic.prefix")
    region = config.get("aws.dynamodb.region", "dynamodb.region")
    for table in config.items("dynamodb.table.includelist"):
        name = table.rpartition("/")[2]
        topic = (
            f"{prefix}.{name}" if prefix and f"{prefix}.{name}" in context.cluster_topics else prefix + name
        )
        if topic in context.cluster_topics:
            yield Written(topic, f"dynamodb://{region}/{name}" if region else "")
        else:
            context.warnings.append(f"no topic of the cluster is named for the DynamoDB table {name}")


def mongodb_sink(context: SinkContext, topic: str) -> str:
    config = context.config
    host = datasets.host_of(config.get("connection.host", "connection.uri"))
    name = config.get(f"topic.override.{topic}.database", "database")
    collection = config.get(f"topic.override.{topic}.collection", "collection", default=topic)
    return datasets.database("mongodb", *host.partition(":")[::2], name, collection) if host and name else ""


def dynamodb_sink(context: SinkContext, topic: str) -> str:
    config = context.config
    region = config.get("aws.dynamodb.region", "kafka.region")
    return f"dynamodb://{region}/{table_name(context.config, topic)}"


def cosmos(endpoint: str, name: str, topics: str) -> Sink:
    """A container of Cosmos DB, by the keys of its endpoint, its database and its `topic#container` map."""

    def sink(context: SinkContext, topic: str) -> str:
        config = context.config
        host, container = datasets.host_of(config.get(endpoint)), config.pairs(topics, "#").get(topic)
        return f"azurecosmos://{host}/dbs/{config.get(name)}/colls/{container}" if host and container else ""

    return sink


def couchbase(context: SinkContext, topic: str) -> str:
    config = context.config
    mapped = config.pairs("couchbase.topic.to.collection", "=").get(topic)
    path = (config.get("couchbase.bucket"), mapped or config.get("couchbase.default.collection"))
    host = datasets.host_of(config.get("couchbase.seed.nodes"))
    return datasets.database("couchbase", host, "", *path) if path[0] else ""


def redis(context: SinkContext, _topic: str) -> str:
    config = context.config
    host = datasets.host_of(config.get("redis.hosts", "redis.host", "redis.hostname"))
    return f"redis://{host}/{config.get('redis.database', default='0')}" if host else ""


SOURCES = (
    Family(
        "mongodb",
        ("MongoDbAtlasSource",),
        ("com.mongodb.kafka.connect.MongoSourceConnector",),
        mongodb_source,
    ),
    Family(
        "dynamodb",
        ("DynamoDbCdcSource",),
        ("io.confluent.connect.dynamodb.DynamoDBSourceConnector",),
        dynamodb_source,
    ),
    Family(
        "cosmosdb",
        ("CosmosDbSource",),
        ("com.azure.cosmos.kafka.connect.source.CosmosDBSourceConnector",),
        topic_map(
            "connect.cosmos.containers.topicmap",
            _cosmos("connect.cosmos.connection.endpoint", "connect.cosmos.databasename"),
        ),
    ),
    Family(
        "cosmosdb-v2",
        ("CosmosDbSourceV2",),
        ("com.azure.cosmos.kafka.connect.CosmosSourceConnector",),
        topic_map(
            "azure.cosmos.source.containers.topicMap",
            _cosmos("azure.cosmos.account.endpoint", "azure.cosmos.source.database.name"),
        ),
    ),
    Family(
        "couchbase",
        ("CouchbaseSource",),
        ("com.couchbase.connect.kafka.CouchbaseSourceConnector",),
        topic_map(
            "couchbase.collection.to.topic",
            lambda config, _topic: f"couchbase://{config.get('couchbase.bucket')}",
            separator="=",
        ),
    ),
    Family(
        "redis",
        ("RedisKafkaSource",),
        ("io.confluent.connect.rediskafka.RedisKafkaSourceConnector",),
        url("redis", "redis.host", "redis.stream.name"),
    ),
)


SINKS = (
    Family(
        "mongodb",
        ("MongoDbAtlasSink",),
        ("com.mongodb.kafka.connect.MongoSinkConnector",),
        sink=mongodb_sink,
    ),
    Family(
        "dynamodb",
        ("DynamoDbSink",),
        ("io.confluent.connect.aws.dynamodb.DynamoDbSinkConnector",),
        sink=dynamodb_sink,
    ),
    Family(
        "cosmosdb-v2",
        ("CosmosDbSinkV2",),
        ("com.azure.cosmos.kafka.connect.CosmosSinkConnector",),
        sink=cosmos(
            "azure.cosmos.account.endpoint",
            "azure.cosmos.sink.database.name",
            "azure.cosmos.sink.containers.topicMap",
        ),
    ),
    Family(
        "cosmosdb",
        ("CosmosDbSink",),
        ("com.azure.cosmos.kafka.connect.sink.CosmosDBSinkConnector",),
        sink=cosmos(
            "connect.cosmos.connection.endpoint",
            "connect.cosmos.databasename",
            "connect.cosmos.containers.topicmap",
        ),
    ),
    Family(
        "couchbase",
        ("CouchbaseSink",),
        ("com.couchbase.connect.kafka.CouchbaseSinkConnector",),
        sink=couchbase,
    ),
    Family(
        "redis",
        ("RedisSink", "RedisKafkaSink"),
        (
            "com.github.jcustenborder.kafka.connect.redis.RedisSinkConnector",
            "io.confluent.connect.rediskafka.RedisKafkaSinkConnector",
        ),
        sink=redis,
    ),
)
