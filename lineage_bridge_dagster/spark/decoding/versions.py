"""Records of several versions of a schema, each decoded with its own."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from lineage_bridge_dagster.schemas.columns import ValueType
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.spark.decoding.faults import any_of, faults
from lineage_bridge_dagster.spark.decoding.framing import framed
from lineage_bridge_dagster.spark.decoding.spark_types import conformed
from lineage_bridge_dagster.spark.decoding.subject_decoder import SubjectDecoder

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


class Format(Protocol):
    """How bodies of one format are read."""

    def shape(self, schema: RegisteredSchema) -> Hashable:
        """What versions share that are read into one column, and told apart by `parsed` alone."""

    def prepare(self, spark: SparkSession) -> None:  # noqa: ARG002
        """Give the session what reading needs; nothing by default."""
        return

    def parsed(self, body: Column, number: Column, schemas: Sequence[RegisteredSchema]) -> Column:
        """A first column, which the others are computed from: null or not whole for a malformed body.

        Args:
            body: the bytes after the schema id.
            number: the schema id, which is that of one of the schemas, or the result is null.
            schemas: versions of the same shape.
        """

    def is_whole(self, parsed: Column, schema: RegisteredSchema) -> Column:
        """Whether the body is a value of the schema, and nothing else."""

    def value(self, parsed: Column, schema: RegisteredSchema) -> Column:
        """The value, in the Spark type of the schema's own type."""

    def problem(self, parsed: Column, body: Column, number: Column, schema: RegisteredSchema) -> Column:
        """Why a body is not a value of the schema."""


class VersionedDecoder(SubjectDecoder):
    """Decodes each record with the schema it was written with, into a type that holds all versions."""

    def __init__(self, subject: SubjectSchemas, value: ValueType, format_: Format) -> None:
        super().__init__(subject, value)
        self._format = format_
        #: Versions of the same shape share a column.
        self._shapes: dict[Hashable, list[RegisteredSchema]] = {}
        for schema in subject.versions:
            if schema.id in value.versions:
                self._shapes.setdefault(format_.shape(schema), []).append(schema)

    def decode(self, records: DataFrame, side: Literal["key", "value"]) -> DataFrame:
        """Add `_{side}` and `_{side}_error`; see `Decoder`."""
        from pyspark.sql import functions as F

        self._format.prepare(records.sparkSession)
        frame = framed(records, side, self._subject)
        number, body = F.col(f"_{side}_id"), F.col(f"_{side}_body")
        # A column of its own for each shape: Spark would repeat the decoding for every use of a column within
        # the same projection.
        shapes = self._shapes
        names = {shape: f"_{side}_{n}" for n, shape in enumerate(shapes)}
        # Spark pushes a filter on errors below a column that it is computed from, and decodes for each of the
        # two, but never below one that is not deterministic.
        once = F.monotonically_increasing_id() >= 0
        frame = frame.withColumns(
            {
                names[shape]: F.when(once, self._format.parsed(body, number, schemas))
                for shape, schemas in shapes.items()
            }
        )
        result, error = F.lit(None).cast(self.type), F.col(f"_{side}_error")
        for schema_id, reason in self._value.errors.items():
            refused = f"its schema id {schema_id} does not agree with the latest version: {reason}"
            error = F.when(number == schema_id, F.lit(refused)).otherwise(error)
        for shape, schemas in shapes.items():
            column, ours = F.col(names[shape]), number.isin(*(schema.id for schema in schemas))
            is_whole = F.coalesce(self._format.is_whole(column, schemas[0]), F.lit(False))
            value = self._format.value(column, schemas[0])
            own = self._value.versions[schemas[0].id]
            problem = self._format.problem(column, body, number, schemas[0])
            if schemas[0].id in self._value.promoted:
                wrong = list(faults(value, own, self._value.type))
                problem = F.when(~is_whole, problem)
                problem = F.coalesce(problem, *(F.when(each.found, each.told) for each in wrong))
                is_whole = is_whole & ~any_of(wrong)
            value = conformed(value, own, self._value.type)
            result = F.when(ours & is_whole, value).otherwise(result)
            error = F.when(ours & ~is_whole, problem).otherwise(error)
        frame = frame.withColumns({f"_{side}": result, f"_{side}_error": error})
        return frame.drop(f"_{side}_id", f"_{side}_body", *names.values())
