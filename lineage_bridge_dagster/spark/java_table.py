"""An Iceberg table through Iceberg's Java API, in the JVM of a classic session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.spark import classic
from lineage_bridge_dagster.spark.partitioning import PartitionField
from lineage_bridge_dagster.spark.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType


class JavaTable:
    """A table as it was when it was loaded; changes apply to its current state.

    `SqlTable` does the same without a JVM, and says what each of them is.
    """

    def __init__(self, spark: SparkSession, name: str) -> None:
        self._spark = spark
        self._name = name
        self._table: Any = classic.load_table(spark, name)

    @property
    def location(self) -> str:
        return str(self._table.location())

    @property
    def uuid(self) -> str:
        """What the table has been known by since its creation."""
        return str(self._table.uuid())

    def statistics(self) -> list[str]:
        """The files of its statistics, of all snapshots."""
        kinds = (self._table.statisticsFiles(), self._table.partitionStatisticsFiles())
        return [str(file.path()) for files in kinds for file in files]

    def ancestors(self) -> Iterator[Snapshot]:
        at = self._table.currentSnapshot()
        while at is not None:
            yield self._snapshot(at)
            parent = at.parentId()
            at = None if parent is None else self._table.snapshot(parent)

    def snapshot(self, snapshot_id: int) -> Snapshot | None:
        found = self._table.snapshot(snapshot_id)
        return None if found is None else self._snapshot(found)

    def snapshot_count(self) -> int:
        return int(self._table.snapshots().size())

    def history(self) -> list[tuple[int, int]]:
        return [(int(each.timestampMillis()), int(each.snapshotId())) for each in self._table.history()]

    def partition_fields(self) -> tuple[PartitionField, ...]:
        schema, fields = self._table.schema(), []
        for field in self._table.spec().fields():
            transform, _, argument = str(field.transform().toString()).partition("[")
            if transform != "void":
                name = str(schema.findColumnName(field.sourceId()))
                is_column = schema.asStruct().field(name) is not None
                path = (name,) if is_column else tuple(name.split("."))
                fields.append(PartitionField(path, transform, argument.rstrip("]")))
        return tuple(fields)

    @property
    def is_sorted(self) -> bool:
        return bool(self._table.sortOrder().isSorted())

    def sort_columns(self) -> frozenset[str]:
        """The columns that the table is or was sorted by."""
        schema = self._table.schema()
        return frozenset(
            str(name)
            for order in self._table.sortOrders().values()
            for field in order.fields()
            if (name := schema.findColumnName(field.sourceId())) is not None
        )

    def selects_partitions(self, condition: str) -> bool:
        """Whether an SQL condition selects whole partitions, so that no file has both kinds of rows."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        converter = classic.java_class(
            self._spark, "org.apache.spark.sql.execution.datasources.SparkExpressionConverter"
        )
        session = classic.java_session(self._spark)
        try:
            resolved = converter.collectResolvedSparkExpression(session, self._name, condition)
            expression = converter.convertToIcebergExpression(resolved)
        except (Py4JJavaError, PySparkException):
            # Iceberg has no such expression, as for `id % 2 = 0`: it cannot select partitions.
            return False
        expressions = classic.java_class(self._spark, "org.apache.iceberg.expressions.ExpressionUtil")
        return bool(expressions.selectsPartitions(expression, self._table, False))

    def add_columns(self, columns: StructType) -> None:
        """Add the columns that the table lacks, and widen those that are narrower, in one commit."""
        wanted = classic.java_schema(self._spark, columns)
        self._table.updateSchema().caseSensitive(False).unionByNameWith(wanted).commit()

    def create_branch(self, branch: str, snapshot_id: int) -> None:
        self._table.manageSnapshots().createBranch(branch, snapshot_id).commit()

    def publish(self, branch: str) -> None:
        """Make a branch the table, and remove it, in one commit.

        Fails with IllegalArgumentException if the branch does not continue what the table is by now.
        """
        self._table.manageSnapshots().fastForwardBranch("main", branch).removeBranch(branch).commit()

    def remove_branch(self, branch: str) -> None:
        if branch in self._table.refs():
            self._table.manageSnapshots().removeBranch(branch).commit()

    def _snapshot(self, found: Any) -> Snapshot:
        return Snapshot.of_json(classic.snapshot_document(self._spark, found))
