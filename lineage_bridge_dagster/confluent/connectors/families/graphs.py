"""Graph databases: Neo4j, ArangoDB and GraphDB."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.families.common import keyed, per_topic
from lineage_bridge_dagster.confluent.connectors.family import (
    SourceContext,
    WrittenTopic,
    sink_family,
    source_family,
)

#: The keys that name a topic of change data capture: `neo4j.cdc.topic.{topic}.patterns[.0.pattern]`.
_CAPTURED = re.compile(r"neo4j\.cdc\.topic\.(.+)\.patterns(?:\.\d+\.\w+)?", re.DOTALL)
_NEO4J = "org.neo4j.connectors.kafka."
_STREAMS = "streams.kafka.connect."

#: The database, `neo4j` by default, at the first address.
_DATABASE = keyed(naming.NEO4J, host="neo4j.uri | neo4j.server.uri", database="neo4j.database = neo4j")


@source_family("neo4j", "", _NEO4J + "source.Neo4jConnector", _STREAMS + "source.Neo4jSourceConnector")
def neo4j_source(context: SourceContext) -> Iterator[WrittenTopic]:
    """The topic of a query, or those of change data capture."""
    config = context.config
    captured = {match[1] for match in config.keys_like(_CAPTURED)}
    queried = config.get("neo4j.query.topic", "topic", "neo4j.streaming.topic")
    topics = [queried] if queried and config.get("neo4j.source-strategy").upper() != "CDC" else captured
    for topic in sorted(topics):
        yield WrittenTopic(topic, _DATABASE(config))


sink_family("neo4j", "Neo4jSink", _NEO4J + "sink.Neo4jConnector", _STREAMS + "sink.Neo4jSinkConnector")(
    per_topic(_DATABASE)
)
# The repository of a server, whose URL was called an IRI first.
sink_family("graphdb", "", "com.ontotext.kafka.GraphDBSinkConnector")(
    per_topic(keyed(naming.GRAPHDB, "graphdb.server.", host="url | iri", repository="repository"))
)
sink_family("arangodb", "", "com.arangodb.kafka.ArangoSinkConnector")(
    per_topic(
        keyed(
            naming.ARANGODB,
            "connection.",
            host="endpoints",
            database="database = _system",
            collection="collection",
        )
    )
)
