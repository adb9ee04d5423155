"""Rows written as data files, each of one partition.

PyIceberg itself splits rows by transforms such as `day` only with a further library, `pyiceberg-core`.
"""

from __future__ import annotations

import itertools
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io.pyarrow import bin_pack_arrow_table, write_file
from pyiceberg.partitioning import PartitionFieldValue, PartitionKey, partition_record_value
from pyiceberg.schema import Schema
from pyiceberg.table import TableProperties, WriteTask
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import DataFile
    from pyiceberg.table.metadata import TableMetadata


def write_files(metadata: TableMetadata, io: FileIO, rows: pa.Table) -> list[DataFile]:
    """Write rows, which have the table's columns and types, as files of the table; none without rows."""
    if not rows.num_rows:
        return []
    size = int(
        metadata.properties.get(
            TableProperties.WRITE_TARGET_FILE_SIZE_BYTES, TableProperties.WRITE_TARGET_FILE_SIZE_BYTES_DEFAULT
        )
    )
    write_uuid, numbers = uuid.uuid4(), itertools.count()
    tasks = (
        WriteTask(
            write_uuid=write_uuid,
            task_id=next(numbers),
            schema=metadata.schema(),
            record_batches=batches,
            partition_key=key,
        )
        for key, part in _partitions(metadata, rows)
        for batches in bin_pack_arrow_table(part, size)
    )
    return list(write_file(io, metadata, tasks))


def _partitions(metadata: TableMetadata, rows: pa.Table) -> Iterator[tuple[PartitionKey | None, pa.Table]]:
    spec, schema = metadata.spec(), metadata.schema()
    if spec.is_unpartitioned():
        yield None, rows
        return
    columns = []
    for field in spec.fields:
        transform = field.transform.transform(schema.find_type(field.source_id))
        column = _column(rows, schema, field.source_id)
        if pa.types.is_time64(column.type) and not isinstance(field.transform, IdentityTransform):
            column = column.cast(pa.int64())
        columns.append(_transformed(column, transform))
    indices: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for number, values in enumerate(zip(*columns, strict=True)):
        indices[values].append(number)
    for values, numbers in indices.items():
        named = [PartitionFieldValue(f, value) for f, value in zip(spec.fields, values, strict=True)]
        yield _Key(named, spec, schema), rows.take(numbers).combine_chunks()


class _Key(PartitionKey):
    """A partition of a table that may have several fields of one column, which PyIceberg's own refuses."""

    @cached_property
    def partition(self) -> Record:
        return Record(*(partition_record_value(v.field, v.value, self.schema) for v in self.field_values))


def _column(rows: pa.Table, schema: Schema, field_id: int) -> pa.ChunkedArray:
    """A column, or a field within one, as the numbers that Iceberg's transforms take in place of times."""
    name = schema.find_column_name(field_id) or ""
    if name in rows.column_names:
        found = rows.column(name)
    else:
        first, *rest = name.split(".")
        found = pc.struct_field(rows.column(first), rest)
    if pa.types.is_timestamp(found.type):
        return found.cast(pa.int64())
    return found.cast(pa.int32()) if pa.types.is_date32(found.type) else found


def _transformed(column: pa.ChunkedArray, transform: Callable[[Any], Any]) -> list[Any]:
    """The transform of each value, computed once for equal ones."""
    is_uuid = isinstance(column.type, pa.UuidType)
    plain = column.cast(column.type.storage_type) if is_uuid else column
    encoded = plain.combine_chunks().dictionary_encode()
    found = encoded.dictionary.to_pylist()
    values = [transform(UUID(bytes=value) if is_uuid else value) for value in found]
    nothing = transform(None)
    return [nothing if at is None else values[at] for at in encoded.indices.to_pylist()]
