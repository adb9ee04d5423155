"""Tables of Apache Iceberg.

Source: `RecordConverter` and `SinkWriter` of the Kafka Connect sink in apache/iceberg, and the one of
databricks/iceberg-kafka-connect (Tabular's) with the same keys.
"""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    SinkDataset,
    WrittenColumn,
    tree,
    writes,
)


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
