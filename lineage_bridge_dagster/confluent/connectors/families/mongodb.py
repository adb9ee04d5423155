"""MongoDB, and stores with its protocol.

Source: `DefaultTopicMapper`, `MongoSinkConfig` and `FieldPathNamespaceMapper` of mongodb/mongo-kafka.
"""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import debezium_collection
from lineage_bridge_dagster.confluent.connectors.families.declared import declare
from lineage_bridge_dagster.confluent.connectors.families.mongodb_topics import (
    MongoTopicNames,
    PipelineSelection,
)
from lineage_bridge_dagster.confluent.connectors.family import (
    SinkContext,
    SourceContext,
    WrittenTopic,
    named_for,
    sink_family,
    source_family,
)

_MONGO = "com.mongodb.kafka.connect."
#: Where a record says which namespace it is written to, by `FieldPathNamespaceMapper`.
_NAMESPACE_FIELDS = tuple(
    f"namespace.mapper.{of}.{part}.field" for of in ("key", "value") for part in ("database", "collection")
)


def _dataset(config: Config, database: str, collection: str = "") -> str:
    """A collection, or a whole database; empty if its address or its database is not known."""
    host = config.get("connection.host", "connection.uri", "connection.url")
    return naming.MONGODB(host=host, database=database, collection=collection)


@source_family("mongodb", "MongoDbAtlasSource", _MONGO + "MongoSourceConnector")
def mongodb_source(context: SourceContext) -> Iterator[WrittenTopic]:
    """A change stream of one collection, of a database or of the deployment.

    A collection's topic follows from the configuration. For a whole database, the collections are those that
    the configuration names (in `topic.namespace.map` and in the `$match` of `pipeline`), and those that a
    topic of the cluster is named after.
    """
    config = context.config
    if config.get("heartbeat.interval.ms", default="0") != "0":
        context.internal.append(config.get("heartbeat.topic.name", default="__mongodb_heartbeats"))
    database, collection = config.get("database"), config.get("collection")
    mapper = config.get("topic.mapper").rpartition(".")[2]
    if mapper not in ("", "DefaultTopicMapper"):
        context.warnings.append(f"topic.mapper {mapper} is not known: its topics are not known")
        yield WrittenTopic("", _dataset(config, database, collection) if collection else "")
        return
    names = MongoTopicNames.of(config, context.warnings)
    if database and collection:
        yield WrittenTopic(names.topic(database, collection), _dataset(config, database, collection))
        return
    selection = PipelineSelection.of(config, context.warnings)
    written: set[str] = set()
    for space in dict.fromkeys([*selection.listed(database), *names.listed(database)]):
        if selection.allows(*space):
            topic = names.topic(*space)
            written.add(topic)
            yield WrittenTopic(topic, _dataset(config, *space))
    if selection.is_complete(database):
        return
    for topic in names.collected(database):
        # Its collections are whichever exist in the database.
        yield WrittenTopic(topic, _dataset(config, database))
    if not database and not names.are_recognizable:
        context.warnings.append(
            "without database, topic.prefix and topic.suffix, its topics cannot be distinguished from "
            "others by name"
        )
        return
    for start, found in names.of_cluster(context, database):
        if start + found.rest not in written and selection.allows(found.database, found.collection):
            dataset = _dataset(config, found.database, found.collection) if found.collection else ""
            yield named_for(start + found.rest, dataset)


def _topic_value(config: Config, topic: str, name: str) -> str:
    return config.get(f"topic.override.{topic}.{name}", name)


@sink_family("mongodb", "MongoDbAtlasSink", _MONGO + "MongoSinkConnector")
def mongodb_sink(context: SinkContext, topic: str) -> str:
    """The collection of a topic: its override, else `collection`, else one with the topic's name."""
    config = context.config
    mapper = _topic_value(config, topic, "namespace.mapper") or config.get("namespace.mapper.class")
    mapper = mapper.rpartition(".")[2]
    if mapper not in ("", "DefaultNamespaceMapper"):
        fields = [name for key in _NAMESPACE_FIELDS if (name := _topic_value(config, topic, key))]
        context.warnings.append(
            f"namespace.mapper {mapper}: the collection depends on the record"
            + (f" ({', '.join(fields)})" if fields else "")
        )
        return ""
    collection = _topic_value(config, topic, "collection") or topic
    return _dataset(config, _topic_value(config, topic, "database"), collection)


@sink_family(
    "mongodb-debezium",
    "io.debezium.connector.mongodb.MongoDbSinkConnector",
    "io.debezium.connector.mongodb.sink.MongoDbSinkConnector",
)
def debezium_sink(context: SinkContext, topic: str) -> str:
    """Debezium's sink: a collection by its naming strategy."""
    config = context.config
    host = config.get("mongodb.connection.string", "connection.string")
    name = debezium_collection(context, topic)
    return name and naming.MONGODB(host=host, database=config.get("sink.database"), collection=name)


@sink_family("mongodb-community", "at.grahsl.kafka.connect.mongodb.MongoDbSinkConnector")
def community_sink(context: SinkContext, topic: str) -> str:
    """The community's sink, whose database is in the URI: hpgrahsl/kafka-connect-mongodb."""
    config = context.config
    address = config.get("mongodb.connection.uri", default="mongodb://localhost:27017/kafkaconnect")
    database = address.partition("://")[2].partition("/")[2].partition("?")[0]
    collection = config.get(f"mongodb.collection.{topic}", "mongodb.collection", default=topic)
    return naming.MONGODB(host=address, database=database, collection=collection)


declare(
    """
    mongodb-lenses: MONGODB kcql:connect.mongo.kcql
        keys:connect.mongo. host=connection database=db collection==${topic}
        lenses:mongodb.sink.MongoSinkConnector
    firestore: FIRESTORE host=connection.host database=database collection=collection=${topic} FirestoreSink
    """
)
