"""Search engines and vector stores."""

from __future__ import annotations

from lineage_bridge_dagster.confluent.connectors import datasets
from lineage_bridge_dagster.confluent.connectors.families.common import templated
from lineage_bridge_dagster.confluent.connectors.family import Family, SinkContext


def elasticsearch(context: SinkContext, topic: str) -> str:
    config = context.config
    host = datasets.host_of(config.get("connection.url"))
    mapped = config.pairs("topic.to.external.resource.mapping").get(topic)
    stream = config.get("data.stream.type", default="none").lower()
    if mapped:
        index = mapped
    elif stream not in ("", "none"):
        space = datasets.formatted(config.get("data.stream.namespace", default="${topic}"), topic).lower()
        index = "-".join((stream, config.get("data.stream.dataset"), space))
    else:
        index = topic.lower()
    return f"elasticsearch://{host}/{index}" if host else ""


def opensearch(context: SinkContext, topic: str) -> str:
    config = context.config
    host = datasets.host_of(config.get("instance.url"))
    number = config.number_of("index{n}.topic", topic)
    return f"opensearch://{host}/{config.get(f'index{number}.name')}" if host and number else ""


SINKS = (
    Family(
        "elasticsearch",
        ("ElasticsearchSink",),
        ("io.confluent.connect.elasticsearch.ElasticsearchSinkConnector",),
        sink=elasticsearch,
    ),
    Family("opensearch", ("OpenSearchSink",), (), sink=opensearch, topics=("index{n}.topic",)),
    Family(
        "azure-search",
        ("AzureCognitiveSearchSink",),
        ("io.confluent.connect.azure.search.AzureSearchSinkConnector",),
        sink=templated("https://{azure.search.service.name}.search.windows.net/indexes/{index.name}"),
    ),
    Family(
        "pinecone",
        ("PineconeSink",),
        ("io.confluent.connect.pinecone.PineconeSinkConnector",),
        sink=templated("pinecone://{pinecone.project}/{pinecone.index}"),
    ),
)
