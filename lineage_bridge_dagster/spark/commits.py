"""Commits to Iceberg tables: marked, looked up when their outcome is unknown, retried on conflicts.

Every snapshot of a write has the write's id in its summary. So the write is found among those of other
writers, and what it consumed is stored in the same commit as the rows.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING

from tenacity import (
    Retrying,
    before_sleep_log,
    retry_if_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark import classic, remote
from lineage_bridge_dagster.spark.iceberg_tables import TableName, ancestors, current_snapshot
from lineage_bridge_dagster.spark.java_errors import is_from_aws, java_classes, root_cause
from lineage_bridge_dagster.spark.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriterV2, SparkSession

#: Key of snapshot summaries.
WRITE_ID = "lineage_bridge.write_id"

#: What Iceberg's `SparkCopyOnWriteScan` says of a table that was changed while a MERGE planned to read it.
_CHANGED_SINCE_PLANNED = "the table has been concurrently modified"

#: What Iceberg's `BaseRowDelta.validate` says of a snapshot that its branch does not have any more.
_NOT_AN_ANCESTOR = "is not an ancestor of"

#: How Iceberg, and Glue through it, say that another commit came first.
_OVERTAKEN = {"CommitFailedException", "ConcurrentModificationException"}

_log = logging.getLogger(__name__)


class CommitConflictError(LineageBridgeError):
    """Another writer interfered; nothing was written, and the same write may succeed later."""


class CommitOvertakenError(CommitConflictError):
    """Other writers' commits came first, again and again, and none of them changed the rows of this one."""


@dataclass(frozen=True, slots=True)
class CommitMarker:
    """What every snapshot of one write has in its summary: the write's id, and further properties."""

    properties: Mapping[str, str] = field(default_factory=dict)
    write_id: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def summary(self) -> dict[str, str]:
        """The entries of the snapshot summary."""
        return {**self.properties, WRITE_ID: self.write_id}

    def writer(self, frame: DataFrame, target: str) -> DataFrameWriterV2:
        """Spark's writer of a frame to a table or a branch, by its quoted name."""
        writer = frame.writeTo(target)
        for key, value in self.summary.items():
            writer = writer.option(f"snapshot-property.{key}", value)
        return writer

    def add(self, frame: DataFrame, target: str, since: Snapshot | None) -> None:
        """Add rows to a table, or fail with a conflict if others have added some after a snapshot.

        A plain append never conflicts, so that two writers could add the same rows.
        """
        from pyspark.sql import functions as F

        writer = self.writer(frame, target).option("isolation-level", "serializable")
        if since is not None:
            writer = writer.option("validate-from-snapshot-id", str(since.snapshot_id))
        writer.overwrite(F.lit(False))

    def session(self, spark: SparkSession) -> SparkSession:
        """A copy of a classic session, all of whose SQL statements belong to the write."""
        session = classic.cloned(spark)
        for key, value in self._conf.items():
            session.conf.set(key, value)
        return session

    def run(self, spark: SparkSession, statement: str) -> None:
        """Run an SQL statement of the write; statements take no options."""
        if classic.is_classic(spark):
            self.session(spark).sql(statement)
            return
        with remote.session_conf(spark, self._conf) as session:
            session.sql(statement)

    @property
    def _conf(self) -> dict[str, str]:
        return {f"spark.sql.iceberg.snapshot-property.{key}": v for key, v in self.summary.items()}

    def has_made(self, snapshot: Snapshot) -> bool:
        """Whether the write made a snapshot."""
        return snapshot.summary.get(WRITE_ID) == self.write_id


def commit(
    spark: SparkSession,
    table: TableName,
    marker: CommitMarker,
    write: Callable[[], object],
    *,
    attempts: int = 1,
    retried: type[CommitConflictError] = CommitConflictError,
) -> tuple[Snapshot, ...]:
    """Run a write and return its snapshots, newest first.

    See `commit_after`.
    """
    before = current_snapshot(spark, table)
    later = commit_after(before, spark, table, marker, lambda _: write(), attempts=attempts, retried=retried)
    return tuple(filter(marker.has_made, later))


def commit_after(
    before: Snapshot | None,
    spark: SparkSession,
    table: TableName,
    marker: CommitMarker,
    write: Callable[[Snapshot | None], object],
    *,
    attempts: int = 1,
    retried: type[CommitConflictError] = CommitConflictError,
) -> tuple[Snapshot, ...]:
    """Run a write and return all snapshots after one of before it, newest first, also those of others.

    A commit whose outcome the catalog did not report is looked up by its marker.

    Args:
        before: the table's newest snapshot, or that of a moment ago.
        write: commits to the table with the marker; called again after a conflict. It is given the newest
            snapshot of its start, or that of a moment before.
        attempts: calls of `write` in all, besides the retries that Iceberg makes of each commit.
        retried: the conflicts after which `write` is called again.

    Raises:
        CommitConflictError: the last attempt conflicted with another writer.
        LineageBridgeError: the outcome of the commit is unknown.
    """
    retrying = after_conflicts(attempts, retried, wait=0.5)
    since = before.snapshot_id if before else None
    newest = _newest(before, spark, table)
    return retrying(_commit_once, spark, table, marker, lambda: write(next(newest)), since)


def after_conflicts(
    attempts: int, retried: type[CommitConflictError], *, wait: float, longest: float = 5.0
) -> Retrying:
    """Calls again what fails with a conflict, and raises the last one.

    Args:
        wait: seconds that the first wait takes at most; each one doubles that.
        longest: seconds that no wait exceeds.
    """
    return Retrying(
        retry=retry_if_exception_type(retried),
        stop=stop_after_attempt(attempts),
        wait=wait_random_exponential(multiplier=wait, max=longest),
        before_sleep=before_sleep_log(_log, logging.INFO),
        reraise=True,
    )


def _newest(before: Snapshot | None, spark: SparkSession, table: TableName) -> Iterator[Snapshot | None]:
    """The table's newest snapshot at the start of each attempt of a write; the first one is known."""
    yield before
    while True:
        yield current_snapshot(spark, table)


def _commit_once(
    spark: SparkSession,
    table: TableName,
    marker: CommitMarker,
    write: Callable[[], object],
    since: int | None,
) -> tuple[Snapshot, ...]:
    try:
        with remote.commit_lock(spark):
            write()
    except Exception as error:
        if isinstance(gone := remote.server_error(error), remote.ServerGoneError):
            raise remote.ServerGoneError(
                f"{gone.message} Whether the commit to {table} was made is unknown.",
                hint=f"{gone.hint} Rows that are appended and not replaced may be there already: look for "
                f"{WRITE_ID} {marker.write_id} in the table {table.sql}.snapshots first.",
            ) from error
        if "CommitStateUnknownException" not in java_classes(error):
            if (conflict := conflict_of(error, table)) is None:
                raise
            raise conflict from error
        found = _look_up(spark, table, since, "may have succeeded")
        if not any(map(marker.has_made, found)):
            raise LineageBridgeError(
                f"The catalog did not report whether the commit to {table} succeeded, and the table does not "
                "have it now.",
                hint=f"Look at the table {table.sql}.snapshots before the next run.",
            ) from error
        _log.warning("The commit to %s succeeded, though the catalog did not report it.", table)
        return found
    return _look_up(spark, table, since, "succeeded")


def _look_up(spark: SparkSession, table: TableName, since: int | None, outcome: str) -> tuple[Snapshot, ...]:
    """The later snapshots. If they cannot be read, the rows must not be written again all the same."""
    try:
        return tuple(takewhile(lambda each: each.snapshot_id != since, ancestors(spark, table)))
    except Exception as error:
        raise LineageBridgeError(
            f"The commit to {table} {outcome}, and could not be looked up: {root_cause(error)}",
            hint=f"Look at the table {table.sql}.snapshots before the next run.",
        ) from error


def conflict_of(error: Exception, table: TableName) -> CommitConflictError | None:
    """The conflict with another writer that made a commit fail, None for any other failure.

    Iceberg raises ValidationException when a commit would undo another one, CommitFailedException when its
    retries have run out; a Glue catalog may pass Glue's ConcurrentModificationException on. It wraps a
    ValidationException of Glue, which refuses the request itself, in Iceberg's of that name. A branch that
    was meanwhile taken back to before the snapshot that a MERGE read fails a mere check of arguments, and a
    table that was changed while a MERGE was planned, one of the state.
    """
    classes = java_classes(error)
    if "ValidationException" in classes:
        return None if is_from_aws(error) else changed_meanwhile(table)
    if "IllegalArgumentException" in classes and _NOT_AN_ANCESTOR in str(error):
        return changed_meanwhile(table)
    if "IllegalStateException" in classes and _CHANGED_SINCE_PLANNED in str(error):
        return changed_meanwhile(table)
    return overtaken(table) if classes & _OVERTAKEN else None


@contextmanager
def conflicts(table: TableName) -> Iterator[None]:
    """Turn the errors of a conflict with another writer into `CommitConflictError`."""
    try:
        yield
    except Exception as error:
        if (conflict := conflict_of(error, table)) is None:
            raise
        raise conflict from error


def overtaken(table: TableName) -> CommitOvertakenError:
    """The conflict of a write whose rows nobody has changed."""
    return CommitOvertakenError(
        f"Other writers kept committing to {table}, and the retries ran out. Nothing was written.",
        hint="Materialize again when they are done. Where many write at once, raise the table property "
        "commit.retry.num-retries (4 by default).",
    )


def changed_meanwhile(table: TableName) -> CommitConflictError:
    """The conflict of a write whose rows another writer has changed."""
    return CommitConflictError(
        f"Rows of {table} that this write replaces were changed meanwhile. Nothing was written.",
        hint="Materialize again, and let only one writer at a time change the same rows.",
    )


@contextmanager
def global_view(frame: DataFrame) -> Iterator[str]:
    """Register a frame under a name that SQL in any session can use."""
    name = f"lineage_bridge_{uuid.uuid4().hex}"
    frame.createGlobalTempView(name)
    with remote.undoing(lambda: frame.sparkSession.catalog.dropGlobalTempView(name)):
        yield f"global_temp.{name}"
