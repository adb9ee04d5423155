"""Builds nodes and edges from API records: what all kinds of node share. No I/O.

A topic becomes a node if its cluster lists it. If the list is incomplete, a topic that something else names
explicitly (Tableflow, a statement, a connector's configuration) becomes a node too, with `observed` false.
If the list is complete and lacks the topic, the topic does not exist as far as the key can see: it gets no
node and no edge, and whatever named it gets a warning. A derived name is never shown as a fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import httpx

from lineage_bridge_dagster.confluent.api.org import Environment, KafkaCluster
from lineage_bridge_dagster.confluent.api.trusted_hosts import on_vendor_domain
from lineage_bridge_dagster.confluent.connectors.record import ConnectorLineage
from lineage_bridge_dagster.confluent.graph.subjects import Conventions, SubjectIndex, SubjectMatch
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.columns import COLUMN_LINEAGE
from lineage_bridge_dagster.lineage.coverage import CONNECTOR_OFFSETS, Scope
from lineage_bridge_dagster.lineage.model import INPUTS, Edge, EdgeType, Evidence, Graph, Node, NodeType

_HOME = "https://confluent.cloud"
#: What needs no quotes in a URL, as most names do not: to look takes less time than to quote.
_PLAIN = re.compile(r"[A-Za-z0-9_.~-]*+")


@dataclass(frozen=True, slots=True)
class Console:
    """Builds links to console pages; all None unless the API is Confluent's own, which has a console."""

    available: bool

    @classmethod
    def of(cls, api: httpx.URL) -> Console:
        return cls(on_vendor_domain(api.host))

    def topic(self, environment: str, cluster: str, topic: str) -> str | None:
        return self._url(environment, "clusters", cluster, "topics", topic, "overview")

    def tableflow(self, environment: str, cluster: str, topic: str) -> str | None:
        return self._url(environment, "clusters", cluster, "topics", topic, "tableflow")

    def connector(self, environment: str, cluster: str, name: str) -> str | None:
        return self._url(environment, "clusters", cluster, "connectors", name, "overview")

    def statement(self, environment: str, name: str) -> str | None:
        return self._url(environment, "flink", "statements", name, "activity")

    def subject(self, environment: str, subject: str) -> str | None:
        return self._url(environment, "schema-registry", "schemas", subject)

    def _url(self, environment: str, *parts: str) -> str | None:
        if not self.available:
            return None
        path = "/".join(map(_quoted, (environment, *parts)))
        return f"{_HOME}/environments/{path}"


@lru_cache(maxsize=1024)
def _quoted(part: str) -> str:
    return part if _PLAIN.fullmatch(part) else quote(part, safe="")


#: Maximum confidence of the edge to an output whose inputs are not known, so that all count.
UNKNOWN_INPUTS = 0.8


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

    def offsets_scope(self, connector_id: str) -> Scope:
        """The scope of one connector's offsets."""
        return Scope(CONNECTOR_OFFSETS, self.environment.id, f"{self.cluster.id}/{connector_id}")

    @property
    def names(self) -> dict[str, str]:
        """The environment and cluster fields of a node."""
        return {
            "environment_id": self.environment.id,
            "environment_name": self.environment.label,
            "cluster_id": self.cluster.id,
            "cluster_name": self.cluster.label,
        }


@dataclass(slots=True)
class Builder:
    """The graph under construction, and what is known about its clusters.

    Attributes:
        places: Every cluster that was listed, also those that a filter excludes: names in SQL may refer to
            them.
        topics: The listed topics of each cluster.
        fully_listed: The clusters whose list of topics is complete.
        conventions: How connectors and Flink's tables name the subjects of topics, by the topic's node id.
        subjects: The registered schemas of each environment, once they are added.
        schemas: The registered schemas of each topic that has any, by its node id.
        connectors: What each connector reads and writes, by its node id.
    """

    now: str
    console: Console
    graph: Graph = field(default_factory=Graph)
    places: dict[tuple[str, str], Place] = field(default_factory=dict)
    topics: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    fully_listed: set[tuple[str, str]] = field(default_factory=set)
    conventions: dict[str, Conventions] = field(default_factory=dict)
    subjects: dict[str, SubjectIndex] = field(default_factory=dict)
    schemas: dict[str, list[SubjectMatch]] = field(default_factory=dict)
    connectors: dict[str, ConnectorLineage] = field(default_factory=dict)

    def add_node(self, node_id: str, kind: NodeType, name: str, scope: Scope, **fields: Any) -> Node:
        """Add a node with its scope and time; empty attributes are omitted."""
        attributes = without_empty(fields.pop("attributes", {}))
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
        inputs: Iterable[str] | None = None,
        **attributes: Any,
    ) -> Edge:
        """Add an edge with its scope and time; empty attributes are omitted.

        `inputs` are the ids of what an output is made of: None if unknown, empty if it is made of nothing.
        """
        known = {} if inputs is None else {INPUTS: sorted(set(inputs))}
        return self.graph.add_edge(
            Edge(
                src_id=src_id,
                dst_id=dst_id,
                edge_type=kind,
                confidence=confidence,
                attributes={
                    **without_empty(attributes),
                    **known,
                    "evidence": str(evidence),
                    "scope": str(scope),
                },
                first_seen=self.now,
                last_seen=self.now,
            )
        )

    def add_dataset(self, dataset: str, scope: Scope) -> str:
        """Add an external dataset, which belongs to no environment, and return its id."""
        node = self.add_node(
            ids.external_dataset_id(dataset), NodeType.EXTERNAL_DATASET, dataset, scope, system="external"
        )
        return node.node_id

    def has_topic(self, key: tuple[str, str], topic: str) -> bool:
        return topic in self.topics.get(key, ())

    def resolve_topic(
        self, key: tuple[str, str], topic: str, scope: Scope, *, exists: bool = False
    ) -> str | None:
        """Return the id of a topic that something names, adding its node if the cluster does not list it.

        Args:
            key: Environment and cluster id.
            exists: The topic is known to exist even if this key cannot list it.

        Returns:
            None if the cluster's complete list lacks the topic.
        """
        node_id = ids.topic_id(*key, topic)
        if self.has_topic(key, topic):
            return node_id
        if key in self.fully_listed and not exists:
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

    def resolve_topics(
        self, key: tuple[str, str], names: Iterable[str], scope: Scope
    ) -> tuple[dict[str, str], list[str]]:
        """Map existing topics to their ids, and list the names of absent ones."""
        found: dict[str, str] = {}
        absent: list[str] = []
        for name in names:
            node_id = self.resolve_topic(key, name, scope)
            if node_id is None:
                absent.append(name)
            else:
                found[name] = node_id
        return found, absent


def cluster_attributes(place: Place) -> dict[str, str]:
    """The attributes of a topic's cluster."""
    spec = place.cluster.spec
    return {
        "bootstrap_endpoint": place.cluster.bootstrap_endpoint,
        "cloud": spec.cloud,
        "region": spec.region,
    }


def absent_warning(names: Iterable[str], cluster: str) -> str:
    """The warning on a node that names topics which the cluster does not list."""
    return (
        f"not among the topics of {cluster} that the key can see, so no edge leads to them: "
        f"{', '.join(sorted(names))}"
    )


def without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """Drop None and empty texts and collections; False and 0 stay."""
    return {key: value for key, value in values.items() if value or value == 0}


def put_columns(graph: Graph, node_id: str, attribute: dict[str, Any] | None, omitted: int) -> None:
    """Put the result of `to_attribute` on a node, with a warning if it omits columns."""
    if attribute is not None:
        graph.nodes[node_id] = graph.nodes[node_id].with_attributes(**{COLUMN_LINEAGE: attribute})
    if omitted:
        warn(graph, node_id, f"{omitted} more of its columns exceed the limit of column lineage on a node")


def warn_underived(graph: Graph, error: Exception, *node_ids: str) -> None:
    """Add a warning to nodes whose column lineage an error kept from being derived."""
    for node_id in node_ids:
        # Not the error's text, which may quote the SQL or the configuration.
        warn(graph, node_id, f"its column lineage could not be derived ({type(error).__name__})")


def warn(graph: Graph, node_id: str, warning: str) -> None:
    """Add a warning to a node, if it is in the graph."""
    node = graph.nodes.get(node_id)
    if node is not None:
        graph.nodes[node_id] = node.with_attributes(warnings=[*node.warnings, warning])
