"""Azure Cosmos DB: the connectors of Microsoft, of both versions, and of Lenses."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.families import kcql
from lineage_bridge_dagster.confluent.connectors.families.common import KeyedDataset, keyed
from lineage_bridge_dagster.confluent.connectors.family import (
    Sink,
    SinkContext,
    Source,
    SourceContext,
    WrittenTopic,
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

sink_family(
    "cosmosdb-lenses",
    "",
    "io.lenses.streamreactor.connect.azure.cosmosdb.sink.CosmosDbSinkConnector",
    *kcql.classes("azure.documentdb.sink.DocumentDbSinkConnector"),
)(
    kcql.sink(
        _containers(
            "connect.cosmosdb.endpoint | connect.documentdb.endpoint",
            "connect.cosmosdb.db | connect.documentdb.db",
        ),
        "connect.cosmosdb.kcql",
        "connect.documentdb.kcql",
    )
)

source_family("cosmosdb", "CosmosDbSource", "com.azure.cosmos.kafka.connect.source.CosmosDBSourceConnector")(
    mapped_source("connect.cosmos.containers.topicmap", _V1)
)


sink_family("cosmosdb", "CosmosDbSink", "com.azure.cosmos.kafka.connect.sink.CosmosDBSinkConnector")(
    mapped_sink("connect.cosmos.containers.topicmap", _V1)
)
sink_family("cosmosdb-v2", "CosmosDbSinkV2", "com.azure.cosmos.kafka.connect.CosmosSinkConnector")(
    mapped_sink("azure.cosmos.sink.containers.topicMap", _containers(_V2, "azure.cosmos.sink.database.name"))
)
