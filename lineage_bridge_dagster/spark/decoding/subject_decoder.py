"""What the decoders of subjects with a schema share."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from pyiceberg.types import StructType

from lineage_bridge_dagster.schemas.columns import ValueType
from lineage_bridge_dagster.schemas.schemas import SubjectSchemas
from lineage_bridge_dagster.spark.decoding.spark_types import spark_type

if TYPE_CHECKING:
    from pyspark.sql.types import DataType


class SubjectDecoder:
    """Decodes the records of a subject into a type that holds the values of all of its versions."""

    def __init__(self, subject: SubjectSchemas, value: ValueType) -> None:
        self._subject = subject
        self._value = value
        self.is_record = value.is_record
        fields = value.type.fields if isinstance(value.type, StructType) else ()
        is_complete = all(each.required for each in fields)
        self.required = tuple(each.name for each in fields) if is_complete else ()

    @cached_property
    def type(self) -> DataType:
        """Spark's type."""
        return spark_type(self._value.type)
