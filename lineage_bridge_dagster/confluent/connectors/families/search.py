"""Search engines and vector stores.

Source: `ElasticsearchSinkTask` of confluentinc/kafka-connect-elasticsearch; `OpenSearchSinkConnectorConfig`
of Aiven-Open/opensearch-connector-for-apache-kafka; README.md of
DarioBalinzo/kafka-connect-elasticsearch-source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.declared import declare
from lineage_bridge_dagster.confluent.connectors.family import (
    Sink,
    SinkContext,
    SourceContext,
    WrittenTopic,
    named_for,
    sink_family,
    source_family,
)
from lineage_bridge_dagster.confluent.connectors.naming import Rule

_LONGEST_INDEX = 255
_LONGEST_NAMESPACE = 100
_TOPIC = "${topic}"
#: Words for "not used", in connectors whose versions disagree on it.
_OFF = ("", "none", "disabled")


def _index(topic: str, forbidden: str = "-_") -> str:
    """An index's name: the topic in lower case, cut to what the engine allows."""
    index = topic.lower()[:_LONGEST_INDEX]
    index = index[1:] if index.startswith(tuple(forbidden)) else index
    return index.replace(".", "dot") if index in (".", "..") else index


def _confluent_name(config: Config, topic: str) -> str:
    """An index, a data stream, or a resource that the configuration maps to the topic."""
    usage = config.get("external.resource.usage").lower()
    mapped = config.pairs("topic.to.external.resource.mapping")
    if usage not in _OFF or (mapped and not usage):
        # Topics without a resource are refused.
        return mapped.get(topic, "")
    legacy = config.pairs("topic.index.map").get(topic)
    stream, dataset = config.get("data.stream.type").lower(), config.get("data.stream.dataset")
    if stream not in _OFF and dataset:
        namespace = config.get("data.stream.namespace", default=_TOPIC).replace(_TOPIC, topic.lower())
        return f"{stream}-{dataset}-{namespace[:_LONGEST_NAMESPACE]}"
    return legacy or _index(topic)


def _aiven_name(config: Config, topic: str) -> str:
    if config.get("existing.resource.type").lower() not in _OFF:
        return config.pairs("topic.to.existing.resource.mapping").get(topic, "")
    index = _index(topic.replace(":", "_"), "-_+")
    prefix = config.get("data.stream.prefix") if config.flag("data.stream.enabled") else ""
    return f"{prefix}-{index}" if prefix else index


def engine(rule: Rule, name: Callable[[Config, str], str]) -> Sink:
    """A sink to the first of the hosts in `connection.url`."""

    def sink(context: SinkContext, topic: str) -> str:
        config, address = context.config, context.config.get("connection.url")
        if address and "://" not in address:
            address = f"http://{address}"
        return rule(host=address, index=name(config, topic))

    return sink


@source_family("elasticsearch", "com.github.dariobalinzo.ElasticSourceConnector")
def elasticsearch_source(context: SourceContext) -> Iterator[WrittenTopic]:
    """Topics `{topic.prefix}{index}` of the indexes of `index.names`, else of those by `index.prefix`."""
    config = context.config
    prefix, start = config.get("topic.prefix"), config.get("index.prefix")
    listed = config.items("index.names")
    for index in listed or (start + rest for rest in context.named_like(prefix + start)):
        dataset = naming.ELASTICSEARCH(host=config.get("es.host"), port=config.get("es.port"), index=index)
        yield named_for(prefix + index, dataset, listed=bool(listed))


@sink_family("opensearch", "OpenSearchSink", topics=("index{n}.topic",))
def opensearch(context: SinkContext, topic: str) -> list[str]:
    """The indexes of a topic: `index{n}.name` of each number with `index{n}.topic`."""
    config = context.config
    return [
        naming.OPENSEARCH(
            host=config.get("instance.url"),
            index=config.get(f"index{number}.name").replace(_TOPIC, topic).strip("/"),
        )
        for number, named in config.numbered("index{n}.topic")
        if named == topic
    ]


declare(
    """
    azure-search: AZURE_SEARCH service=azure.search.service.name index=index.name=${topic}
        AzureCognitiveSearchSink confluent:azure.search.AzureSearchSinkConnector
    elasticsearch-lenses: ELASTICSEARCH kcql:connect.elastic.kcql
        keys:connect.elastic. host=hosts port=port index==${topic}
        io.lenses.streamreactor.connect.elastic8.Elastic8SinkConnector
        lenses:elastic6.ElasticSinkConnector lenses:elastic7.ElasticSinkConnector
    milvus: MILVUS host=public.endpoint database=database.name collection=collection.name
        com.milvus.io.kafka.MilvusSinkConnector
    pinecone: PINECONE keys:pinecone. project=project index=index
        PineconeSink confluent:pinecone.PineconeSinkConnector
    solr: SOLR host=solr.url|solr.zookeeper.hosts default_port==2181 collection==${topic}
        com.github.jcustenborder.kafka.connect.solr.HttpSolrSinkConnector
        com.github.jcustenborder.kafka.connect.solr.CloudSolrSinkConnector
    weaviate: WEAVIATE host=weaviate.connection.url collection=collection.mapping=${topic}
        io.weaviate.connector.WeaviateSinkConnector
    """
)
sink_family(
    "elasticsearch",
    "ElasticsearchSink ElasticsearchSinkV2",
    "confluent:elasticsearch.ElasticsearchSinkConnector",
    "io.aiven.connect.elasticsearch.ElasticsearchSinkConnector",
)(engine(naming.ELASTICSEARCH, _confluent_name))
sink_family(
    "opensearch-aiven",
    "io.aiven.kafka.connect.opensearch.OpensearchSinkConnector",
    "io.aiven.kafka.connect.opensearch.OpenSearchSinkConnector",
)(engine(naming.OPENSEARCH, _aiven_name))
sink_family("opensearch-community", "com.dmathieu.kafka.opensearch.OpenSearchSinkConnector")(
    engine(naming.OPENSEARCH, _confluent_name)
)


@sink_family("qdrant", "io.qdrant.kafka.QdrantSinkConnector")
def qdrant(context: SinkContext, _topic: str) -> str:
    context.warnings.append("Qdrant's collection is in the record (collection_name), and is not known")
    return ""
