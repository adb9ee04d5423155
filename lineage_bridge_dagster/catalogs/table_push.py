"""The push to one table, without losing a concurrent write or anyone's words.

Read, plan, write. When a write is in doubt (a timeout, a 5xx, a conflict that may be with its own first
attempt), the table is read again, and what it carries decides.

Delivery is at least once, and pushing the same lineage twice writes once: a table in sync is not written.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Generic

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from lineage_bridge_dagster.catalogs.errors import (
    CallError,
    ConflictError,
    NotFoundError,
    ThrottledError,
    UnreachableError,
)
from lineage_bridge_dagster.catalogs.lineage_catalog import C, LineageCatalog, R, T
from lineage_bridge_dagster.catalogs.plans import Hold, NoChange, Refuse, TableRevision, Wanted
from lineage_bridge_dagster.lineage.chains import Chain
from lineage_bridge_dagster.lineage.documents import render
from lineage_bridge_dagster.lineage.push_diff import diff_lines
from lineage_bridge_dagster.lineage.push_results import PushStatus, TableResult
from lineage_bridge_dagster.lineage.times import iso

#: Seconds between two attempts at one table: random, below a bound that doubles. A catalog that fails or
#: throttles gets more time than another writer needs for its commit.
_AFTER_CONFLICT = wait_random_exponential(multiplier=0.1, max=5)
_AFTER_FAILURE = wait_random_exponential(multiplier=0.25, max=10)


#: Called after each table with the number of tables done, the total, and the table's result; never
#: concurrently.
ProgressCallback = Callable[[int, int, TableResult], None]

#: The most tables that are read but not written yet; the record of a table may be 100 kB.
_READ_AHEAD = 200

#: Writes a table with its record, or with None if it has to be read on its own.
Write = Callable[[T, R | None], TableResult]


def push_table(
    catalog: LineageCatalog[T, R, C],
    target: T,
    chain: Chain | None,
    *,
    complete: bool,
    table: R | None = None,
    dry_run: bool = False,
    removal_reason: str = "lineage removed: the table has no upstream any more",
) -> TableResult:
    """Push the lineage of one table. Errors of calls are reported in the result, not raised.

    Args:
        catalog: Reads, plans and writes the table.
        chain: None, or a chain without hops, removes our lineage.
        complete: Whether every scope that the chain passes through was fully read.
        table: The table if it was just read, to save a call. An outdated one only costs a conflict.
        dry_run: Plan, but do not write.
        removal_reason: The reason in the result of a removal.
    """
    document = render(chain, catalog.settings) if chain and chain.hops else None
    wanted = Wanted(document, complete, iso(catalog.clock()))
    return _TablePush(catalog, target, wanted, table, dry_run, removal_reason).run()


@dataclass(slots=True)
class _TablePush(Generic[T, R, C]):
    """The push to one table, over its attempts.

    Attributes:
        table: as it was read already, for the next attempt.
        recreated: whether it was another table before.
        sent: the last change that was sent.
        in_doubt: whether `sent` may have been applied although its call failed.
    """

    catalog: LineageCatalog[T, R, C]
    target: T
    wanted: Wanted
    table: R | None
    dry_run: bool
    removal_reason: str
    last_read: TableRevision | None = None
    recreated: bool = False
    sent: C | None = None
    in_doubt: bool = False
    attempts: int = 0
    conflicts: int = 0

    def run(self) -> TableResult:
        """Push, and try again where that may help."""
        retrying = Retrying(
            stop=stop_after_attempt(self.catalog.settings.max_attempts),
            wait=_wait,
            retry=retry_if_exception(_worth_retrying),
            sleep=self.catalog.sleep,
            reraise=True,
        )
        try:
            return retrying(self._attempt)
        except CallError as error:
            return self._give_up(error)

    def _attempt(self) -> TableResult:
        """Read, plan and write once.

        Raises:
            CallError: the attempt failed; the class of the error decides whether to try again.
        """
        self.attempts += 1
        try:
            table = self._read()
        except NotFoundError:
            if self.wanted.document is None:
                self.last_read = None
                return self._unchanged(PushStatus.UNCHANGED, "the table does not exist any more")
            if (absence := self.catalog.absence(self.target)) is None:
                raise
            return self._unchanged(PushStatus.SKIPPED, *absence)
        if (found := self._look_up(table.state)) is not None:
            return found
        plan = self.catalog.plan(table, self.wanted, self.catalog.settings)
        if isinstance(plan, NoChange):
            return self._unchanged(PushStatus.UNCHANGED)
        if isinstance(plan, Refuse):
            return self._unchanged(PushStatus.REFUSED, plan.reason, plan.hint)
        if isinstance(plan, Hold):
            return self._unchanged(PushStatus.HELD, plan.reason)
        if self.dry_run:
            return self._updated(plan, replace(plan.after, version=plan.before.version))
        self.sent = plan
        try:
            made = self.catalog.write(self.target, table, plan)
        except CallError as error:
            self.in_doubt = error.may_have_written
            self.conflicts += isinstance(error, ConflictError)
            if isinstance(error, ThrottledError | UnreachableError) and not error.may_have_written:
                # The catalog did nothing with it, so the table need not be read for the next attempt.
                self.table = table
            raise
        return self._updated(plan, made)

    def _read(self) -> R:
        """The table, unless it was read already."""
        table, self.table = self.table or self.catalog.read(self.target), None
        state = table.state
        self.recreated = self.recreated or bool(self.last_read and self.last_read.uuid != state.uuid)
        self.last_read = state
        return table

    def _look_up(self, state: TableRevision) -> TableResult | None:
        """The result if the table shows that a write in doubt was applied; none is in doubt afterwards."""
        in_doubt, self.in_doubt = self.in_doubt, False
        if in_doubt and self.sent is not None and state.carries(self.sent.after):
            return self._updated(self.sent, state)
        return None

    def _give_up(self, error: CallError) -> TableResult:
        """The result after the last attempt. A write in doubt is looked up one last time."""
        hint = error.hint or ("Push again." if error.transient else "")
        if not self.in_doubt:
            reason = error.message
            if isinstance(error, ConflictError):
                reason = (
                    f"Other writers changed {self.target.dotted} during each of {self.attempts} "
                    "attempts; none of their commits was overwritten."
                )
            return self._unchanged(PushStatus.FAILED, reason, hint)
        try:
            found = self._look_up(self._read().state)
        except NotFoundError as gone:
            return self._unchanged(PushStatus.FAILED, gone.message, gone.hint)
        except CallError as read_error:
            return self._unchanged(
                PushStatus.UNKNOWN,
                "The write may have been applied, and the table could not be read back: "
                f"{error.message}; {read_error.message}",
                "Push again: a table that is in sync is not written.",
            )
        return found or self._unchanged(PushStatus.FAILED, error.message, error.hint or "Push again.")

    def _unchanged(self, status: PushStatus, reason: str = "", hint: str = "") -> TableResult:
        """A result that leaves the table as it was read last."""
        state = self.last_read or TableRevision(None, {})
        return self._result(status, reason, hint, state, state)

    def _updated(self, change: C, after: TableRevision) -> TableResult:
        """A result of a change that made this of the table."""
        before = change.before
        reasons = [self.removal_reason] if change.removal else []
        reasons += ["the table was dropped and created again during the push"] if self.recreated else []
        diff = diff_lines(
            before.parameters,
            after.parameters,
            before.description,
            after.description,
            self.catalog.settings.sql,
        )
        return self._result(PushStatus.UPDATED, "; ".join(reasons), "", before, after, diff=diff)

    def _result(
        self,
        status: PushStatus,
        reason: str,
        hint: str,
        before: TableRevision,
        after: TableRevision,
        **more: Any,
    ) -> TableResult:
        return self.target.result(
            status,
            reason,
            hint,
            before=before.parameters,
            after=after.parameters,
            description_before=before.description,
            description_after=after.description,
            version_before=before.version,
            version_after=after.version,
            attempts=self.attempts,
            conflicts=self.conflicts,
            **more,
        )


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    return (_AFTER_CONFLICT if isinstance(error, ConflictError) else _AFTER_FAILURE)(state)


def _worth_retrying(error: BaseException) -> bool:
    """A write in doubt needs another look even if its last error is final: see `CallError.retried`."""
    return isinstance(error, CallError) and (error.transient or error.may_have_written)


class TableRun:
    """One run over many tables.

    Attributes:
        results: by the table's node id, or by the name in a selection if there is no such table.
        total: how many tables there will be results of.
    """

    def __init__(self, max_concurrency: int, progress: ProgressCallback | None = None) -> None:
        self.results: dict[str, TableResult] = {}
        self.total = 0
        self._max_concurrency = max_concurrency
        self._progress = progress
        self._lock = threading.Lock()

    def each(self, readings: Iterable[tuple[T, R | None]], write: Write[T, R]) -> None:
        """Write each table as it is read: with its record, or None if it has to be read on its own."""
        free = threading.BoundedSemaphore(_READ_AHEAD)

        def one(target: T, record: R | None) -> None:
            try:
                try:
                    result = write(target, record)
                except Exception as error:  # a bug with one table must not stop the others
                    result = target.bug(error)
                self.done(result)
            finally:
                free.release()

        pool = ThreadPoolExecutor(self._max_concurrency, thread_name_prefix="push")
        try:
            futures = []
            for target, record in readings:
                free.acquire()
                futures.append(pool.submit(one, target, record))
            for future in futures:
                future.result()
        finally:
            # After an interrupt, writes that have started are completed, and no others start.
            pool.shutdown(wait=True, cancel_futures=True)

    def done(self, result: TableResult) -> None:
        with self._lock:
            self.results[result.table] = result
            if self._progress is not None:
                self._progress(len(self.results), self.total, result)
