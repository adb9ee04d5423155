"""Files and objects: in object stores, in HDFS, on SFTP and FTP servers.

Sources: the formats of confluentinc/kafka-connect-storage-cloud; `SinkSchemaBuilder` and `OutputFieldType` of
Aiven-Open/cloud-storage-connectors-for-apache-kafka.
"""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors.columns.records import RecordNode
from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    SinkDataset,
    WrittenColumn,
    column,
    generated,
    joined,
    tree,
    unknown,
    writes,
)

_OPAQUE = "the files hold the record's bytes as they are"


@writes("s3 gcs azure-blob azure-data-lake azure-data-lake-1 hdfs dataproc sftp ftps")
def files(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The value's fields, as Avro, Parquet and JSON have them; a partitioner takes none away."""
    config = table.config
    given = config.get("output.data.format", "input.data.format").upper()
    if given == "BYTES" or config.get("format.class").endswith("ByteArrayFormat"):
        yield from unknown(_OPAQUE)
        return
    yield from tree(table.record.value)


@writes("aiven-s3 aiven-gcs aiven-azure-blob")
def aiven(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The parts of the record that `format.output.fields` lists, each under its name.

    Without an envelope, a file has the fields of the only part.
    """
    config, record = table.config, table.record
    kind = config.get("format.output.type", default="csv").lower()
    parts = [part.lower() for part in config.items("format.output.fields", "output_fields", default="value")]
    structured = kind in ("json", "jsonl", "parquet", "avro")
    for part in parts:
        if part in ("offset", "timestamp"):
            yield from generated(part)
        elif part == "headers":
            yield joined("headers", record.headers.values())
        else:
            node = record.key if part == "key" else record.value
            bare = structured and len(parts) == 1 and not config.flag("format.output.envelope", True)
            yield from _part(part, node, structured=structured, bare=bare)


def _part(name: str, node: RecordNode | None, *, structured: bool, bare: bool) -> Iterator[WrittenColumn]:
    if node is None:
        return
    if bare and node.is_struct:
        yield from tree(node)
    elif structured and (node.known or not node.is_struct):
        yield from tree(node, name)
    else:
        yield column(name, node)
