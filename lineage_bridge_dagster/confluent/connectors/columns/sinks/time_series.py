"""Points of InfluxDB and rows of QuestDB.

Sources: "InfluxDB 2 Sink Connector for Confluent Cloud", record structure; `QuestDBSinkConnectorConfig` and
`QuestDBSinkTask` of questdb/kafka-questdb-connector.
"""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors.columns.records import RecordNode
from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    NO_SCHEMA,
    SinkDataset,
    WrittenColumn,
    column,
    unknown,
    unnamed,
    writes,
)


@writes("influxdb")
def influxdb(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The tags and fields of a measurement, which the dataset of a whole database holds by its name.

    The measurement is named by `measurement.name.format`, else by the record's field `measurement`.
    """
    config, value = table.config, table.record.value
    if value is None:
        return
    if not value.known:
        yield from unnamed(value)
        return
    measurement = config.get("measurement.name.format").replace("${topic}", table.topic)
    version_1 = "influxdb.org.id" not in config and "influxdb.token" not in config
    if not measurement and version_1 and "measurement" not in value.known:
        measurement = table.topic
    if not measurement:
        yield from unknown("the record's field measurement names what it is written to")
        return
    time = config.get("event.time.fieldname")
    # A tag's name, in a map, is data.
    tags = value.known.get("tags")
    for name, node in tags.known.items() if tags is not None else ():
        yield column(f"{measurement}.{name}", node)
    if tags is not None and (tags.open or not tags.is_struct):
        yield WrittenColumn(f"{measurement}.*", unknown="the names of the tags are keys of the map tags")
    if time and time in value.known:
        yield column(f"{measurement}.time", value.known[time])
    for name, node in value.known.items():
        if name not in ("measurement", "tags", time):
            yield column(f"{measurement}.{name}", node)


@writes("questdb")
def questdb(table: SinkDataset) -> Iterator[WrittenColumn]:
    """Columns of flattened names, of the value and of the key, and the row's time."""
    config, record = table.config, table.record
    time = config.get("timestamp.field.name")
    for part, key, default, included in (
        (record.key, "key.prefix", "key", config.flag("include.key", True)),
        (record.value, "value.prefix", "", True),
    ):
        if part is None or not included:
            continue
        prefix = config.get(key, default=default)
        for path, node in _flat(part):
            if path != (time,):
                yield column("_".join((*((prefix,) if prefix else ()), *path)) or "value", node)
    found = record.value.at(time) if time and record.value is not None else None
    yield WrittenColumn("timestamp") if not time else column("timestamp", found, f"the record has no {time}")


def _flat(node: RecordNode) -> Iterator[tuple[tuple[str, ...], RecordNode]]:
    if node.open:
        yield ("*",), RecordNode(unknown=NO_SCHEMA)
    else:
        yield from node.leaves()
