"""Cells of wide-column stores: Google Cloud Bigtable, HBase and MapR Database.

Sources: "Google Cloud BigTable Sink Connector", column mapping and row key construction; `KeyMapper` and
`ValueMapper` of GoogleCloudPlatform/cloud-bigtable-ecosystem.
"""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors.columns.records import RecordNode
from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    SinkDataset,
    WrittenColumn,
    column,
    joined,
    unnamed,
    writes,
)
from lineage_bridge_dagster.confluent.connectors.config import Config

_KEY = "_key"
_GOOGLE = "com.google."


@writes("bigtable", "hbase", "mapr")
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
    found: list[RecordNode] = []
    for name in names:
        node = key.at(*name.split("."))
        if node is None:
            return WrittenColumn(_KEY, unknown=f"the record's key has no field {name}")
        found.append(node)
    return joined(_KEY, found)
