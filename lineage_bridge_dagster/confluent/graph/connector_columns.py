"""Column lineage on the nodes of connectors, from their configurations and the registered schemas. No I/O.

Columns of a topic are those of its records' keys and values, and for a change event also those of the row, as
Flink and Tableflow show them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.connectors.columns.lineage import connector_columns
from lineage_bridge_dagster.confluent.connectors.columns.transforms import keeps_values
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.record import ConnectorLineage, ExistingTopics
from lineage_bridge_dagster.confluent.graph.builder import Builder, put_columns, warn_underived
from lineage_bridge_dagster.confluent.graph.schema_rows import Lookup, referenced
from lineage_bridge_dagster.lineage import ids
from lineage_bridge_dagster.lineage.columns import Column, ColumnFlow, ColumnInput, How, to_attribute
from lineage_bridge_dagster.lineage.nodes import ConnectorNode
from lineage_bridge_dagster.schemas.schemas import AVRO, RegisteredSchema

#: Parts of a change event that hold the row.
_ROWS = ("after", "before")


def add_connector_columns(builder: Builder) -> None:
    """Put the column lineage of each connector on its node, as far as it can be derived. Never raises."""
    topics = {key: ExistingTopics(names) for key, names in builder.topics.items()}
    for node in list(builder.graph.of_kind(ConnectorNode)):
        lineage = builder.connectors.get(node.node_id)
        if lineage is None:
            continue
        key = (node.environment_id or "", node.cluster_id or "")
        try:
            flows = _Flows(builder, key, lineage, Config(node.config), topics[key])
            put_columns(builder.graph, node.node_id, *to_attribute(flows.known(), flows.further))
        except Exception as error:
            warn_underived(builder.graph, error, node.node_id)


class _Flows:
    """The flows of one connector.

    Attributes:
        further: Topics and datasets with columns of unknown names, each with the reason.
    """

    def __init__(
        self,
        builder: Builder,
        cluster: tuple[str, str],
        lineage: ConnectorLineage,
        config: Config,
        topics: ExistingTopics,
    ) -> None:
        self._topics = {
            name: ids.topic_id(*cluster, name) for name in (*lineage.topics_read, *lineage.topics_written)
        }
        self._datasets = {
            name: ids.external_dataset_id(name)
            for name in (*lineage.datasets_read, *lineage.datasets_written)
        }
        schemas = dict(_schemas(builder, cluster[0], self._topics))
        self._found = connector_columns(config, lineage, topics, schemas, {})
        self._how = How.IDENTITY if keeps_values(config) else How.EXPRESSION
        self.further: dict[str, str] = {}

    def known(self) -> list[ColumnFlow]:
        """The flows into columns of known names."""
        inputs: dict[Column, dict[Column, None]] = {}
        for name, sources in self._found.columns.items():
            for column in self._columns(name):
                found = inputs.setdefault(column, {})
                found.update(dict.fromkeys(each for source in sources for each in self._columns(source)))
        reasons: dict[Column, str] = {}
        for name, reason in self._found.unknown.items():
            columns = list(self._columns(name))
            reasons.update(dict.fromkeys(columns, reason))
            if not columns and (node_id := self._node_id(name)):
                self.further[node_id] = reason
        return [
            ColumnFlow(
                column,
                tuple(ColumnInput(source, self._how) for source in inputs.get(column, ())),
                column not in reasons,
                reasons.get(column, ""),
            )
            for column in dict.fromkeys((*inputs, *reasons))
        ]

    def _columns(self, name: str) -> Iterator[Column]:
        """The columns of the graph that a column of a record or a dataset is part of."""
        if name.startswith("topic:"):
            topic, role, path = self._split(name)
            if topic is None:
                return
            head, _, rest = path.partition(".")
            if path:
                yield Column(topic, head)
            elif role == "key":
                yield Column(topic, role)
            if role == "value" and head in _ROWS and rest:
                yield Column(topic, rest.partition(".")[0])
            return
        for owner, path in _splits(name, "."):
            if owner in self._found.places:
                label = owner.rpartition("/")[2]
                yield Column(self._datasets[self._found.places[owner]], f"{label}.{path}")
                return
            if owner in self._datasets:
                yield Column(self._datasets[owner], path)
                return

    def _split(self, name: str) -> tuple[str | None, str, str]:
        """A topic's node id, `key` or `value`, and the path of `topic:{name}.{role}.{path}`."""
        for topic, rest in _splits(name.removeprefix("topic:"), "."):
            role, _, path = rest.partition(".")
            if role in ("value", "key") and topic in self._topics:
                return self._topics[topic], role, path
        return None, "", ""

    def _node_id(self, name: str) -> str | None:
        if name.startswith("topic:"):
            return self._split(name)[0]
        return self._datasets.get(name)


def _splits(text: str, separator: str) -> Iterator[tuple[str, str]]:
    """The two parts of a text at each separator, the longest first part first."""
    at = text.rfind(separator)
    while at >= 0:
        yield text[:at], text[at + len(separator) :]
        at = text.rfind(separator, 0, at)


def _schemas(
    builder: Builder, environment: str, topics: Mapping[str, str]
) -> Iterator[tuple[tuple[str, str], RegisteredSchema]]:
    """Topic and role -> its schema, for topics that have one for sure."""
    index = builder.subjects.get(environment)
    lookup: Lookup = index.by_subject.get if index is not None else lambda _: None
    for name, topic_id in topics.items():
        for role in ("key", "value"):
            matches = [m for m in builder.schemas.get(topic_id, ()) if m.role == role and m.certain]
            if len(matches) == 1 and (schema := _registered(matches[0].schema, lookup)) is not None:
                yield (name, role), schema


def _registered(schema: Schema, lookup: Lookup) -> RegisteredSchema | None:
    """A schema with the texts that it imports; None for one whose references are not inlined."""
    kind = schema.schema_type.upper()
    if kind == AVRO and schema.references:
        return None
    references = _texts(referenced(schema, lookup))
    return RegisteredSchema(schema.id, schema.text, kind, schema.version, references, schema.guid)


def _texts(schemas: Iterable[tuple[str, Schema]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, schema.text) for name, schema in schemas)
