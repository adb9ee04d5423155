"""Properties of Neo4j's nodes and relationships, by label or type.

Sources: `PatternParser.g4`, `PatternEventTransformer` and `CypherEventTransformer` of
neo4j/neo4j-kafka-connector. The older connector has the same strategies under other keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lineage_bridge_dagster.confluent.connectors.columns.sinks.cypher import assigned, bound_names
from lineage_bridge_dagster.confluent.connectors.columns.sinks.graph_patterns import pattern_columns
from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    SinkDataset,
    WrittenColumn,
    unknown,
    writes,
)
from lineage_bridge_dagster.confluent.connectors.config import split_list

#: The lists of topics whose records are themselves changes of a graph.
_CHANGES = (
    "neo4j.cud.topics",
    "neo4j.cdc.schema.topics",
    "neo4j.cdc.source-id.topics",
    "neo4j.topic.cud",
    "neo4j.topic.cdc.schema",
    "neo4j.topic.cdc.sourceId",
)


@writes("neo4j")
def neo4j(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The properties that the topic's strategy sets, below a label or a relationship's type."""
    for each in _properties(table):
        label, dot, name = each.path.partition(".")
        place = f"{table.dataset.rpartition('/')[0]}/{label}"
        yield replace(each, path=name, place=place) if dot else each


def _properties(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The properties with the label or type before their names."""
    config, topic = table.config, table.topic
    for key in ("neo4j.pattern.topic.", "neo4j.topic.pattern.node.", "neo4j.topic.pattern.relationship."):
        if pattern := config.get(key + topic):
            yield from pattern_columns(pattern, table.record)
            return
    if statement := config.get(f"neo4j.cypher.topic.{topic}", f"neo4j.topic.cypher.{topic}"):
        yield from assigned(statement, bound_names(config, table.record))
        return
    listed = any(topic in split_list(config.get(key).replace(";", ",")) for key in _CHANGES)
    what = "the record itself says which labels and properties it changes"
    yield from unknown(what if listed else "no strategy is set for the topic")
