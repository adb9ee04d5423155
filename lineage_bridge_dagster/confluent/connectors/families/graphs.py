"""Graph databases: Neo4j, ArangoDB and GraphDB."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import per_topic
from lineage_bridge_dagster.confluent.connectors.family import Family, SinkContext, SourceContext, Written

#: The keys that name a topic of change data capture: `neo4j.cdc.topic.{topic}.patterns[.0.pattern]`.
_CAPTURED = re.compile(r"neo4j\.cdc\.topic\.(.+)\.patterns(?:\.\d+\.\w+)?", re.DOTALL)


def _neo4j(config: Config) -> list[str]:
    """The database, `neo4j` by default, at the first address."""
    host = config.get("neo4j.uri", "neo4j.server.uri")
    return [naming.NEO4J(host=host, database=config.get("neo4j.database", default="neo4j"))]


def neo4j_source(context: SourceContext) -> Iterator[Written]:
    """The topic of a query, or those of change data capture."""
    config = context.config
    captured = {match[1] for match in config.keys_like(_CAPTURED)}
    queried = config.get("neo4j.query.topic", "topic", "neo4j.streaming.topic")
    topics = [queried] if queried and config.get("neo4j.source-strategy").upper() != "CDC" else captured
    for topic in sorted(topics):
        for dataset in _neo4j(config):
            yield Written(topic, dataset)


def arangodb(context: SinkContext, _topic: str) -> str:
    config = context.config
    return naming.ARANGODB(
        host=config.get("connection.endpoints"),
        database=config.get("connection.database", default="_system"),
        collection=config.get("connection.collection"),
    )


def graphdb(config: Config) -> list[str]:
    """The repository of a server; its URL was called an IRI first."""
    host = config.get("graphdb.server.url", "graphdb.server.iri")
    return [naming.GRAPHDB(host=host, repository=config.get("graphdb.server.repository"))]


_NEO4J = "org.neo4j.connectors.kafka."
_STREAMS = "streams.kafka.connect."

SOURCES = (
    Family(
        "neo4j",
        (),
        (_NEO4J + "source.Neo4jConnector", _STREAMS + "source.Neo4jSourceConnector"),
        neo4j_source,
    ),
)


SINKS = (
    Family(
        "neo4j",
        ("Neo4jSink",),
        (_NEO4J + "sink.Neo4jConnector", _STREAMS + "sink.Neo4jSinkConnector"),
        sink=per_topic(_neo4j),
    ),
    Family("graphdb", (), ("com.ontotext.kafka.GraphDBSinkConnector",), sink=per_topic(graphdb)),
    Family("arangodb", (), ("com.arangodb.kafka.ArangoSinkConnector",), sink=arangodb),
)
