"""One connector -> the columns that it writes, each with the columns that it is made of. Pure.

Evidence are the configuration, the registered schemas of topics, and the columns of tables by a catalog. What
they leave open is a column with a reason, and no guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lineage_bridge_dagster.confluent.connectors.columns.records import (
    ConnectRecord,
    FieldPath,
    RecordNode,
    anything,
    leaf,
)
from lineage_bridge_dagster.confluent.connectors.columns.schema_tree import schema_tree
from lineage_bridge_dagster.confluent.connectors.columns.sinks import SinkDataset, WrittenColumn, sink_columns
from lineage_bridge_dagster.confluent.connectors.columns.sources import (
    DECLARED,
    SourceTopic,
    source_record,
)
from lineage_bridge_dagster.confluent.connectors.columns.transforms import transformed
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.record import ConnectorLineage, ExistingTopics
from lineage_bridge_dagster.confluent.connectors.transforms import routing_of
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema

#: Topic and role (`key` or `value`) -> the latest schema.
TopicSchemas = Mapping[tuple[str, str], RegisteredSchema]

_NO_FIELD = "neither the configuration nor the source's columns tell what it is made of"
_NO_FIELDS = "no schema is registered, and no other evidence names its fields"
#: Converters, and Confluent's data formats, of keys and values that are not structs.
_PLAIN = ("string", "bytes", "bytearray", "long", "integer", "double", "float", "short", "boolean", "uuid")


@dataclass(frozen=True)
class ConnectorColumns:
    """What a connector's columns are made of.

    Attributes:
        columns: Written column -> those that it is made of; none for constants and metadata. Names are
            `topic:orders.value.id`, and `<dataset>.<column>`.
        unknown: Written column, topic or dataset -> why it is not known what it is made of.
        places: Part of a dataset with a name of its own, which columns are named by -> the dataset.
    """

    columns: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unknown: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)


def connector_columns(
    config: Config,
    lineage: ConnectorLineage,
    topics: ExistingTopics,
    schemas: TopicSchemas,
    tables: Mapping[str, Sequence[str]],
) -> ConnectorColumns:
    """The columns that a connector writes.

    Args:
        lineage: What it reads and writes, by the same configuration.
        topics: Those of its cluster.
        schemas: The schemas of the topics that a sink reads or a source writes.
        tables: Dataset -> the columns that a catalog tells, nested ones as `address.city`.
    """
    frame = _Frame(config, lineage, topics, schemas, tables)
    found: dict[str, frozenset[str]] = {}
    unknown: dict[str, str] = {}
    for target, node in frame.sink() if lineage.direction == "sink" else frame.source():
        if node.unknown:
            unknown.setdefault(target, node.unknown)
        else:
            found[target] = found.get(target, frozenset()) | node.sources
    known = {name: found[name] for name in found if name not in unknown}
    return ConnectorColumns(known, unknown, frame.places)


@dataclass(frozen=True, slots=True)
class _Frame:
    config: Config
    lineage: ConnectorLineage
    topics: ExistingTopics
    schemas: TopicSchemas
    tables: Mapping[str, Sequence[str]]
    places: dict[str, str] = field(default_factory=dict)

    def sink(self) -> Iterator[tuple[str, RecordNode]]:
        """The columns of datasets, each with what it is made of."""
        routing = routing_of(self.config, self.topics)
        records: dict[str, ConnectRecord] = {}
        for topic, dataset in self.lineage.pairs:
            if topic not in records:
                records[topic] = transformed(self._read(topic), self.config, topic, self.topics)
            record = records[topic]
            name = routing.route_target(topic) or topic
            columns = tuple(self.tables.get(dataset, ()))
            table = SinkDataset(self.config, name, dataset, record, columns)
            for column in sink_columns(self.lineage.family, table):
                if column.place:
                    self.places[column.place] = dataset
                yield (
                    _target(column.place or dataset, column),
                    RecordNode(column.sources, unknown=column.unknown),
                )
        paired = {dataset for _, dataset in self.lineage.pairs}
        for dataset in self.lineage.datasets_written:
            if dataset not in paired:
                yield dataset, RecordNode(unknown="it is not known which topics are written to it")

    def _read(self, topic: str) -> ConnectRecord:
        """A record of a topic as its converters make it."""
        return ConnectRecord(self._side(topic, "key"), self._side(topic, "value"))

    def _side(self, topic: str, role: str) -> RecordNode:
        base = f"topic:{topic}.{role}"
        schema = self.schemas.get((topic, role))
        if self._is_plain(role):
            return leaf(base)
        return anything(base) if schema is None else schema_tree(schema, base)

    def _is_plain(self, role: str) -> bool:
        """Whether keys or values are not structs, by the converter or the data format."""
        side = "input.data.format" if role == "value" else "input.key.format"
        output = "output.data.format" if role == "value" else "output.key.format"
        name = self.config.get(f"{role}.converter", side, output, f"output.data.{role}.format")
        return name.rpartition(".")[2].removesuffix("Converter").casefold() in _PLAIN

    def source(self) -> Iterator[tuple[str, RecordNode]]:
        """The fields of topics, each with what it is made of."""
        others = {*self.lineage.dlq_topics, *self.lineage.report_topics, *self.lineage.internal_topics}
        written = set(self.lineage.topics_written)
        read: dict[str, list[str]] = {}
        for dataset, topic in self.lineage.pairs:
            read.setdefault(topic, []).append(dataset)
        is_routed = bool(routing_of(self.config, self.topics))
        # A topic that no name in the configuration leads to may still be that of a table in the catalog.
        for topic in dict.fromkeys((*self.lineage.topics_written, *(name for name, _ in self.schemas))):
            datasets = tuple(read.get(topic, ())) or tuple(self._catalogued(topic))
            if topic in others or (topic not in written and not datasets):
                continue
            asked = SourceTopic(self.config, self.lineage.family, topic, datasets, self.tables)
            record = self._declared(source_record(asked))
            # Before transforms that route it, its name is not known.
            record = transformed(record, self.config, "" if is_routed else topic, self.topics)
            yield from self._fields(topic, "key", record.key)
            yield from self._fields(topic, "value", record.value)

    def _catalogued(self, topic: str) -> Iterator[str]:
        """The tables of a catalog whose rows go to a topic, where expressions alone name the tables."""
        prefix = self.config.get("topic.prefix", "database.server.name")
        routing = routing_of(self.config, self.topics)
        for dataset in self.tables if prefix else ():
            parts = dataset.rpartition("/")[2].split(".")
            tails = [".".join(parts[start:]) for start in range(len(parts))]
            names = [f"{prefix}{dot}{tail}" for tail in tails for dot in (".", "")]
            if any(topic in routing.route(name) for name in names):
                yield dataset

    def _declared(self, record: ConnectRecord) -> ConnectRecord:
        """The record with the fields of the schema that the configuration holds."""
        declare = DECLARED.get(self.lineage.family)
        schema = declare(self.config) if declare else None
        if schema is None or record.value is None:
            return record
        value = record.value
        tree = schema_tree(schema, "")
        fields = {name: _looked_up(value, node, (name,)) for name, node in tree.known.items()}
        return replace(record, value=RecordNode(fields=fields)) if fields else record

    def _fields(self, topic: str, role: str, node: RecordNode | None) -> Iterator[tuple[str, RecordNode]]:
        """The fields of a key or a value: those of its schema, else those of the record."""
        base = f"topic:{topic}.{role}"
        schema = self.schemas.get((topic, role))
        if node is None:
            return
        tree = schema_tree(schema, base) if schema else None
        if tree is None or (tree.open and not tree.known):
            yield from self._own_fields(base, role, node)
            return
        for path, target in tree.leaves():
            (name,) = target.sources or {base}
            yield name, _found(node, path)

    def _own_fields(self, base: str, role: str, node: RecordNode) -> Iterator[tuple[str, RecordNode]]:
        if self._is_plain(role) or not node.is_struct:
            whole = node.whole()
            if not (node.open and whole.sources) or whole.unknown:
                yield base, whole
            return
        for path, each in node.leaves():
            if path:
                yield ".".join((base, *path)), each
            elif role == "value":
                # An open key is one of unknown columns, or null.
                yield base, RecordNode(unknown=each.unknown or _NO_FIELDS)


def _target(dataset: str, column: WrittenColumn) -> str:
    return f"{dataset}.{column.path}" if column.path not in ("", "*") else dataset


def _found(node: RecordNode, path: FieldPath) -> RecordNode:
    """What the field at a path is made of."""
    found = node.at(*path)
    return RecordNode(unknown=_NO_FIELD) if found is None else found.whole()


def _looked_up(node: RecordNode, tree: RecordNode, path: FieldPath) -> RecordNode:
    """A tree of a schema with the sources that a record has at its paths."""
    if tree.is_struct:
        fields = {name: _looked_up(node, each, (*path, name)) for name, each in tree.known.items()}
        return replace(tree, fields=fields)
    return _found(node, path)
