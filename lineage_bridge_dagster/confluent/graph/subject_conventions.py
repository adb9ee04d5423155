"""How connectors name the subjects of the topics that they write and read. Pure.

Sources: `schema.context.name` of Confluent's managed connectors; the settings of Confluent's converters,
which hand `key.subject.name.strategy` and `value.subject.name.strategy` to their serializers; the names of
records that Debezium and the JDBC source give (`{topic}.Envelope`, the table), and `SetSchemaMetadata`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.graph.builder import Builder
from lineage_bridge_dagster.confluent.graph.subjects import ROLES, Convention, Role
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster.lineage.nodes import ConnectorNode, TopicNode

_CONTEXT_IN_URL = re.compile(r"/contexts/:?(\.?[^/:]+)")
_TRANSFORM = re.compile(r"(.+)\.type")
#: Suffixes of the names of Debezium's records.
_DEBEZIUM: Mapping[Role, tuple[str, ...]] = {"value": (".Envelope", ".Value"), "key": (".Key",)}
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.]")
#: Edges to topics that take no records of a connector's data.
_ASIDE = ("dlq", "report")


def add_connector_conventions(builder: Builder) -> None:
    """Note how connectors name the subjects of their topics.

    Those that write a topic come first, then the tables whose conventions are noted already.
    """
    graph = builder.graph
    connectors = {node.node_id: Config(node.config) for node in graph.of_kind(ConnectorNode)}
    found: dict[str, dict[Role, list[Convention]]] = {}

    def note(topic_id: str, role: Role, conventions: Iterable[Convention]) -> None:
        found.setdefault(topic_id, {}).setdefault(role, []).extend(conventions)

    for kind in (EdgeType.PRODUCES, EdgeType.CONSUMES):
        for topic_id, of_tables in builder.conventions.items() if kind == EdgeType.CONSUMES else ():
            for role, conventions in of_tables.items():
                note(topic_id, role, conventions)
        ends = (
            (edge.src_id, edge.dst_id) if kind == EdgeType.PRODUCES else (edge.dst_id, edge.src_id)
            for edge in graph.edges.values()
            if edge.edge_type == kind and edge.attributes.get("role") not in _ASIDE
        )
        for connector, topic_id in sorted(pair for pair in ends if pair[0] in connectors):
            topic = graph.nodes[topic_id]
            if not isinstance(topic, TopicNode):
                continue
            for role in ROLES:
                convention = _convention(connectors[connector], topic.qualified_name, role)
                if convention.context or convention.strategy:
                    note(topic_id, role, [convention])
    builder.conventions |= found


def _convention(config: Config, topic: str, role: Role) -> Convention:
    """How a connector names the subject of a topic's keys or values."""
    strategy = config.get(f"{role}.converter.{role}.subject.name.strategy", f"{role}.subject.name.strategy")
    records = dict.fromkeys(_records(config, topic, role))
    return Convention(_context(config, role), strategy.rpartition(".")[2], tuple(records))


def _context(config: Config, role: Role) -> str:
    context = config.get("schema.context.name").strip(":")
    if not context:
        url = config.get(f"{role}.converter.schema.registry.url", "schema.registry.url")
        match = _CONTEXT_IN_URL.search(url)
        context = match[1] if match else ""
    if context in ("", ".", "default"):
        return ""
    return context if context.startswith(".") else f".{context}"


def _records(config: Config, topic: str, role: Role) -> Iterator[str]:
    """The names that the records of a topic may have."""
    for transform in config.keys_like(_TRANSFORM):
        if config.get(transform[0]).endswith(f"SetSchemaMetadata${role.capitalize()}"):
            yield config.get(f"{transform[1]}.schema.name")
    for name in (topic, _NOT_IN_NAMES.sub("_", topic)):
        yield from (f"{name}{suffix}" for suffix in _DEBEZIUM[role])
    if role == "value":
        yield topic.removeprefix(config.get("topic.prefix"))
