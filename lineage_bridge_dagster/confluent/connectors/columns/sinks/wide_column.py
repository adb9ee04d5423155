"""Tables and cells of wide-column stores: Cassandra, ScyllaDB, Google Cloud Bigtable, HBase, MapR Database.

Sources: `Mapping.g4` and the sample configuration of datastax/kafka-sink; `ScyllaDbSchemaBuilder` and
`TopicConfigs` of scylladb/kafka-connect-scylladb; "Cassandra Sink Connector" of Confluent; "Google Cloud
BigTable Sink Connector", column mapping and row key construction; `KeyMapper` and `ValueMapper` of
GoogleCloudPlatform/cloud-bigtable-ecosystem.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lineage_bridge_dagster.confluent.connectors.columns.records import ConnectRecord, RecordNode
from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    SinkDataset,
    WrittenColumn,
    column,
    joined,
    row,
    unknown,
    unnamed,
    writes,
)
from lineage_bridge_dagster.confluent.connectors.config import Config

#: `column = field`, both perhaps in quotes, in which a quote is doubled.
_NAME = r'"(?:[^"]|"")+"|[A-Za-z0-9_]+'
_ENTRY = re.compile(rf'\s*({_NAME})\s*=\s*("(?:[^"]|"")+"|[A-Za-z0-9_.]+\s*(?:\([^)]*\))?)\s*(?:,|$)')
_QUERY = re.compile(r"insert\s+into\s+[^(]+\(([^)]*)\)\s*values\s*\(([^)]*)\)", re.IGNORECASE | re.DOTALL)
#: What the mapping sets of a write, in place of a column.
_OF_WRITE = ("__ttl", "__timestamp")


@writes("cassandra-datastax")
def datastax(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The columns of the table's mapping; with a query of one's own, those that its variables go to."""
    keyspace, _, name = table.dataset.rpartition("/")[2].partition(".")
    settings = f"topic.{table.topic}.{keyspace}.{name}."
    mapping = table.config.get(settings + "mapping")
    entries = _entries(mapping)
    if entries is None:
        yield from unknown(f"{settings}mapping cannot be read")
        return
    found = {path: _mapped(path, field, table.record) for path, field in entries.items()}
    query = table.config.get(settings + "query")
    if not query:
        yield from (item for path, item in found.items() if path not in _OF_WRITE)
        return
    match = _QUERY.search(query)
    if match is None:
        yield from unknown(f"{settings}query is not an INSERT with a list of columns")
        return
    for path, value in zip(match[1].split(","), match[2].split(","), strict=False):
        variable, path = value.strip().lstrip(":").strip('"'), path.strip().strip('"')
        if not value.strip().startswith(":"):
            yield WrittenColumn(path)
        elif item := found.get(variable):
            yield WrittenColumn(path, item.sources, item.unknown)
        else:
            yield WrittenColumn(path, unknown=f"{settings}mapping does not bind {variable}")


def _entries(mapping: str) -> dict[str, str] | None:
    """The fields by column; None if the text is not a mapping."""
    found: dict[str, str] = {}
    position = 0
    while position < len(mapping):
        match = _ENTRY.match(mapping, position)
        if match is None:
            return None
        found[_unquoted(match[1])] = _unquoted(match[2].strip())
        position = match.end()
    return found


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _mapped(path: str, field: str, record: ConnectRecord) -> WrittenColumn:
    """A column of `key`, `value` or `header` and a path below it, or of a function."""
    if field.endswith(")"):
        return WrittenColumn(path)
    side, _, rest = field.partition(".")
    below = rest.split(".") if rest else []
    if side == "header":
        # A header that no transform writes comes from outside.
        return column(path, record.headers[rest]) if rest in record.headers else WrittenColumn(path)
    part = {"key": record.key, "value": record.value}.get(side)
    return column(path, part.at(*below) if part is not None else None, f"the record has no {field}")


@writes("cassandra scylladb")
def by_value(table: SinkDataset) -> Iterable[WrittenColumn]:
    """The fields of the value, which include those of the key: the key only tells the primary key.

    A mapping of ScyllaDB's sink, `topic.{topic}.{keyspace}.{table}.mapping`, is as that of DataStax's.
    """
    keyspace, _, name = table.dataset.rpartition("/")[2].partition(".")
    mapped = table.config.get(f"topic.{table.topic}.{keyspace}.{name}.mapping")
    return datastax(table) if mapped else row(table.record.value)


_KEY = "_key"
_GOOGLE = "com.google."


@writes("bigtable hbase mapr")
def cells(table: SinkDataset) -> Iterator[WrittenColumn]:
    """A family for each structure of the value, with a column for each of its fields; and the row's key.

    Fields that are not structures go to the default family, if the connector has one.
    """
    config, value = table.config, table.record.value
    yield _row_key(config, table.record.key)
    if value is None:
        return
    google = config.get("connector.class").startswith(_GOOGLE)
    family, qualifier = _default(table, google)
    if not value.is_struct:
        if family and qualifier:
            yield column(f"{family}.{qualifier}", value)
        return
    yield from unnamed(value)
    for name, node in value.known.items():
        if node.known and not node.array:
            for inner, child in node.known.items():
                yield column(f"{name}.{inner}", child)
        elif family:
            yield column(f"{family}.{name}", node)
        elif not google:
            yield WrittenColumn(name, unknown="a field that is not a structure names no column family")


def _default(table: SinkDataset, google: bool) -> tuple[str, str]:
    """The family and the column of what is not a structure."""
    config = table.config
    if not google:
        return config.get("default.column.family"), config.get("default.column.qualifier")
    family = config.given("default.column.family", "${topic}").replace("${topic}", table.topic)
    return family, config.given("default.column.qualifier", "KAFKA_VALUE")


def _row_key(config: Config, key: RecordNode | None) -> WrittenColumn:
    """The listed fields of the record's key, or all of it."""
    names = config.items("bigtable.row.key.definition", "row.key.definition", "hbase.row.key.definition")
    if not names or key is None:
        return column(_KEY, key, "the record's key is null")
    absent = "the record's key has no field "
    return joined(_KEY, (key.at(*name.split(".")) or RecordNode(unknown=absent + name) for name in names))
