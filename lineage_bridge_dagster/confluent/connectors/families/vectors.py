"""Vector stores: Pinecone, Milvus, Weaviate, Qdrant."""

from __future__ import annotations

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.families.common import keyed, named_by_topic, per_topic
from lineage_bridge_dagster.confluent.connectors.family import SinkContext, sink_family


@sink_family("qdrant", "", "io.qdrant.kafka.QdrantSinkConnector")
def qdrant(context: SinkContext, _topic: str) -> str:
    context.warnings.append("Qdrant's collection is in the record (collection_name), and is not known")
    return ""


sink_family("pinecone", "PineconeSink", "io.confluent.connect.pinecone.PineconeSinkConnector")(
    per_topic(keyed(naming.PINECONE, "pinecone.", project="project", index="index"))
)
sink_family("milvus", "", "com.milvus.io.kafka.MilvusSinkConnector")(
    per_topic(
        keyed(naming.MILVUS, host="public.endpoint", database="database.name", collection="collection.name")
    )
)
sink_family("weaviate", "", "io.weaviate.connector.WeaviateSinkConnector")(
    named_by_topic(
        keyed(naming.WEAVIATE, host="weaviate.connection.url", collection="collection.mapping = ${topic}")
    )
)
