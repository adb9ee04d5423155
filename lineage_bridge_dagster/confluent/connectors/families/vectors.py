"""Vector stores: Pinecone, Milvus, Weaviate, Qdrant."""

from __future__ import annotations

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.families.common import per_topic
from lineage_bridge_dagster.confluent.connectors.family import Family, SinkContext

_TOPIC = "${topic}"


def weaviate(context: SinkContext, topic: str) -> str:
    config = context.config
    collection = config.get("collection.mapping", default=_TOPIC).replace(_TOPIC, topic)
    return naming.WEAVIATE(host=config.get("weaviate.connection.url"), collection=collection)


def qdrant(context: SinkContext, _topic: str) -> str:
    context.warnings.append("Qdrant's collection is in the record (collection_name), and is not known")
    return ""


SINKS = (
    Family(
        "pinecone",
        ("PineconeSink",),
        ("io.confluent.connect.pinecone.PineconeSinkConnector",),
        sink=per_topic(
            lambda config: [
                naming.PINECONE(project=config.get("pinecone.project"), index=config.get("pinecone.index"))
            ]
        ),
    ),
    Family(
        "milvus",
        (),
        ("com.milvus.io.kafka.MilvusSinkConnector",),
        sink=per_topic(
            lambda config: [
                naming.MILVUS(
                    host=config.get("public.endpoint"),
                    database=config.get("database.name"),
                    collection=config.get("collection.name"),
                )
            ]
        ),
    ),
    Family("weaviate", (), ("io.weaviate.connector.WeaviateSinkConnector",), sink=weaviate),
    Family("qdrant", (), ("io.qdrant.kafka.QdrantSinkConnector",), sink=qdrant),
)
