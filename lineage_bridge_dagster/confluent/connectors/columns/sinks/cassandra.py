"""Tables of Apache Cassandra and ScyllaDB, by the connectors of DataStax, Confluent and ScyllaDB.

Sources: `Mapping.g4` and the sample configuration of datastax/kafka-sink; `ScyllaDbSchemaBuilder` and
`TopicConfigs` of scylladb/kafka-connect-scylladb; "Cassandra Sink Connector" of Confluent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lineage_bridge_dagster.confluent.connectors.columns.records import ConnectRecord
from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    SinkDataset,
    WrittenColumn,
    column,
    row,
    unknown,
    writes,
)

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


@writes("cassandra", "scylladb")
def by_value(table: SinkDataset) -> Iterable[WrittenColumn]:
    """The fields of the value, which include those of the key: the key only tells the primary key.

    A mapping of ScyllaDB's sink, `topic.{topic}.{keyspace}.{table}.mapping`, is as that of DataStax's.
    """
    keyspace, _, name = table.dataset.rpartition("/")[2].partition(".")
    mapped = table.config.get(f"topic.{table.topic}.{keyspace}.{name}.mapping")
    return datastax(table) if mapped else row(table.record.value)
