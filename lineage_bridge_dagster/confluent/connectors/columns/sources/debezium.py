"""Change events of Debezium's connectors, and of those that Confluent derives from them.

Sources: Debezium's pages on each connector ("Change events", `message.key.columns`, `column.exclude.list`),
and Confluent's pages on its managed CDC connectors (`after.state.only`).
"""

from __future__ import annotations

import re
from dataclasses import replace

from lineage_bridge_dagster.confluent.connectors.columns.records import (
    MADE_UP,
    ConnectRecord,
    RecordNode,
    leaf,
    struct,
)
from lineage_bridge_dagster.confluent.connectors.columns.sources.topic import (
    METADATA,
    SourceTopic,
    matches,
    reads,
)

#: Fields of an event beside the row.
_EVENT = ("op", "ts_ms", "ts_us", "ts_ns")
#: Legacy managed connectors, which write the row alone unless told.
_ROW_BY_DEFAULT = ("PostgresCdcSource", "MySqlCdcSource", "SqlServerCdcSource")
#: Connectors whose events have a struct of a value and its state for each column.
_CELLS = ("debezium-cassandra", "yugabytedb", "scylladb")


@reads(
    """debezium-postgres debezium-mysql debezium-sqlserver debezium-oracle debezium-db2 debezium-ibmi
    debezium-informix debezium-vitess debezium-spanner debezium-cockroachdb debezium-cassandra
    oracle-xstream yugabytedb scylladb"""
)
def change_event(topic: SourceTopic) -> ConnectRecord:
    """The row before and after a change, with metadata; the row alone with `after.state.only`."""
    config = topic.config
    row = topic.row(lambda dataset, column: _is_captured(topic, dataset, column))
    if topic.family in _CELLS and not config.get("cdc.output.format").startswith("advanced-flat"):
        row = _cells(row)
    if config.flag("after.state.only", config.get("connector.class") in _ROW_BY_DEFAULT):
        value = replace(row, fields={**row.known, "__deleted": MADE_UP})
    else:
        value = envelope(row)
    return ConnectRecord(_key(topic), value)


def envelope(row: RecordNode) -> RecordNode:
    """A change event around a row."""
    parts = {"before": row, "after": row, "source": METADATA, "transaction": METADATA}
    return struct({**parts, **dict.fromkeys(_EVENT, MADE_UP)})


@reads("debezium-mongodb")
def mongodb_event(topic: SourceTopic) -> ConnectRecord:
    """The document as JSON in `before` and `after`; the key is its id.

    It is kept as a tree, which `ExtractNewDocumentState` makes a struct of.
    """
    document = topic.row(lambda _, column: not matches(_field_filter(topic), column))
    for field, name in topic.config.pairs("field.renames").items():
        path = field.split(".")[2:]
        if path and (node := document.at(*path)) is not None:
            document = document.with_field(path, None).with_field([*path[:-1], name], node)
    ids = [f"{dataset}._id" for dataset in topic.datasets]
    update = struct({"removedFields": MADE_UP, "updatedFields": document, "truncatedArrays": MADE_UP})
    event = envelope(document)
    value = replace(event, fields={**event.known, "updateDescription": update, "patch": document})
    return ConnectRecord(struct({"id": leaf(*ids)}), value)


def _field_filter(topic: SourceTopic) -> str:
    """The fields that are excluded, without the collections that they belong to."""
    listed = topic.config.items("field.exclude.list")
    return ",".join(re.escape(item.split(".", 2)[2]) for item in listed if item.count(".") > 1)


def _is_captured(topic: SourceTopic, dataset: str, column: str) -> bool:
    """Whether the lists of columns let one through; they hold expressions on `schema.table.column`."""
    excluded = topic.config.get("column.exclude.list", "column.blacklist")
    included = topic.config.get("column.include.list", "column.whitelist")
    names = [f"{table}.{column}" for table in _table_names(dataset)]
    if excluded and any(matches(excluded, name) for name in names):
        return False
    return not included or any(matches(included, name) for name in names)


def _table_names(dataset: str) -> list[str]:
    """A dataset's name as filters may spell it: `db.schema.table`, `schema.table`, `table`."""
    parts = dataset.rpartition("/")[2].split(".")
    return [".".join(parts[start:]) for start in range(len(parts))]


def _key(topic: SourceTopic) -> RecordNode:
    """The columns that `message.key.columns` lists for the table, else those of its primary key, which no
    configuration tells."""
    names: dict[str, RecordNode] = {}
    for item in topic.config.get("message.key.columns").split(";"):
        pattern, separator, columns = item.strip().rpartition(":")
        for dataset in topic.datasets:
            if separator and any(matches(pattern, name) for name in _table_names(dataset)):
                for column in filter(None, map(str.strip, columns.split(","))):
                    known = names.get(column, leaf())
                    names[column] = leaf(*known.sources, f"{dataset}.{column}")
    return struct(names) if names else topic.any_field()


def _cells(row: RecordNode) -> RecordNode:
    """The row with a struct for each column: its value, and whether it was set or deleted."""
    cells = {
        name: struct({"value": node, "set": MADE_UP, "deletion_ts": MADE_UP})
        for name, node in row.known.items()
    }
    return replace(row, fields=cells) if cells else row
