"""Tables of warehouses, and of Apache Iceberg.

Sources: the connectors' own documentation; for Iceberg `RecordConverter` and `SinkWriter` of the Kafka
Connect sink in apache/iceberg, and the one of databricks/iceberg-kafka-connect (Tabular's) with the same
keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors.columns.records import RecordNode
from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    ANY,
    NO_COLUMN,
    SinkDataset,
    WrittenColumn,
    column,
    generated,
    joined,
    row,
    tree,
    unnamed,
    writes,
)
from lineage_bridge_dagster.confluent.connectors.families.warehouses import STREAMING, identifier, sanitized

_BIGQUERY_DATA = ("topic", "partition", "offset", "insertTime")


@writes("snowflake")
def snowflake(table: SinkDataset) -> Iterator[WrittenColumn]:
    """`RECORD_CONTENT`, or with schematization a column for each field; and `RECORD_METADATA`.

    The metadata hold the record's key and headers.
    """
    config, record = table.config, table.record
    latest = config.get("connector.class") == STREAMING
    streams = latest or config.get("snowflake.ingestion.method").upper() == "SNOWPIPE_STREAMING"
    if streams and config.flag("snowflake.enable.schematization", latest):
        normalizes = config.flag("snowflake.compatibility.enable.column.identifier.normalization", not latest)
        name = identifier if normalizes else str
        nested = config.flag("snowflake.streaming.iceberg.enabled")
        if nested and record.value is not None:
            for field, node in record.value.known.items():
                yield from tree(node, name(field))
            yield from unnamed(record.value)
        else:
            yield from row(record.value, name)
    elif record.value is not None:
        yield column("RECORD_CONTENT", record.value)
    if config.flag("snowflake.metadata.all", True):
        parts = [node for node in (record.key, *record.headers.values()) if node is not None]
        yield joined("RECORD_METADATA", parts)


@writes("bigquery bigquery-table")
def bigquery(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The value's fields, and the records that the connector adds for the key and for its coordinates."""
    config, record = table.config, table.record
    cleans = config.flag("sanitizeFieldNames") or config.flag("sanitize.field.names")
    name = sanitized if cleans else str
    updates = config.get("auto.update.schemas").upper() in ("TRUE", "ADD NEW FIELDS")
    for item in tree(record.value, name=name):
        yield _spelled(table, item, adds=updates or config.flag("allowNewBigQueryFields"))
    if data := config.get("kafkaDataFieldName"):
        yield from generated(*(f"{name(data)}.{part}" for part in _BIGQUERY_DATA))
    if key := config.get("kafkaKeyFieldName"):
        if record.key is not None and not record.key.is_struct:
            yield from unnamed(record.key, f"{name(key)}.{ANY}")
        else:
            yield from tree(record.key, name(key), name)


def _spelled(table: SinkDataset, item: WrittenColumn, *, adds: bool = True) -> WrittenColumn:
    """A column as the table spells it: the store compares names without case.

    Args:
        table: Where it is written.
        item: The column by the name of its field.
        adds: Whether the connector adds columns that the table lacks.
    """
    path = table.existing_path(item.path, any_case=True)
    if table.columns and not path and not adds:
        return WrittenColumn(item.path, unknown=item.unknown or NO_COLUMN)
    return WrittenColumn(path or item.path, item.sources, item.unknown)


@writes("databricks")
def databricks(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The value's fields, and the partition of the topic."""
    yield from (_spelled(table, item) for item in tree(table.record.value))
    yield from generated("partition")


@writes("clickhouse")
def clickhouse(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The value's fields that the table has; its own columns decide how deep a structure is taken apart.

    With `debeziumCDCEnabled`, the fields of the row that changed, and the marks of its version and deletion.
    """
    config, value = table.config, table.record.value
    if config.flag("debeziumCDCEnabled") and value is not None and {"op", "after"} <= value.known.keys():
        yield from _merged_rows(value)
        yield column("_version", value.at("source", "lsn") or value.at("source", "pos"))
        yield column("is_deleted", value.at("op"))
        return
    if value is None:
        return
    evolves = config.flag("auto.evolve")
    for name, node in value.known.items():
        if not table.columns:
            yield from tree(node, name)
        elif table.existing(name) or evolves:
            yield column(name, node)
        else:
            # Columns of a nested type are named for their parent.
            yield from (item for item in tree(node, name) if table.existing(item.path))
    yield from unnamed(value)


@writes("clickhouse-altinity")
def clickhouse_altinity(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The fields of the row that changed."""
    value = table.record.value
    return iter(()) if value is None else _merged_rows(value)


def _merged_rows(value: RecordNode) -> Iterator[WrittenColumn]:
    """The fields of `after`, which are those of `before` for a deletion."""
    after, before = value.at("after"), value.at("before")
    if after is None:
        return
    for name, node in after.known.items():
        old = before.at(name) if before is not None else None
        yield joined(name, [node, *([old] if old is not None else [])])
    yield from unnamed(after)


@writes("singlestore")
def singlestore(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The value's fields on the whitelist, or those that the configuration maps to columns."""
    config, value = table.config, table.record.value
    prefix = f"singlestore.columnToField.{table.dataset.rpartition('.')[2]}."
    mapped = {
        match[1]: config.get(match[0])
        for match in config.keys_like(re.compile(re.escape(prefix) + "(.+)", re.DOTALL))
    }
    if mapped and value is not None:
        for name, path in mapped.items():
            yield column(name, value.at(*path.split(".")), f"the record has no field {path}")
        return
    allowed = {*config.items("fields.whitelist")}
    yield from (item for item in row(value) if not allowed or item.path in allowed or item.unknown)


@writes("doris starrocks hudi")
def rows(table: SinkDataset) -> Iterator[WrittenColumn]:
    """A column for each field."""
    yield from (_spelled(table, item) for item in row(table.record.value))


@writes("iceberg")
def iceberg(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The value's fields; without evolution of the schema, those that the table has."""
    config = table.config
    evolves = config.flag("iceberg.tables.evolve-schema-enabled")
    any_case = config.flag("iceberg.tables.schema-case-insensitive")
    for item in tree(table.record.value):
        path = item.path
        if table.columns and not item.unknown:
            path = table.existing_path(path, any_case=any_case)
            if not path and not evolves:
                # The connector skips the field.
                continue
        yield WrittenColumn(path or item.path, item.sources, item.unknown)
