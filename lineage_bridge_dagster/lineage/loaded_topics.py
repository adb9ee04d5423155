"""Tables that `topic_to_iceberg` loads: the stamp that names a table's topic, and its lineage. Pure.

The stamp is a property of the Iceberg table from its creation and, in Glue, a parameter of its table. So any
process of any code location finds the tables where they are, and their lineage is that of Tableflow's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from lineage_bridge_dagster.lineage.catalog_tables import materializes
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.ids import external_dataset_id, topic_id
from lineage_bridge_dagster.lineage.model import Graph, Node, NodeType, scopes_of

#: The property, and the parameter in Glue: `{environment}/{cluster}/{topic}`.
STAMP = "topic_to_iceberg.topic"
#: The attribute of a table's node, and of the edge to it, that names what loads it.
LOADER = "loader"
TOPIC_TO_ICEBERG = "topic_to_iceberg"
#: The attribute of a table's node with its stamp.
LOADED_TOPIC = "loaded_topic"


@dataclass(frozen=True, slots=True)
class LoadedTopic:
    """The topic that a table is loaded from.

    Attributes:
        environment: empty for a self-managed cluster.
        cluster: for a self-managed cluster, the name that its component gives it.
    """

    environment: str
    cluster: str
    topic: str

    @property
    def stamp(self) -> str:
        return f"{self.environment}/{self.cluster}/{self.topic}"

    @property
    def dotted(self) -> str:
        return f"{self.cluster}.{self.topic}"

    @classmethod
    def parse(cls, properties: Mapping[str, str]) -> Self | None:
        """The topic in a table's properties; None for a table without a stamp, or with a malformed one."""
        parts = str(properties.get(STAMP) or "").split("/", 2)
        return cls(*parts) if len(parts) == 3 and parts[1] and parts[2] else None

    def node(self, graph: Graph) -> Node | None:
        """The topic in a graph; None if it is not there."""
        if self.environment:
            return graph.nodes.get(topic_id(self.environment, self.cluster, self.topic))
        # Without an environment in the stamp, as for a cluster that was given by its id alone.
        return next((node for node in graph.of_type(NodeType.KAFKA_TOPIC) if self._is(node)), None)

    def _is(self, node: Node) -> bool:
        return (node.cluster_id, node.qualified_name) == (self.cluster, self.topic)

    def source(self, graph: Graph) -> Node:
        """What a table belongs to: the topic, or what the stamp says about it."""
        return self.node(graph) or Node(
            topic_id(self.environment, self.cluster, self.topic),
            "confluent",
            NodeType.KAFKA_TOPIC,
            self.topic,
            display_name=self.topic,
            environment_id=self.environment or None,
            cluster_id=self.cluster or None,
        )


def loaded_topic_of(table: Node) -> LoadedTopic | None:
    """The topic of a table's node that `topic_to_iceberg` loads; None for any other."""
    return LoadedTopic.parse({STAMP: table.text(LOADED_TOPIC)})


def add_loaded_table(graph: Graph, table: Node, topic: LoadedTopic, scope: Scope, now: str) -> Node:
    """Add the node of a stamped table, and the edge from its topic.

    A topic of a cluster that no discovery reads becomes a dataset outside Confluent; one that this discovery
    does not have gets no edge: it is gone, or could not be read, and then the last discovery's edge is kept.
    """
    node = graph.add_node(table.with_attributes(**{LOADER: TOPIC_TO_ICEBERG, LOADED_TOPIC: topic.stamp}))
    source = topic.node(graph)
    if source is None and not topic.environment and not _is_known_cluster(graph, topic.cluster):
        source = graph.add_node(_dataset(topic, scope, now))
    if source is not None:
        # The stamp shows the edge; an outage of the list of topics must not remove it.
        scopes = {str(scope), *scopes_of(source.attributes)}
        graph.add_edge(materializes(source, node, scope, scopes, now, loader=TOPIC_TO_ICEBERG))
    return node


def two_writers(topic: LoadedTopic, tableflow: str, table: str) -> str:
    """The conflict of a table that Tableflow claims for `cluster.topic`, too, as a sentence without end."""
    return f"{tableflow} by Tableflow and {topic.dotted} by topic_to_iceberg both become {table}"


def _is_known_cluster(graph: Graph, cluster: str) -> bool:
    return any(node.cluster_id == cluster for node in graph.of_type(NodeType.KAFKA_TOPIC))


def _dataset(topic: LoadedTopic, scope: Scope, now: str) -> Node:
    name = f"kafka://{topic.cluster}/{topic.topic}"
    return Node(
        external_dataset_id(name),
        "external",
        NodeType.EXTERNAL_DATASET,
        name,
        display_name=topic.dotted,
        attributes={"scope": str(scope), "scopes": [str(scope)]},
        first_seen=now,
        last_seen=now,
    )
