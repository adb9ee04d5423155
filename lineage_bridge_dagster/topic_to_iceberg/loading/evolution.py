"""A table's columns follow the topic's schema, and rows follow the table's columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyiceberg.schema import Schema
from pyiceberg.types import StructType

from lineage_bridge_dagster.schemas import types
from lineage_bridge_dagster.schemas.comments import Comments
from lineage_bridge_dagster.schemas.errors import EvolutionError, SchemaError
from lineage_bridge_dagster.schemas.evolution import MakeOptional, SetComment, plan_evolution
from lineage_bridge_dagster.schemas.new_columns import placed
from lineage_bridge_dagster.schemas.types import Path
from lineage_bridge_dagster.spark import classic
from lineage_bridge_dagster.spark.io.frames import conform
from lineage_bridge_dagster.spark.java_errors import java_classes
from lineage_bridge_dagster.topic_to_iceberg.loading.creation import iceberg_schema
from lineage_bridge_dagster.topic_to_iceberg.loading.model import SuspendedError, TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import types as t

_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class Evolved:
    """A table that can hold the rows to come.

    Attributes:
        names: path of a field of the rows -> the name of its column, where that is another.
    """

    columns: t.StructType
    names: Mapping[Path, str] = field(default_factory=dict)

    def name(self, column: str) -> str:
        """The name in the table of a column of the rows."""
        return self.names.get((column,), column)


def evolve(
    spark: SparkSession,
    table: Any,
    config: TopicLoad,
    wanted: t.StructType,
    identifiers: Sequence[str],
    comments: Comments,
    *,
    keys: Sequence[str] = (),
) -> Evolved:
    """Add the columns that a table lacks, and widen those that are too narrow.

    Comments follow the schema, but for those that somebody else wrote.

    New columns are added at the table's end, wherever their fields are in the schema.

    Args:
        table: Iceberg's Java `Table`.
        wanted: the columns of the rows to come.
        identifiers: as the table was created with.
        comments: what the schemas say of the columns.
        keys: the columns by which rows are found, and which keep their names.

    Raises:
        SuspendedError: a column of the table has a type that the topic's cannot be written to.
    """
    names: Mapping[Path, str] = {}
    for attempt in range(_ATTEMPTS):
        current = _struct(spark, table.schema())
        schema, latest = iceberg_schema(spark, wanted, identifiers, comments.latest), comments.latest
        try:
            if config.type_changes == "new_column":
                found = placed(current, _struct(spark, schema), keys)
                latest = {**latest, **found.comments()}
                names = found.names
                schema = iceberg_schema(spark, wanted, identifiers, latest, names)
            changes = plan_evolution(current, _struct(spark, schema), comments.known)
        except (EvolutionError, SchemaError) as error:
            raise SuspendedError(f"{config.name}: {error.message}", hint=error.hint) from error
        if not changes:
            break
        # Iceberg would replace the comment of every column for which it is given another.
        present = set(types.paths(current))
        given = {path: doc for path, doc in latest.items() if path not in present}
        given |= {each.path: each.doc for each in changes if isinstance(each, SetComment)}
        schema = iceberg_schema(spark, wanted, identifiers, given, names)
        update = table.updateSchema()
        optional = {".".join(each.path) for each in changes if isinstance(each, MakeOptional)}
        if optional & set(table.schema().identifierFieldNames()):
            # Iceberg's specification has no optional identifier fields. Rows keep their keys without them.
            update = update.setIdentifierFields(classic.java_class(spark, "java.util.ArrayList")())
        try:
            update.unionByNameWith(schema).commit()
        except Exception as error:
            if "CommitFailedException" not in java_classes(error) or attempt + 1 == _ATTEMPTS:
                raise
            # Lineage was pushed meanwhile.
            table.refresh()
    return Evolved(spark_columns(spark, table), names)


def check_schemas(table: Any, config: TopicLoad, schemas: TopicSchemas) -> None:
    """Refuse to write bytes to a table whose columns come from a schema.

    A registry lists no subject that its key may not read, as if there were none.

    Raises:
        SuspendedError: the subject of the keys or of the values has no schema, and the table had one.
    """
    for side, subject in (("key", schemas.key), ("value", schemas.value)):
        if subject.latest is None and table.schema().findField(side) is None:
            raise SuspendedError(
                f"{config.name} has the columns of a schema, and subject {subject.subject} has none now.",
                hint="Register the schema again, or grant the owner of the Schema Registry's key "
                "DeveloperRead on the subject: the registry does not list what the key may not read.",
            )


def _struct(spark: SparkSession, schema: Any) -> StructType:
    """Iceberg's Java schema as PyIceberg's."""
    parser = classic.java_class(spark, "org.apache.iceberg.SchemaParser")
    return Schema.model_validate_json(parser.toJson(schema)).as_struct()


def spark_columns(spark: SparkSession, table: Any) -> t.StructType:
    """The columns of Iceberg's Java `Table`."""
    from pyspark.sql.types import StructType

    struct = classic.java_class(spark, "org.apache.iceberg.spark.SparkSchemaUtil").convert(table.schema())
    return StructType.fromJson(json.loads(struct.json()))


def aligned(frame: DataFrame, table: Evolved, *, extra: Sequence[str] = ()) -> DataFrame:
    """Rows with exactly the table's columns, null where they have none; `extra` columns are kept."""

    def match(written: t.StructType, _: t.StructType, path: Path) -> Mapping[str, t.StructField]:
        return {table.names.get((*path, each.name), each.name): each for each in written}

    return conform(frame, table.columns, match, extra)
