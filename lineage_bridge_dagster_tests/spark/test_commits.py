"""Commits: recognized conflicts, retries, and outcomes that the catalog did not report."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tenacity import wait_none

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark import commits
from lineage_bridge_dagster.spark.classic import load_table
from lineage_bridge_dagster.spark.commits import CommitConflictError, CommitMarker, commit, conflict_of
from lineage_bridge_dagster.spark.iceberg_tables import TableName, ensure_table
from lineage_bridge_dagster.spark.java_errors import java_classes
from lineage_bridge_dagster.spark.snapshot import Snapshot

TABLE = TableName("glue", "db", "t")
ICEBERG = "org.apache.iceberg.exceptions"
GLUE = "software.amazon.awssdk.services.glue.model"


class JavaException:
    """A Java exception as py4j shows it."""

    def __init__(self, name: str, cause: JavaException | None = None) -> None:
        self.name, self.cause = name, cause

    def getClass(self) -> JavaException:
        return self

    def getName(self) -> str:
        return self.name

    def getCause(self) -> JavaException | None:
        return self.cause


class JavaError(Exception):
    """As py4j's and PySpark's errors hold the Java exception."""

    def __init__(self, *names: str, attribute: str = "java_exception") -> None:
        super().__init__("An error occurred")
        java: JavaException | None = None
        for name in reversed(names):
            java = JavaException(name, java)
        setattr(self, attribute, java)


class ConnectError(PySparkException):
    """As Spark Connect raises errors: the class in the message, those of the causes in a stack trace."""

    def __init__(self, message: str, trace: str | None = None) -> None:
        super().__init__(message)
        self._stacktrace = trace


@pytest.mark.parametrize(
    "error",
    [
        JavaError("CommitFailedException"),
        JavaError("Py4JException", "SparkException", "CommitFailedException"),
        JavaError("SparkException", "CommitFailedException", attribute="_origin"),
        ConnectError("(org.apache.iceberg.exceptions.CommitFailedException) Glue detected an update"),
        ConnectError(
            "(org.apache.spark.SparkException) Writing job aborted",
            "org.apache.spark.SparkException\n\tat a.B.c(B.scala:1)\n"
            "Caused by: org.apache.iceberg.exceptions.CommitFailedException: Glue detected an update",
        ),
    ],
)
def test_conflict_is_recognized_by_the_class_of_the_error_or_a_cause(error: Exception) -> None:
    conflict = conflict_of(error, TABLE)
    assert isinstance(conflict, CommitConflictError)
    assert "commit.retry.num-retries" in str(conflict)


def test_changed_rows_are_a_conflict_and_other_errors_are_not() -> None:
    assert "were changed meanwhile" in str(
        conflict_of(JavaError("org.apache.spark.SparkException", f"{ICEBERG}.ValidationException"), TABLE)
    )
    assert conflict_of(JavaError("ConcurrentModificationException"), TABLE) is not None
    for other in (
        ZeroDivisionError("in a UDF"),
        RuntimeError("Found conflicting files that can contain records matching"),
        # Glue refuses a field of the table. Iceberg's GlueTableOperations wraps it in an exception of its own
        # that has the same simple name.
        JavaError(f"{ICEBERG}.ValidationException", f"{GLUE}.ValidationException"),
        ConnectError(
            f"({ICEBERG}.ValidationException) Cannot commit db.t",
            f"{ICEBERG}.ValidationException: Cannot commit\n\tat a.B.c(B.java:1)\n"
            f"Caused by: {GLUE}.ValidationException: Value is too long",
        ),
        RuntimeError("org.apache.iceberg.exceptions.CommitFailedException: only in the text"),
        JavaError("AnalysisException"),
        ConnectError("Found conflicting files"),
    ):
        assert conflict_of(other, TABLE) is None
    assert java_classes(RuntimeError("a.b.CommitFailedException: x")) == frozenset()


def test_a_table_that_changed_while_a_merge_was_planned_is_a_conflict() -> None:
    text = (
        "(java.lang.IllegalStateException) Runtime file filtering is not possible: the table has been "
        "concurrently modified. Row-level operation scan snapshot ID: 1, current table snapshot ID: 2."
    )
    assert isinstance(conflict_of(ConnectError(text), TABLE), CommitConflictError)
    assert conflict_of(ConnectError("(java.lang.IllegalStateException) Already closed"), TABLE) is None


@pytest.fixture
def table(spark: SparkSession, database: str, monkeypatch: pytest.MonkeyPatch) -> TableName:
    monkeypatch.setattr(commits, "wait_random_exponential", lambda **_: wait_none())
    created = TableName("glue", database, "t")
    ensure_table(spark, created, "id int")
    return created


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_conflicting_commit_is_retried_from_what_is_then_stored(
    spark: SparkSession, table: TableName
) -> None:
    marker = CommitMarker({"team": "sales"})
    seen: list[int] = []

    def write() -> None:
        seen.append(spark.table(table.sql).count())
        if len(seen) < 3:
            spark.sql("SELECT 0 AS id").writeTo(table.sql).append()
            raise JavaError("ValidationException")
        marker.writer(spark.sql("SELECT 1 AS id"), table.sql).append()

    (snapshot,) = commit(spark, table, marker, write, attempts=3)
    assert seen == [0, 1, 2]
    assert snapshot.summary["team"] == "sales"
    seen.clear()
    with pytest.raises(CommitConflictError):
        commit(spark, table, marker, write, attempts=2)
    assert len(seen) == 2


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("committed", [True, False])
def test_commit_with_an_unknown_outcome_is_looked_up(
    spark: SparkSession, table: TableName, committed: bool
) -> None:
    marker = CommitMarker()

    def write() -> None:
        if committed:
            marker.writer(spark.sql("SELECT 1 AS id"), table.sql).append()
        _raise_unknown_state(spark)

    if committed:
        assert len(commit(spark, table, marker, write)) == 1
    else:
        with pytest.raises(LineageBridgeError, match="did not report whether the commit"):
            commit(spark, table, marker, write)
    assert spark.table(table.sql).count() == int(committed)


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(("reported", "outcome"), [(True, "succeeded"), (False, "may have succeeded")])
def test_commit_that_cannot_be_looked_up_is_not_reported_as_failed(
    spark: SparkSession, table: TableName, monkeypatch: pytest.MonkeyPatch, reported: bool, outcome: str
) -> None:
    def unreachable(*_: Any) -> Any:
        raise RuntimeError("the catalog did not respond")

    def write() -> None:
        spark.sql("SELECT 1 AS id").writeTo(table.sql).append()
        if not reported:
            _raise_unknown_state(spark)

    monkeypatch.setattr(commits, "ancestors", unreachable)
    with pytest.raises(LineageBridgeError, match=rf" {outcome}, and could not be looked up"):
        commit(spark, table, CommitMarker(), write)
    assert spark.table(table.sql).count() == 1


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_branch_that_was_taken_back_meanwhile_is_a_conflict(spark: SparkSession, table: TableName) -> None:
    for _ in range(2):
        spark.sql("SELECT 1 AS id").writeTo(table.sql).append()
    java = load_table(spark, table.sql)
    read = java.currentSnapshot()
    java.manageSnapshots().rollbackTo(read.parentId()).commit()
    with pytest.raises(Exception, match="is not an ancestor of") as error:
        java.newRowDelta().validateFromSnapshot(read.snapshotId()).commit()
    assert isinstance(conflict_of(error.value, table), CommitConflictError)


def _raise_unknown_state(spark: SparkSession) -> None:
    """Raise Iceberg's own exception, through py4j."""
    jvm: Any = spark._jvm
    cause = jvm.java.lang.RuntimeException("timed out")
    unknown = jvm.org.apache.iceberg.exceptions.CommitStateUnknownException(cause)
    jvm.java.util.concurrent.CompletableFuture.failedFuture(unknown).join()


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_rows_are_added_unless_another_writer_has_added_some(spark: SparkSession, database: str) -> None:
    table = TableName("glue", database, "t")
    ensure_table(spark, table, "n int")
    row = spark.range(1).selectExpr("cast(id AS int) AS n")

    def add(since: Snapshot | None) -> Snapshot:
        marker = CommitMarker()
        (added,) = commit(spark, table, marker, lambda: marker.add(row, table.sql, since))
        return added

    first = add(None)
    assert add(first).operation == "append"
    for since in (None, first):
        with pytest.raises(CommitConflictError):
            add(since)
    assert spark.table(table.sql).count() == 2
