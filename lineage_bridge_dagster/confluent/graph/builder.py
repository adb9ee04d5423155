"""From records to nodes and edges: what all kinds share. No I/O.

A topic is a node when its cluster lists it. When the list is not whole, a topic that something else names
outright (Tableflow, a statement, a connector's own configuration) is a node too, with `observed` false; when
it is whole and the topic is not in it, there is no such topic as far as the key may see: no node, no edge,
and a warning on what named it. A derived name is never shown as a fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_bridge_dagster.confluent.api.clusters import KafkaCluster
from lineage_bridge_dagster.confluent.api.org import Environment
from lineage_bridge_dagster.confluent.graph.console_links import Console
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.coverage import Scope
from lineage_bridge_dagster.lineage.model import Edge, EdgeType, Evidence, Graph, Node, NodeType


@dataclass(frozen=True, slots=True)
class Place:
    """A Kafka cluster in its environment."""

    environment: Environment
    cluster: KafkaCluster

    @property
    def key(self) -> tuple[str, str]:
        return (self.environment.id, self.cluster.id)

    def scope(self, api: str) -> Scope:
        return Scope(api, *self.key)

    @property
    def names(self) -> dict[str, str]:
        """The fields of a node that say where it is."""
        return {
            "environment_id": self.environment.id,
            "environment_name": self.environment.label,
            "cluster_id": self.cluster.id,
            "cluster_name": self.cluster.label,
        }


@dataclass(slots=True)
class Builder:
    """The graph in the making, and what is known of the clusters that it is made over.

    Attributes:
        places: every cluster that was listed, left-out ones too: names in SQL mean those as well.
        topics: the topics listed of each cluster.
        whole: the clusters whose list of topics is whole.
    """

    now: str
    console: Console
    graph: Graph = field(default_factory=Graph)
    places: dict[tuple[str, str], Place] = field(default_factory=dict)
    topics: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    whole: set[tuple[str, str]] = field(default_factory=set)

    def add_node(self, node_id: str, kind: NodeType, name: str, scope: Scope, **fields: Any) -> Node:
        """Add a node stamped with its scope and the time; empty attributes are left out."""
        attributes = {
            k: v for k, v in fields.pop("attributes", {}).items() if v not in (None, "", [], {}, ())
        }
        fields.setdefault("system", "confluent")
        fields.setdefault("display_name", name)
        return self.graph.add_node(
            Node(
                node_id=node_id,
                node_type=kind,
                qualified_name=name,
                attributes={**attributes, "scope": str(scope)},
                first_seen=self.now,
                last_seen=self.now,
                **fields,
            )
        )

    def add_edge(
        self,
        src_id: str,
        dst_id: str,
        kind: EdgeType,
        scope: Scope,
        *,
        confidence: float = 1.0,
        evidence: str = Evidence.DECLARED,
        **attributes: Any,
    ) -> Edge:
        return self.graph.add_edge(
            Edge(
                src_id=src_id,
                dst_id=dst_id,
                edge_type=kind,
                confidence=confidence,
                attributes={**without_empty(attributes), "evidence": str(evidence), "scope": str(scope)},
                first_seen=self.now,
                last_seen=self.now,
            )
        )

    def lists(self, key: tuple[str, str], topic: str) -> bool:
        return topic in self.topics.get(key, ())

    def topic(self, key: tuple[str, str], topic: str, scope: Scope, *, certain: bool = False) -> str | None:
        """The id of a topic that something named; None when the cluster's whole list lacks it.

        Args:
            key: environment and cluster id.
            topic: its name.
            scope: what named it.
            certain: the namer knows that it exists, whatever the list shows to this key.
        """
        node_id = ids.topic_id(*key, topic)
        if self.lists(key, topic):
            return node_id
        if key in self.whole and not certain:
            return None
        place = self.places.get(key)
        names = place.names if place else {"environment_id": key[0], "cluster_id": key[1]}
        self.add_node(
            node_id,
            NodeType.KAFKA_TOPIC,
            topic,
            scope,
            attributes={"observed": False, **(cluster_attributes(place) if place else {})},
            url=self.console.topic(*key, topic),
            **names,
        )
        return node_id

    def topics_of(
        self, key: tuple[str, str], names: Iterable[str], scope: Scope
    ) -> tuple[dict[str, str], list[str]]:
        """Topic -> id of those that are there, and the names of those that are not."""
        found: dict[str, str] = {}
        absent: list[str] = []
        for name in names:
            node_id = self.topic(key, name, scope)
            if node_id is None:
                absent.append(name)
            else:
                found[name] = node_id
        return found, absent


def cluster_attributes(place: Place) -> dict[str, str]:
    """What a topic's node says of its cluster."""
    spec = place.cluster.spec
    return {
        "bootstrap_endpoint": place.cluster.bootstrap_endpoint,
        "cloud": spec.cloud,
        "region": spec.region,
    }


def absent_warning(names: Iterable[str], cluster: str) -> str:
    """What is said where topics are named that a whole list lacks."""
    return (
        f"not among the topics of {cluster} that the key may see: {', '.join(sorted(names))}; "
        "no edge is drawn to them"
    )


def without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that say something; False and 0 do."""
    return {key: value for key, value in values.items() if value not in (None, "", [], {}, ())}
