"""The columns of the Lenses connectors, which a statement of their query language selects.

Sources: `ConnectorParser.g4` and `Field` of lensesio/stream-reactor, and of its connectors
`CassandraTableSetting`, `ElasticJsonWriter`, `SinkRecordToDocument`, `KeySource` and
`EnvelopeWithSchemaTransformer`; "Redis Sink" and "InfluxDB Sink" of docs.lenses.io.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lineage_bridge_dagster.confluent.connectors.columns.records import ConnectRecord, RecordNode
from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    ColumnReader,
    SinkDataset,
    WrittenColumn,
    column,
    generated,
    joined,
    tree,
    unknown,
    writes,
)
from lineage_bridge_dagster.confluent.connectors.families.kcql import KcqlStatement, for_topic

#: A path whose parts may be in quotes.
_PART = re.compile(r"`[^`]*`|'[^']*'|[^.\s]+")
_QUOTES = "`'\""
#: What a path may start with, other than a field of the value.
_KEY, _VALUE, _HEADER, _METADATA = (
    "_key",
    "_value",
    "_header",
    ("_topic", "_partition", "_offset", "_timestamp"),
)


@dataclass(frozen=True, slots=True)
class SelectedField:
    """An item of a list of fields: a path, and the name that it is given, if it is given one."""

    path: tuple[str, ...]
    alias: str = ""

    @classmethod
    def of(cls, text: str) -> SelectedField:
        words = text.split()
        path = tuple(part.strip(_QUOTES) for part in _PART.findall(words[0])) if words else ("",)
        alias = words[2].strip(_QUOTES) if len(words) == 3 and words[1].upper() == "AS" else ""
        return cls(path, alias)

    @property
    def name(self) -> str:
        return self.alias or self.path[-1]

    def node(self, record: ConnectRecord) -> RecordNode | None:
        """What it selects; None if the record does not have it."""
        first, *rest = self.path
        if first in _METADATA:
            return RecordNode()
        if first == _HEADER:
            return record.headers.get(".".join(rest), RecordNode())
        if first in (_KEY, _VALUE):
            part = record.key if first == _KEY else record.value
            return part.at(*rest) if part is not None else None
        return record.value.at(*self.path) if record.value is not None else None

    def needed(self, record: ConnectRecord) -> RecordNode:
        return self.node(record) or RecordNode(unknown=f"the record has no field {'.'.join(self.path)}")

    def column(self, record: ConnectRecord, path: str = "") -> WrittenColumn:
        return column(path or self.name, self.needed(record))


def _statements(table: SinkDataset, *keys: str) -> list[KcqlStatement]:
    """The topic's statements that write a dataset: those whose target it is named for, if it is for one."""
    found = for_topic(table.config.get(*keys), table.topic)
    own = [item for item in found if table.dataset.endswith(item.target.replace(":", "/"))]
    longest = max((len(item.target) for item in own), default=0)
    return [item for item in own if len(item.target) == longest] or found


def _selected(statement: KcqlStatement, record: ConnectRecord) -> Iterator[tuple[str, RecordNode | None]]:
    """The fields that a statement selects, by their names."""
    for item in map(SelectedField.of, statement.fields):
        if item.path[-1] != "*":
            is_nested = statement.nested and not item.alias
            yield ".".join(item.path) if is_nested else item.name, item.node(record)
            continue
        whole = SelectedField(item.path[:-1] or (_VALUE,)).node(record)
        if whole is None:
            continue
        for ignored in map(SelectedField.of, statement.ignored):
            if whole.at(*ignored.path) is not None:
                whole = whole.with_field(ignored.path, None)
        yield from whole.known.items()
        if whole.open or not whole.is_struct:
            yield "*", whole


def _columns(
    statement: KcqlStatement,
    record: ConnectRecord,
    shape: Callable[[RecordNode | None, str], Iterator[WrittenColumn]],
) -> Iterator[WrittenColumn]:
    for name, node in _selected(statement, record):
        if node is None:
            yield WrittenColumn(name, unknown=f"the record has no field that is selected as {name}")
        elif name == "*":
            yield from (
                tree(node)
                if not node.known
                else unknown(node.unknown or "the record has fields that no schema names")
            )
        else:
            yield from shape(node, name)


def _flat(node: RecordNode | None, name: str) -> Iterator[WrittenColumn]:
    yield column(name, node)


def _reader(
    *keys: str,
) -> Callable[[Callable[[SinkDataset, KcqlStatement], Iterator[WrittenColumn]]], ColumnReader]:
    """A reader of the columns of each of a topic's statements."""

    def declare(read: Callable[[SinkDataset, KcqlStatement], Iterator[WrittenColumn]]) -> ColumnReader:
        def reader(table: SinkDataset) -> Iterator[WrittenColumn]:
            statements = _statements(table, *keys)
            if not statements:
                yield from unknown(f"{keys[0]} has no statement for {table.topic}")
            for statement in statements:
                yield from read(table, statement)

        return reader

    return declare


@writes("cassandra-lenses")
@_reader("connect.cassandra.kcql")
def cassandra(table: SinkDataset, statement: KcqlStatement) -> Iterator[WrittenColumn]:
    """A column for each selected field."""
    return _columns(statement, table.record, _flat)


@writes("elasticsearch-lenses")
@_reader("connect.elastic.kcql")
def elasticsearch(table: SinkDataset, statement: KcqlStatement) -> Iterator[WrittenColumn]:
    """The selected fields; the fields of `PK` are the document's identifier."""
    yield _primary_key(statement, table.record, "_id") if statement.keys else WrittenColumn("_id")
    yield from _columns(statement, table.record, tree)


@writes("mongodb-lenses")
@_reader("connect.mongo.kcql")
def mongodb(table: SinkDataset, statement: KcqlStatement) -> Iterator[WrittenColumn]:
    """The selected fields; one field of `PK` is `_id`, several are fields of it."""
    keys = [SelectedField.of(item) for item in statement.keys]
    if len(keys) > 1:
        yield from (item.column(table.record, f"_id.{item.name}") for item in keys)
    else:
        yield keys[0].column(table.record, "_id") if keys else WrittenColumn("_id")
    yield from (item for item in _columns(statement, table.record, tree) if item.path != "_id")


@writes("cosmosdb-lenses")
@_reader("connect.cosmosdb.kcql", "connect.documentdb.kcql")
def cosmosdb(table: SinkDataset, statement: KcqlStatement) -> Iterator[WrittenColumn]:
    """The selected fields, and the `id` by `key.source`."""
    config, record = table.config, table.record
    source = config.get("connect.cosmosdb.key.source", "connect.documentdb.key.source", default="key").lower()
    path = config.get("connect.cosmosdb.key.path", "connect.documentdb.key.path", default="id").strip("$.")
    if source == "metadata":
        identifier = WrittenColumn("id")
    elif source in ("keypath", "valuepath"):
        part = record.key if source == "keypath" else record.value
        node = part.at(*path.split(".")) if part is not None else None
        identifier = column("id", node, f"the record has no {path}")
    else:
        identifier = column("id", record.key, "the record's key is null")
    yield identifier
    yield from (item for item in _columns(statement, record, tree) if item.path != "id")


def _primary_key(statement: KcqlStatement, record: ConnectRecord, path: str) -> WrittenColumn:
    return joined(path, (SelectedField.of(key).needed(record) for key in statement.keys))


@_reader("connect.redis.kcql")
def redis(table: SinkDataset, statement: KcqlStatement) -> Iterator[WrittenColumn]:
    """A JSON text of the selected fields as a value, or as a member of a set; or the entries of a stream."""
    record = table.record
    kind = statement.store.upper()
    nodes = [node for _, node in _selected(statement, record) if node is not None]
    if kind == "STREAM":
        yield from _columns(statement, record, _flat)
    elif kind in ("SORTEDSET", "GEOADD"):
        if statement.keys:
            yield _primary_key(statement, record, "_key")
        yield joined("member", nodes)
        if kind == "SORTEDSET":
            score = statement.store_settings.get("score", "timestamp")
            yield SelectedField.of(score).column(record, "score")
    elif kind == "PUBSUB":
        yield joined("_value", nodes)
    elif kind:
        yield from unknown(f"STOREAS {statement.store} is not known")
    else:
        yield _primary_key(statement, record, "_key") if statement.keys else column("_key", record.key)
        yield joined("_value", nodes)


@writes("influxdb-lenses")
@_reader("connect.influx.kcql")
def influxdb(table: SinkDataset, statement: KcqlStatement) -> Iterator[WrittenColumn]:
    """The fields and tags of a measurement, and its time by `WITHTIMESTAMP`."""
    measurement, record = statement.target, table.record
    found = [*_columns(statement, record, _flat)]
    for tag in statement.tags:
        name, is_constant, _ = tag.partition("=")
        if is_constant:
            found.append(WrittenColumn(name.strip()))
        else:
            found.append(SelectedField.of(tag).column(record))
    if statement.timestamp and not statement.timestamp.lower().startswith("sys_time"):
        found.append(SelectedField.of(statement.timestamp).column(record, "time"))
    for item in {item.path: item for item in found}.values():
        yield WrittenColumn(f"{measurement}.{item.path}", item.sources, item.unknown)


def _objects(*keys: str) -> ColumnReader:
    """The value, or with `store.envelope` the parts of the whole record."""

    @_reader(*keys)
    def read(table: SinkDataset, statement: KcqlStatement) -> Iterator[WrittenColumn]:
        record, settings = table.record, statement.properties
        if settings.get("store.envelope", "").lower() != "true":
            yield from tree(record.value)
            return
        chosen = {
            part
            for part in ("key", "value", "headers", "metadata")
            if settings.get(f"store.envelope.fields.{part}", "true").lower() != "false"
        }
        if "key" in chosen:
            yield from tree(record.key, "key")
        if "value" in chosen:
            yield from tree(record.value, "value")
        if "headers" in chosen:
            yield from (column(f"headers.{name}", node) for name, node in record.headers.items())
        if "metadata" in chosen:
            yield from generated(
                *(f"metadata.{part}" for part in ("timestamp", "topic", "partition", "offset"))
            )

    return read


writes("lenses-s3")(_objects("connect.s3.kcql"))
writes("lenses-gcs")(_objects("connect.gcpstorage.kcql"))
writes("lenses-data-lake")(_objects("connect.datalake.kcql"))
