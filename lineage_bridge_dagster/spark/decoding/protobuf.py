"""Protobuf records, read in Python by batches of Arrow, since Spark itself does not read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from lineage_bridge_dagster.schemas.protobuf import message_reader
from lineage_bridge_dagster.schemas.protobuf_files import compiled
from lineage_bridge_dagster.spark.decoding.framing import framed
from lineage_bridge_dagster.spark.decoding.subject_decoder import SubjectDecoder
from lineage_bridge_dagster.spark.python_workers import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class ProtobufDecoder(SubjectDecoder):
    """Decodes the records of a subject whose latest version is a Protobuf schema."""

    def decode(self, records: DataFrame, side: Literal["key", "value"]) -> DataFrame:
        """Add `_{side}` and `_{side}_error`; see `Decoder`."""
        from pyspark.sql import types as t
        from pyspark.sql.pandas.types import to_arrow_type

        frame = framed(records, side, self._subject)
        added = (f"_{side}_id", f"_{side}_body", f"_{side}_error")
        kept = [field for field in frame.schema.fields if field.name not in added]
        schema = t.StructType(
            [*kept, t.StructField(f"_{side}", self.type), t.StructField(f"_{side}_error", t.StringType())]
        )
        files = {
            schema.id: compiled(schema)
            for schema in self._subject.versions
            if schema.id in self._value.versions
        }
        latest = self._subject.latest
        later = compiled(latest) if latest and self._value.promoted else b""
        reader = _BatchReader(
            side,
            files,
            self._subject.message,
            dict.fromkeys(self._value.promoted, later),
            dict(self._value.errors),
            latest is not None and latest.first_format,
            to_arrow_type(self.type),
        )
        return map_in_arrow(frame, reader, schema)


@dataclass(frozen=True)
class _BatchReader:
    """Replaces the id, the body and the error of each row by its value and its error, in a worker."""

    side: str
    files: Mapping[int, bytes]
    message: str
    later: Mapping[int, bytes]
    errors: Mapping[int, str]
    first_format: bool
    type: pa.DataType

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield self._read(batch)

    def _read(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        names = [f"_{self.side}_{part}" for part in ("id", "body", "error")]
        ids, bodies, errors = (batch.column(name).to_pylist() for name in names)
        values: list[Any] = [None] * len(ids)
        for row, schema_id in enumerate(ids):
            if schema_id is None:
                continue
            files = self.files.get(schema_id)
            if files is None:
                errors[row] = (
                    f"its schema id {schema_id} does not agree with the latest version: "
                    f"{self.errors.get(schema_id)}"
                )
                continue
            try:
                later = self.later.get(schema_id, b"")
                reader = message_reader(files, self.message, later, first_format=self.first_format)
                values[row] = reader.read(bodies[row])
            except ValueError as error:
                errors[row] = f"{error} (schema id {schema_id})"
        kept = [(name, batch.column(name)) for name in batch.schema.names if name not in names]
        arrays = [column for _, column in kept]
        arrays += [pa.array(values, self.type), pa.array(errors, pa.string())]
        return pa.RecordBatch.from_arrays(
            arrays, names=[*(name for name, _ in kept), f"_{self.side}", f"_{self.side}_error"]
        )
