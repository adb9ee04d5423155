"""How a batch gets into a table exactly once, in a process that may end at any point.

A batch is written to a branch of the table, STAGED, by Spark's own APPEND or MERGE (write-audit-publish).
Its snapshot has the batch's offsets in its summary. Publishing makes it the head of `main`: one commit that
only moves references (Iceberg's `fast_forward`), and the tag on the newest snapshot with offsets with it.

Why nothing is lost or doubled:

- Rows and offsets are in one snapshot, and readers of the table see `main` alone. Before the publishing
  commit they see neither, after it both; there is no state besides.
- A batch starts from the head of `main` whose offsets it continues. It is published only if that head is
  the staged snapshot's parent, and still `main`'s head. The check is made on the very metadata that the
  commit replaces: Iceberg never applies a change of references to other metadata than it was made for (a
  transaction whose base has moved fails with "Table metadata refresh is required"), and a catalog replaces
  no metadata but the expected one; a REST catalog compares the snapshots of the references that change.
  So a commit of anyone else between the check and the commit fails the commit, here or in the catalog.
- If only the metadata has moved (lineage was pushed into the table's properties), it is read again and
  the same snapshot is published, after a random delay. If `main` has another head without other offsets (a
  compaction), the staged snapshot is discarded and the batch done again on the new head: MERGE's deletes
  name files that compaction may have replaced. If the other head has offsets, another writer loads the
  table: see `SecondWriterError`.
- Every error, and every end of the process, leaves a staged snapshot or none. The next step publishes one
  whose parent is `main`'s head and which starts at that head's offsets: it is the whole batch after them,
  whoever staged it. Any other it discards: of two writers at once, the slower one may stage on top of what
  the other has published meanwhile. A writer that finds its own batch published by another one goes on.
- A commit whose outcome the catalog did not report needs no further care: the references are read again.

The price is a second commit for each batch, of references alone: one request to read the table and one to
change it. A single commit would have to be Spark's own, which it applies to whatever head the table has by
then: an append has no check at all, and what MERGE checks begins where it reads the table, which is after
the offsets were read.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    wait_random_exponential,
)

from lineage_bridge_dagster.catalogs.iceberg.topic_progress import (
    COMMITTED_TAG,
    RawSnapshot,
    TopicProgress,
    lineage,
    progress,
)
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark import classic
from lineage_bridge_dagster.spark.failures import readable
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.java_errors import java_classes
from lineage_bridge_dagster.spark.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The branch that batches are written to.
STAGED = "topic_to_iceberg_staged"

#: The table property by which Spark writes to the branch that its session names.
_STAGING = "write.wap.enabled"

_EXCLUDED_RULES = "spark.sql.adaptive.optimizer.excludedRules"
_PROPAGATE_EMPTY = "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation"

_V1_SOURCES = "spark.sql.sources.useV1SourceList"

_MAIN = "main"
_ATTEMPTS = 12
_AGAIN = {"CommitFailedException", "CommitStateUnknownException", "ConcurrentModificationException"}

_log = logging.getLogger(__name__)


class MovedError(LineageBridgeError):
    """`main` has moved since the batch was written, so the batch must be written again."""


class StagedTable:
    """A table's branches and progress, as they were when it was loaded.

    Not thread-safe; every thread that writes loads its own.
    """

    def __init__(self, spark: SparkSession, name: TableName, table: Any | None = None) -> None:
        """A table, which is loaded unless it is given as Iceberg's Java `Table`."""
        self.name = name
        self._table: Any = classic.load_table(spark, name.sql) if table is None else table
        self._spark = spark

    @property
    def java(self) -> Any:
        """Iceberg's Java `Table`."""
        return self._table

    @property
    def head(self) -> int | None:
        """The snapshot of `main`; None before the first one."""
        return self._ref(_MAIN)

    @property
    def staged(self) -> int | None:
        """The snapshot of the branch that batches are written to; None without one."""
        return self._ref(STAGED)

    def progress(self) -> TopicProgress | None:
        """The last batch in `main`."""
        return progress(self.head, self._ref(COMMITTED_TAG), self.snapshot)

    def snapshot(self, snapshot_id: int) -> RawSnapshot | None:
        """A snapshot that is still kept."""
        found = self._table.snapshot(snapshot_id)
        return None if found is None else RawSnapshot(classic.snapshot_document(self._spark, found))

    def current_snapshot(self) -> Snapshot | None:
        """The snapshot of `main`; None before the first one."""
        entry = None if self.head is None else self.snapshot(self.head)
        return None if entry is None else Snapshot.of_json(entry.raw)

    def prepare(self) -> None:
        """Have the branch at the head of `main`, ready for a batch; publish a batch that was left staged."""
        if self._table.properties().get(_STAGING) != "true":
            # Without it, Spark would write to `main`.
            self._table.updateProperties().set(_STAGING, "true").commit()
        staged, head = self.staged, self.head
        if staged == head:
            return
        entry = None if staged is None else self.snapshot(staged)
        batch = None if entry is None or entry.parent_id != head else TopicProgress.of(entry)
        if batch is not None and batch.continues(self.progress()):
            _log.info("%s: publishing the batch that an earlier run staged", self.name)
            self.publish(batch.snapshot_id, head)
        else:
            # Not left to the write if there is no branch: Iceberg would count its rows from zero.
            self.discard()

    def publish(self, staged: int, base: int | None) -> None:
        """Make a staged snapshot, written for the head `base`, the head of `main`.

        Raises:
            MovedError: it was not written for that head, or `main` has another one by now.
        """

        def publication(change: Any) -> bool:
            entry = self.snapshot(staged)
            if entry is None or entry.parent_id != base or self.head != base:
                # Checked last because it walks through all kept snapshots.
                if self._is_published(staged):
                    return False
                raise MovedError(
                    f"{self.name} was changed by another writer while a batch was being written.",
                    hint="Nothing was published; the batch is done again.",
                )
            self._point(change, _MAIN, staged)
            self._point(change, COMMITTED_TAG, staged)
            return True

        self._change_refs(publication)

    def discard(self) -> None:
        """Take the staged branch to the head of `main`."""

        def reset(change: Any) -> bool:
            if self.staged == self.head:
                return False
            if self.head is None:
                change.removeBranch(STAGED)
            else:
                self._point(change, STAGED, self.head)
            return True

        self._change_refs(reset)

    def refresh(self) -> None:
        """Read the table's metadata again."""
        self._table.refresh()

    def _is_published(self, snapshot_id: int) -> bool:
        return any(entry.snapshot_id == snapshot_id for entry in lineage(self.head, self.snapshot))

    def _ref(self, name: str) -> int | None:
        ref = self._table.refs().get(name)
        return None if ref is None else int(ref.snapshotId())

    def _point(self, change: Any, name: str, snapshot_id: int) -> None:
        """Add to a change of references that one of them points to a snapshot."""
        kind = "Tag" if name == COMMITTED_TAG else "Branch"
        verb = "create" if self._ref(name) is None else "replace"
        getattr(change, f"{verb}{kind}")(name, snapshot_id)

    def _change_refs(self, decide: Callable[[Any], bool]) -> None:
        """Commit a change of references, decided again after a conflict.

        `decide` adds to the change that it is given, and returns whether there is anything to commit.
        """

        def attempt() -> None:
            # Reads the table anew. What `decide` sees is from now on what the commit is made for.
            change = self._table.manageSnapshots()
            if decide(change):
                change.commit()

        retrying = Retrying(
            retry=retry_if_exception(lambda error: bool(_AGAIN & java_classes(error))),
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_random_exponential(multiplier=0.05, max=5),
            before_sleep=self._report,
            reraise=True,
        )
        try:
            retrying(attempt)
        except LineageBridgeError:
            raise
        except Exception as error:
            told = readable(error)
            raise LineageBridgeError(
                f"The branches of {self.name} could not be changed. {told.message}",
                hint=f"A batch that is staged stays so, and the next run publishes it. {told.hint}".rstrip(),
            ) from error

    def _report(self, _: RetryCallState) -> None:
        _log.info("%s changed while a batch was being published; trying again", self.name)


_sessions = threading.local()


def writer_session(spark: SparkSession) -> SparkSession:
    """This thread's session in which tables are read and written on their staged branch.

    Spark takes the branch, and the summary of a MERGE, from the session's configuration. A session loads its
    catalogs anew, so there is one for each thread and not one for each table.
    """
    sessions: dict[int, SparkSession] = _sessions.__dict__.setdefault("by_session", {})
    key = int(classic.java_session(spark).hashCode())
    if (session := sessions.get(key)) is None:
        session = sessions[key] = classic.cloned(spark)
        session.conf.set("spark.wap.branch", STAGED)
        # Kafka allows a header twice, a map does not: the last one is kept.
        session.conf.set("spark.sql.mapKeyDedupPolicy", "LAST_WIN")
        # Spark's older way to read Kafka turns each record into a row of objects and back.
        v1 = str(session.conf.get(_V1_SOURCES) or "").split(",")
        session.conf.set(_V1_SOURCES, ",".join(name for name in v1 if name.strip() != "kafka"))
        # It would take the observations of records out of a running MERGE whose batch has no row, and who
        # reads what they counted would wait for ever.
        excluded = str(session.conf.get(_EXCLUDED_RULES, "") or "")
        session.conf.set(_EXCLUDED_RULES, ",".join(filter(None, (excluded, _PROPAGATE_EMPTY))))
    known = classic.settings(session)
    for name, value in classic.settings(spark).items():
        if name.startswith("spark.sql.catalog.") and name not in known:
            session.conf.set(name, value)
    return session
