"""Records of several versions of a schema, each decoded with its own."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from lineage_bridge_dagster.schemas.columns import ValueType
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.spark.decoding.faults import any_of, faults
from lineage_bridge_dagster.spark.decoding.framing import framed
from lineage_bridge_dagster.spark.decoding.spark_types import conformed
from lineage_bridge_dagster.spark.decoding.subject_decoder import SubjectDecoder

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class Quick:
    """A reading that costs less, and leaves doubt about some records.

    Attributes:
        column: what is read.
        value: finds the value in that column.
        certain: makes of both the value of the schema where there is no doubt, else null.
    """

    column: Column
    value: Callable[[Column], Column]
    certain: Callable[[Column, Column], Column]


class Format(Protocol):
    """How bodies of one format are read."""

    def shape(self, schema: RegisteredSchema) -> Hashable:
        """What versions share that are read into one column, and told apart by `parsed` alone."""

    def quick(self, body: Column, number: Column, schemas: Sequence[RegisteredSchema]) -> Quick | None:  # noqa: ARG002
        """A reading before `parsed`, which takes the same arguments; none by default."""
        return None

    def parsed(
        self,
        body: Column,
        number: Column,
        schemas: Sequence[RegisteredSchema],
        quick: Column | None = None,
    ) -> Column:
        """A first column, which the others are computed from: null or not whole for a malformed body.

        Args:
            body: the bytes after the schema id.
            number: the schema id, which is that of one of the schemas, or the result is null.
            schemas: versions of the same shape.
            quick: the column of the quick reading, which left doubt.
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

        frame = framed(records, side, self._subject)
        number, body = F.col(f"_{side}_id"), F.col(f"_{side}_body")
        # A column of its own for each shape: Spark would repeat the decoding for every use of a column within
        # the same projection.
        shapes = self._shapes
        names = {shape: f"_{side}_{n}" for n, shape in enumerate(shapes)}
        # Spark pushes a filter on errors below a column that it is computed from, and decodes for each of the
        # two, but never below one that is not deterministic.
        once = F.monotonically_increasing_id() >= 0
        quick = {
            names[shape]: found
            for shape, schemas in shapes.items()
            if (found := self._format.quick(body, number, schemas)) is not None
        }
        readings = {f"{name}_quick": F.when(once, found.column) for name, found in quick.items()}
        found_in = {
            f"{name}_value": F.when(once, found.value(F.col(f"{name}_quick")))
            for name, found in quick.items()
        }
        values = {
            f"{name}_certain": F.when(once, found.certain(F.col(f"{name}_quick"), F.col(f"{name}_value")))
            for name, found in quick.items()
        }
        frame = frame.withColumns(readings).withColumns(found_in).withColumns(values) if quick else frame
        parsed = {}
        for shape, schemas in shapes.items():
            name = names[shape]
            if name in quick:
                rest = self._format.parsed(body, number, schemas, F.col(f"{name}_quick"))
                parsed[name] = F.when(once & F.col(f"{name}_certain").isNull(), rest)
            else:
                parsed[name] = F.when(once, self._format.parsed(body, number, schemas))
        frame = frame.withColumns(parsed)
        result, error = F.lit(None).cast(self.type), F.col(f"_{side}_error")
        for schema_id, reason in self._value.errors.items():
            refused = f"its schema id {schema_id} does not agree with the latest version: {reason}"
            error = F.when(number == schema_id, F.lit(refused)).otherwise(error)
        for shape, schemas in shapes.items():
            column, ours = F.col(names[shape]), number.isin(*(schema.id for schema in schemas))
            is_whole = F.coalesce(self._format.is_whole(column, schemas[0]), F.lit(False))
            value = self._format.value(column, schemas[0])
            if names[shape] in quick:
                certain = F.col(f"{names[shape]}_certain")
                is_whole, value = certain.isNotNull() | is_whole, F.coalesce(certain, value)
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
        return frame.drop(f"_{side}_id", f"_{side}_body", *names.values(), *readings, *found_in, *values)
