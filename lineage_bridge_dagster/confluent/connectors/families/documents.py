"""Document and graph stores: Cosmos DB, Couchbase and Firebase; Neo4j, ArangoDB and GraphDB.

Cosmos DB's connectors are those of Microsoft, of both versions, and of Lenses. Sources:
`SourceBehaviorConfig`, `SinkBehaviorConfig` and `Keyspace` of couchbase/kafka-connect-couchbase; "Google
Firebase Source Connector" and "Sink Connector for Confluent Platform".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import KeyedDataset, keyed, per_topic
from lineage_bridge_dagster.confluent.connectors.families.declared import declare
from lineage_bridge_dagster.confluent.connectors.family import (
    Sink,
    SinkContext,
    Source,
    SourceContext,
    WrittenTopic,
    named_for,
    sink_family,
    source_family,
)

_V2 = "azure.cosmos.account.endpoint"
_METADATA = "azure.cosmos.source.metadata.storage.name"


def _containers(endpoint: str, database: str) -> KeyedDataset:
    """The name of a container, by the keys of its endpoint and its database."""
    return keyed(naming.COSMOS, host=endpoint, database=database, container="= ${topic}")


def mapped_sink(topics: str, dataset: KeyedDataset) -> Sink:
    """A map `topic#container`. A topic that is not in it goes to the container with its name."""

    def sink(context: SinkContext, topic: str) -> str:
        return dataset(context.config, context.config.pairs(topics, "#").get(topic, topic))

    return sink


def mapped_source(topics: str, dataset: KeyedDataset) -> Source:
    """A map `topic#container`."""

    def source(context: SourceContext) -> Iterator[WrittenTopic]:
        mapped = context.config.pairs(topics, "#")
        if not mapped:
            context.warnings.append(f"{topics} names no container and topic: what it reads is not known")
        for topic, container in mapped.items():
            yield WrittenTopic(topic, dataset(context.config, container))

    return source


@source_family("cosmosdb-v2", "CosmosDbSourceV2", "com.azure.cosmos.kafka.connect.CosmosSourceConnector")
def cosmos_v2_source(context: SourceContext) -> Iterator[WrittenTopic]:
    """Containers of the list, or all; a topic is named for its container unless the map names it."""
    config = context.config
    if config.get("azure.cosmos.source.metadata.storage.type", default="Kafka").lower() == "kafka":
        context.internal.append(config.get(_METADATA, default="_cosmos.metadata.topic"))
    mapped = {
        container: topic
        for topic, container in config.pairs("azure.cosmos.source.containers.topicMap", "#").items()
    }
    everything = config.flag("azure.cosmos.source.containers.includeAll")
    listed = config.items("azure.cosmos.source.containers.includedList")
    if everything:
        context.warnings.append(
            "azure.cosmos.source.containers.includeAll: the topics of containers that "
            "azure.cosmos.source.containers.topicMap lacks are not known"
        )
    for container in mapped if everything or not listed else listed:
        topic = mapped.get(container, container)
        yield WrittenTopic(topic, _SOURCE_V2(config, container))


_V1 = _containers("connect.cosmos.connection.endpoint", "connect.cosmos.databasename")
_SOURCE_V2 = _containers(_V2, "azure.cosmos.source.database.name")

source_family("cosmosdb", "CosmosDbSource", "com.azure.cosmos.kafka.connect.source.CosmosDBSourceConnector")(
    mapped_source("connect.cosmos.containers.topicmap", _V1)
)


sink_family("cosmosdb", "CosmosDbSink", "com.azure.cosmos.kafka.connect.sink.CosmosDBSinkConnector")(
    mapped_sink("connect.cosmos.containers.topicmap", _V1)
)
sink_family("cosmosdb-v2", "CosmosDbSinkV2", "com.azure.cosmos.kafka.connect.CosmosSinkConnector")(
    mapped_sink("azure.cosmos.sink.containers.topicMap", _containers(_V2, "azure.cosmos.sink.database.name"))
)


#: Keys of version 3 and before, when a bucket had no collections.
_OLD_NODES, _OLD_BUCKET = "connection.cluster_address", "connection.bucket"

_PATH_VARIABLE = re.compile(r"\$\{(bucket|scope|collection)\}")
_DEFAULT_TOPIC = "${bucket}.${scope}.${collection}"
#: A part of a qualified name, in backticks if it has a dot.
_PART = re.compile(r"`([^`]*)`|([^.`]+)")


def _couchbase(config: Config, *path: str) -> str:
    """A collection by its path: bucket, scope and name; or a whole bucket."""
    bucket, scope, collection = (*path, "", "")[:3]
    host = config.get("couchbase.seed.nodes", _OLD_NODES)
    return naming.COUCHBASE(host=host, bucket=bucket, scope=scope, collection=collection)


@source_family("couchbase", "CouchbaseSource", "com.couchbase.connect.kafka.CouchbaseSourceConnector")
def couchbase_source(context: SourceContext) -> Iterator[WrittenTopic]:
    """Topics by collection: `couchbase.topic[scope.collection]`, else the map, else `couchbase.topic`.

    Without `couchbase.collections`, the collections are those that a topic of the cluster is named for.
    """
    config = context.config
    context.internal += [
        name
        for key in ("couchbase.black.hole.topic", "couchbase.initial.offset.topic")
        if (name := config.get(key))
    ]
    bucket = config.get("couchbase.bucket", _OLD_BUCKET)
    template = config.get("couchbase.topic", "topic.name", default=_DEFAULT_TOPIC)
    mapped = {**config.pairs("couchbase.collection.to.topic", "="), **config.overrides("couchbase.topic")}

    def written(collection: str) -> WrittenTopic:
        scope, _, name = collection.partition(".")
        values = {"bucket": bucket, "scope": scope, "collection": name}
        topic = _PATH_VARIABLE.sub(lambda key: values[key[1]], mapped.get(collection, template))
        return WrittenTopic(topic, _couchbase(config, bucket, scope, name) if name else "")

    if listed := config.items("couchbase.collections"):
        for name in listed:
            if "." in name:
                yield written(name)
            else:
                context.warnings.append(f"couchbase.collections: {name} lacks its scope; write scope.{name}")
        return
    only = config.get("couchbase.scope")
    known = [name for name in mapped if not only or name.startswith(f"{only}.")]
    yield from map(written, known)
    values = {"bucket": bucket, **({"scope": only} if only else {})}
    text = _PATH_VARIABLE.sub(lambda key: values.get(key[1], key[0]), template)
    start = text.partition("${")[0]
    if text == start:
        # One topic for the whole bucket or scope, whose collections are not known.
        yield WrittenTopic(text, "" if only else _couchbase(config, bucket))
        return
    pattern = _rest_pattern(text[len(start) :])
    for rest in context.named_like(start):
        match = pattern.fullmatch(rest)
        if match is None:
            continue
        found = match.groupdict()
        scope, name = found.get("scope") or only, found.get("collection", "")
        if f"{scope}.{name}" not in mapped:
            yield named_for(start + rest, _couchbase(config, bucket, scope, name) if scope and name else "")


def _rest_pattern(text: str) -> re.Pattern[str]:
    """What a topic's name may have for the variables; names of scopes and collections have no dot."""
    pattern = re.escape(text)
    for name in ("scope", "collection"):
        variable = re.escape(f"${{{name}}}")
        pattern = pattern.replace(variable, f"(?P<{name}>[A-Za-z0-9_%-]+)", 1).replace(
            variable, f"(?P={name})"
        )
    return re.compile(pattern)


@sink_family("couchbase", "CouchbaseSink", "com.couchbase.connect.kafka.CouchbaseSinkConnector")
def couchbase_sink(context: SinkContext, topic: str) -> str:
    """The collection of a topic: its override, the map's, else `couchbase.default.collection`."""
    config = context.config
    name = (
        config.overrides("couchbase.default.collection").get(topic)
        or config.pairs("couchbase.topic.to.collection", "=").get(topic)
        or config.get("couchbase.default.collection", default="_default._default")
    )
    path = [quoted or plain for quoted, plain in _PART.findall(name)]
    if len(path) == 2:
        path = [config.get("couchbase.bucket", _OLD_BUCKET), *path]
    return _couchbase(config, *path) if len(path) == 3 else ""


_REFERENCE = "gcp.firebase.database.reference"


def _firebase(reference: str, *child: str) -> str:
    """A node of the tree, by the URL of one and a name below it."""
    rest = reference.partition("://")[2].partition("/")[2]
    return naming.FIREBASE(host=reference, path=naming.path(rest, *child))


@source_family("firebase", "confluent:firebase.FirebaseSourceConnector")
def firebase_source(context: SourceContext) -> Iterator[WrittenTopic]:
    """A topic for each child of the node, which only the database knows."""
    context.warnings.append(f"its topics are named for the children of {_REFERENCE}, which are not known")
    yield WrittenTopic("", _firebase(context.config.get(_REFERENCE)))


@sink_family("firebase", "confluent:firebase.FirebaseSinkConnector")
def firebase_sink(context: SinkContext, topic: str) -> str:
    """A child of the node, named for the topic."""
    return _firebase(context.config.get(_REFERENCE), topic)


#: The keys that name a topic of change data capture: `neo4j.cdc.topic.{topic}.patterns[.0.pattern]`.
_CAPTURED = re.compile(r"neo4j\.cdc\.topic\.(.+)\.patterns(?:\.\d+\.\w+)?", re.DOTALL)
_NEO4J = "org.neo4j.connectors.kafka."
_STREAMS = "streams.kafka.connect."

#: The database, `neo4j` by default, at the first address.
_NEO4J_DATABASE = keyed(naming.NEO4J, host="neo4j.uri | neo4j.server.uri", database="neo4j.database = neo4j")


@source_family("neo4j", _NEO4J + "source.Neo4jConnector", _STREAMS + "source.Neo4jSourceConnector")
def neo4j_source(context: SourceContext) -> Iterator[WrittenTopic]:
    """The topic of a query, or those of change data capture."""
    config = context.config
    captured = {match[1] for match in config.keys_like(_CAPTURED)}
    queried = config.get("neo4j.query.topic", "topic", "neo4j.streaming.topic")
    topics = [queried] if queried and config.get("neo4j.source-strategy").upper() != "CDC" else captured
    for topic in sorted(topics):
        yield WrittenTopic(topic, _NEO4J_DATABASE(config))


sink_family("neo4j", "Neo4jSink", _NEO4J + "sink.Neo4jConnector", _STREAMS + "sink.Neo4jSinkConnector")(
    per_topic(_NEO4J_DATABASE)
)

declare(
    """
    arangodb: ARANGODB keys:connection. host=endpoints database=database=_system collection=collection
        com.arangodb.kafka.ArangoSinkConnector
    cosmosdb-lenses: COSMOS kcql:connect.cosmosdb.kcql|connect.documentdb.kcql
        host=connect.cosmosdb.endpoint|connect.documentdb.endpoint
        database=connect.cosmosdb.db|connect.documentdb.db container==${topic}
        io.lenses.streamreactor.connect.azure.cosmosdb.sink.CosmosDbSinkConnector
        lenses:azure.documentdb.sink.DocumentDbSinkConnector
    graphdb: GRAPHDB keys:graphdb.server. host=url|iri repository=repository
        com.ontotext.kafka.GraphDBSinkConnector
    """
)
