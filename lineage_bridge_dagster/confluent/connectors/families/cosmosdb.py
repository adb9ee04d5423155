"""Azure Cosmos DB: the connectors of Microsoft, of both versions, and of Lenses."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families import kcql
from lineage_bridge_dagster.confluent.connectors.family import (
    Family,
    Sink,
    SinkContext,
    Source,
    SourceContext,
    Written,
)

_V1 = ("connect.cosmos.connection.endpoint", "connect.cosmos.databasename")
_V2 = "azure.cosmos.account.endpoint"
_METADATA = "azure.cosmos.source.metadata.storage.name"


def _dataset(endpoint: str, database: str) -> Callable[[Config, str], str]:
    """The name of a container, by the keys of its endpoint and its database."""

    def dataset(config: Config, container: str) -> str:
        return naming.COSMOS(host=config.get(endpoint), database=config.get(database), container=container)

    return dataset


def mapped_sink(topics: str, dataset: Callable[[Config, str], str]) -> Sink:
    """A map `topic#container`. A topic that is not in it goes to the container with its name."""

    def sink(context: SinkContext, topic: str) -> str:
        return dataset(context.config, context.config.pairs(topics, "#").get(topic, topic))

    return sink


def mapped_source(topics: str, dataset: Callable[[Config, str], str]) -> Source:
    """A map `topic#container`."""

    def source(context: SourceContext) -> Iterator[Written]:
        mapped = context.config.pairs(topics, "#")
        if not mapped:
            context.warnings.append(f"{topics} names no container and topic: what it reads is not known")
        for topic, container in mapped.items():
            yield Written(topic, dataset(context.config, container))

    return source


def cosmos_v2_source(context: SourceContext) -> Iterator[Written]:
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
        yield Written(topic, _SOURCE_V2(config, container))


def lenses_sink(context: SinkContext, topic: str) -> list[str]:
    config = context.config
    statements = kcql.for_topic(config.get("connect.cosmosdb.kcql", "connect.documentdb.kcql"), topic)
    return [
        naming.COSMOS(
            host=config.get("connect.cosmosdb.endpoint", "connect.documentdb.endpoint"),
            database=config.get("connect.cosmosdb.db", "connect.documentdb.db"),
            container=item.target,
        )
        for item in statements
    ]


_SOURCE_V2 = _dataset(_V2, "azure.cosmos.source.database.name")

SOURCES = (
    Family(
        "cosmosdb",
        ("CosmosDbSource",),
        ("com.azure.cosmos.kafka.connect.source.CosmosDBSourceConnector",),
        mapped_source("connect.cosmos.containers.topicmap", _dataset(*_V1)),
    ),
    Family(
        "cosmosdb-v2",
        ("CosmosDbSourceV2",),
        ("com.azure.cosmos.kafka.connect.CosmosSourceConnector",),
        cosmos_v2_source,
    ),
)


SINKS = (
    Family(
        "cosmosdb",
        ("CosmosDbSink",),
        ("com.azure.cosmos.kafka.connect.sink.CosmosDBSinkConnector",),
        sink=mapped_sink("connect.cosmos.containers.topicmap", _dataset(*_V1)),
    ),
    Family(
        "cosmosdb-v2",
        ("CosmosDbSinkV2",),
        ("com.azure.cosmos.kafka.connect.CosmosSinkConnector",),
        sink=mapped_sink(
            "azure.cosmos.sink.containers.topicMap", _dataset(_V2, "azure.cosmos.sink.database.name")
        ),
    ),
    Family(
        "cosmosdb-lenses",
        (),
        (
            "io.lenses.streamreactor.connect.azure.cosmosdb.sink.CosmosDbSinkConnector",
            "io.lenses.streamreactor.connect.azure.documentdb.sink.DocumentDbSinkConnector",
            "com.datamountaineer.streamreactor.connect.azure.documentdb.sink.DocumentDbSinkConnector",
        ),
        sink=lenses_sink,
    ),
)
