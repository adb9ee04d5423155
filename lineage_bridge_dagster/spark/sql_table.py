"""An Iceberg table through SQL alone, for sessions whose JVM is out of reach: its metadata tables and DDL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted, string_literal
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.foreign_code import PROVIDER, refuse_code
from lineage_bridge_dagster.spark.partitioning import PartitionField
from lineage_bridge_dagster.spark.remote import ddl
from lineage_bridge_dagster.spark.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession
    from pyspark.sql.types import DataType, StructType

#: Reads of the metadata tables, which are loaded one after the other: a commit may come between.
_ATTEMPTS = 5

#: A transform as Spark describes it: `days(ts)`, `bucket(16, id)`; a column alone has no brackets.
_TRANSFORM = re.compile(r"(?P<transform>\w+)\((?:(?P<argument>\d+), )?(?P<column>.+)\)")
#: A column, or a transform of one, in a sort order as Spark describes it: `bucket(4, id) ASC NULLS FIRST`.
_SORTED_BY = re.compile(r"(?:\w+\((?:\d+, )?)?([^(), ]+)\)? (?:ASC|DESC) NULLS (?:FIRST|LAST)")
_QUOTED_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")
_NAMES = {"years": "year", "months": "month", "days": "day", "hours": "hour"}


class SqlTable:
    """A table, each property of which is read when it is first asked for. `JavaTable` is its counterpart."""

    def __init__(self, spark: SparkSession, catalog: str, name: str) -> None:
        """A table.

        Args:
            catalog: the name of the catalog in Spark.
            name: the table's quoted name, the catalog included.

        Raises:
            ConfigurationError: the table names code.
        """
        self._spark = spark
        self._catalog = catalog
        self._name = name
        self._loaded: tuple[int | None, dict[int, Row]] | None = None
        properties = {row.key: row.value for row in self._collect(f"SHOW TBLPROPERTIES {name}")}
        refuse_code(spark, name, properties.get(PROVIDER))

    @property
    def location(self) -> str:
        """The base location of data and metadata."""
        return next(
            str(row.data_type) for row in self._described("Detailed Table") if row.col_name == "Location"
        )

    def ancestors(self) -> Iterator[Snapshot]:
        """The snapshots of the current branch, newest first, as far back as they are kept."""
        at, snapshots = self._snapshots()
        while at is not None and (row := snapshots.get(at)) is not None:
            yield _snapshot(row)
            at = row.parent_id

    def snapshot(self, snapshot_id: int) -> Snapshot | None:
        """A snapshot that is still kept, on the current branch or not."""
        _, snapshots = self._snapshots()
        found = snapshots.get(snapshot_id)
        return None if found is None else _snapshot(found)

    def snapshot_count(self) -> int:
        """How many snapshots are kept, on any branch."""
        return self._spark.table(f"{self._name}.snapshots").count()

    def history(self) -> list[tuple[int, int]]:
        """The snapshots that became current, oldest first: epoch milliseconds and ids."""
        rows = self._collect(
            f"SELECT unix_millis(made_current_at) AS at, snapshot_id FROM {self._name}.history"  # noqa: S608
        )
        return [(int(row.at), int(row.snapshot_id)) for row in rows]

    def partition_fields(self) -> tuple[PartitionField, ...]:
        """The fields of the current partition spec, but for those that were dropped."""
        rows = self._described("Partition")
        if rows and rows[0].col_name == "# col_name":
            # Columns alone are listed as columns.
            return tuple(PartitionField(_path(str(row.col_name))) for row in rows[1:])
        return tuple(_field(str(row.data_type)) for row in rows if str(row.col_name).startswith("Part "))

    @property
    def is_sorted(self) -> bool:
        """Whether the table has a sort order now."""
        return bool(self._sort_order())

    def sort_columns(self) -> frozenset[str]:
        """The columns that the table is sorted by; SQL does not show by which ones it was.

        Iceberg itself refuses to replace a table without them.
        """
        return frozenset(name.replace("`", "") for name in _SORTED_BY.findall(self._sort_order()))

    def _sort_order(self) -> str:
        rows = self._collect(f"SHOW TBLPROPERTIES {self._name}")
        return next((str(row.value) for row in rows if row.key == "sort-order"), "")

    def selects_partitions(self, condition: str) -> bool:
        """Whether an SQL condition selects whole files, as one of whole partitions does.

        Spark plans a deletion of metadata alone if Iceberg can delete the rows so, and otherwise a new
        version of the files that hold them.
        """
        plan = self._collect(f"EXPLAIN DELETE FROM {self._name} WHERE {condition}")[0][0]  # noqa: S608 - ours
        return bool(re.search(r"DeleteFromTable(?!.*(?:ReplaceData|WriteDelta))", str(plan), re.DOTALL))

    def add_columns(self, columns: StructType) -> None:
        """Add the columns that the table lacks, in one commit, and widen those that are narrower."""
        from lineage_bridge_dagster.spark.schemas import differences

        added: list[str] = []
        wider: list[str] = []
        for found in differences(columns, self._spark.table(self._name).schema):
            if found.kind == "new":
                added.append(f"{quoted(*found.path)} {self._ddl(_type_at(columns, found.path))}")
            elif found.kind == "wider":
                wider.append(f"{quoted(*found.path)} TYPE {found.frame}")
        if added:
            self._run(f"ALTER TABLE {self._name} ADD COLUMNS ({', '.join(added)})")
        for column in wider:
            self._run(f"ALTER TABLE {self._name} ALTER COLUMN {column}")

    def create_branch(self, branch: str, snapshot_id: int) -> None:
        """Create a branch at a snapshot."""
        self._run(f"ALTER TABLE {self._name} CREATE BRANCH {quoted(branch)} AS OF VERSION {snapshot_id}")

    def publish(self, branch: str) -> None:
        """Make a branch the table, and remove it.

        Fails with IllegalArgumentException if the branch does not continue what the table is by now.
        """
        name = self._name.removeprefix(f"{quoted(self._catalog)}.")
        arguments = ", ".join(map(string_literal, (name, "main", branch)))
        self._collect(f"CALL {quoted(self._catalog)}.system.fast_forward({arguments})")
        self._run(f"ALTER TABLE {self._name} DROP BRANCH IF EXISTS {quoted(branch)}")

    def remove_branch(self, branch: str) -> None:
        """Remove a branch, if it is there."""
        self._run(f"ALTER TABLE {self._name} DROP BRANCH IF EXISTS {quoted(branch)}")

    def _ddl(self, kind: DataType) -> str:
        """A type as DDL, with the names of fields quoted."""
        from pyspark.sql.types import StructField, StructType

        # Spark has DDL for columns, but not for a type alone.
        return ddl(self._spark, StructType([StructField("c", kind)])).removeprefix("c ")

    def _snapshots(self) -> tuple[int | None, dict[int, Row]]:
        """The id of the current snapshot, and all that are kept by their ids; read once."""
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    def _load(self) -> tuple[int | None, dict[int, Row]]:
        from pyspark.sql import functions as F

        kept = self._spark.table(f"{self._name}.snapshots").select(
            "snapshot_id", "parent_id", "operation", "summary", F.unix_millis("committed_at").alias("at")
        )
        main = self._spark.table(f"{self._name}.refs").where("name = 'main'").select("snapshot_id")
        # One frame in one job: a statement, or a subquery, is a call or a job more.
        both = kept.withColumn("is_main", F.lit(False)).unionByName(
            main.withColumn("is_main", F.lit(True)), allowMissingColumns=True
        )
        for _ in range(_ATTEMPTS):
            rows = both.collect()
            snapshots = {int(row.snapshot_id): row for row in rows if not row.is_main}
            head = next((int(row.snapshot_id) for row in rows if row.is_main), None)
            if head is None or head in snapshots:
                return head, snapshots
        raise LineageBridgeError(
            f"{self._name} changed each of {_ATTEMPTS} times that its snapshots were read.",
            hint="Run this again when fewer writers commit to it.",
        )

    def _described(self, section: str) -> list[Row]:
        """The rows of a section of the table's description."""
        rows = self._collect(f"DESCRIBE TABLE EXTENDED {self._name}")
        start = next(
            (i for i, row in enumerate(rows) if str(row.col_name).startswith(f"# {section}")), len(rows)
        )
        found = []
        for row in rows[start + 1 :]:
            name = str(row.col_name)
            if not name or (name.startswith("# ") and name != "# col_name"):
                break
            found.append(row)
        return found

    def _collect(self, statement: str) -> Sequence[Row]:
        return self._spark.sql(statement).collect()

    def _run(self, statement: str) -> None:
        self._spark.sql(statement)


def _snapshot(row: Row) -> Snapshot:
    return Snapshot(int(row.snapshot_id), str(row.operation), dict(row.summary or {}), int(row.at))


def _field(described: str) -> PartitionField:
    match = _TRANSFORM.fullmatch(described)
    if match is None:
        return PartitionField(_path(described))
    name = _NAMES.get(match["transform"], match["transform"])
    return PartitionField(_path(match["column"]), name, match["argument"] or "")


def _path(text: str) -> tuple[str, ...]:
    """The parts of a name, which are quoted where they have other characters than letters.

    >>> _path("`a.b`.c")
    ('a.b', 'c')
    """
    return tuple(a.replace("``", "`") or b for a, b in _QUOTED_PART.findall(text))


def _type_at(kind: DataType, path: Sequence[str]) -> DataType:
    """The type of a field within a type, by its path as Iceberg's DDL writes it."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    for name in path:
        if isinstance(kind, StructType):
            kind = kind[name].dataType
        elif isinstance(kind, ArrayType):
            kind = kind.elementType
        elif isinstance(kind, MapType):
            kind = kind.keyType if name == "key" else kind.valueType
    return kind
