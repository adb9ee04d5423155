"""The push to one Iceberg table: lineage as its properties, in one commit through its catalog.

What is promised:

- No commit of others is lost. The catalog applies the change to whatever the table is when it commits, and
  the change names properties under our prefix only.
- The table of the commit is the table that was read (`assert-table-uuid`).
- The table has one whole document, never parts of two: a commit replaces all of our properties, and is
  verified by the metadata that it made.

Iceberg has no requirement on properties, so that of two pushes of different lineage at once the later one
stands, without the earlier one's being noticed. The next push puts right what is outdated.

When a commit is in doubt (a timeout, a 5xx) the table is loaded again, and what it carries decides. Delivery
is at least once, and pushing the same lineage twice commits once: a table in sync gets no commit.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.iceberg.table_errors import (
    TableConflictError,
    TableError,
    TableNotFoundError,
    translate,
)
from lineage_bridge_dagster.lineage.chains import Chain
from lineage_bridge_dagster.lineage.documents import LineageDocument, render
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.push_attempts import push_attempts
from lineage_bridge_dagster.lineage.push_diff import diff_lines
from lineage_bridge_dagster.lineage.push_results import PushStatus, TableResult
from lineage_bridge_dagster.lineage.times import iso, utc_now
from lineage_bridge_dagster.targets.properties_plan import (
    Commit,
    Held,
    InSync,
    Refused,
    TableState,
    plan_properties,
)

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import CommitTableResponse, Table


@dataclass(frozen=True, slots=True)
class IcebergTarget:
    """A table to push to.

    Attributes:
        catalog: The name of its catalog.
    """

    node: Node
    catalog: str
    namespace: tuple[str, ...]
    table: str

    @property
    def identifier(self) -> tuple[str, ...]:
        return (*self.namespace, self.table)

    @property
    def dotted(self) -> str:
        """`catalog.namespace.table`, as Spark writes it."""
        return ".".join((self.catalog, *self.identifier))

    def result(self, status: PushStatus, reason: str = "", hint: str = "", **changes: Any) -> TableResult:
        database = ".".join((self.catalog, *self.namespace))
        return TableResult(self.node.node_id, database, self.table, status, reason, hint, **changes)


@dataclass(slots=True)
class _TablePush:
    """The state of the push to one table, over its attempts.

    Attributes:
        last_read: The table as it was read last.
        recreated: Whether it was another table before.
        sent: The last commit that was sent.
        in_doubt: Whether `sent` may have been applied although its call failed.
    """

    target: IcebergTarget
    document: LineageDocument | None
    complete: bool
    dry_run: bool
    sql: str
    now: str
    last_read: TableState | None = field(default=None, repr=False)
    recreated: bool = False
    sent: Commit | None = None
    in_doubt: bool = False
    attempts: int = 0
    conflicts: int = 0

    def result(self, status: PushStatus, reason: str = "", hint: str = "") -> TableResult:
        """A result that leaves the table as it was read last."""
        state = self.last_read
        return self._result(
            status,
            reason,
            hint,
            before=state.properties if state else {},
            after=state.properties if state else {},
            version_before=state.version if state else None,
            version_after=state.version if state else None,
        )

    def updated(self, commit: Commit, after: Mapping[str, str], version: str | None) -> TableResult:
        """A result of a commit that made this version, with these properties."""
        before = commit.state.properties
        reasons = []
        if commit.removal:
            reasons.append("lineage removed: the table has no upstream any more")
        if self.recreated:
            reasons.append("the table was dropped and created again during the push")
        return self._result(
            PushStatus.UPDATED,
            "; ".join(reasons),
            before=before,
            after=after,
            version_before=commit.state.version,
            version_after=version,
            diff=diff_lines(before, after, "", "", self.sql),
        )

    def _result(self, status: PushStatus, reason: str, hint: str = "", **changes: Any) -> TableResult:
        return self.target.result(
            status, reason, hint, attempts=self.attempts, conflicts=self.conflicts, **changes
        )


class IcebergPropertiesWriter:
    """Pushes lineage to one table at a time of a catalog. Thread-safe if the catalog is.

    Args:
        catalog: A catalog opened by PyIceberg.
        settings: What to write, and how often to try.
        clock: The time for `last_synced`.
        sleep: Waits between attempts, in seconds.
    """

    def __init__(
        self,
        catalog: Catalog,
        settings: PushSettings,
        *,
        clock: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._catalog = catalog
        self._settings = settings
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._calls: Counter[str] = Counter()

    @property
    def calls(self) -> dict[str, int]:
        """The calls so far: `LoadTable` and `CommitTable`, as PyIceberg names them."""
        return dict(self._calls)

    def push(
        self, target: IcebergTarget, chain: Chain | None, *, complete: bool, dry_run: bool = False
    ) -> TableResult:
        """Push the lineage of one table. Errors of the catalog are reported in the result, not raised.

        Args:
            target: The table.
            chain: None, or a chain without hops, removes our lineage.
            complete: Whether every scope that the chain passes through was fully read.
            dry_run: Plan, but do not commit.
        """
        push = _TablePush(
            target,
            document=render(chain, self._settings) if chain and chain.hops else None,
            complete=complete,
            dry_run=dry_run,
            sql=self._settings.sql,
            now=iso(self._clock()),
        )
        retrying = push_attempts(self._settings.max_attempts, _worth_retrying, self._sleep)
        try:
            return retrying(self._attempt, push)
        except TableError as error:
            return self._give_up(push, error)

    def _attempt(self, push: _TablePush) -> TableResult:
        """Read, plan and commit once.

        Raises:
            TableError: The attempt failed; the class of the error decides whether to try again.
        """
        push.attempts += 1
        try:
            table = self._load(push.target)
        except TableNotFoundError:
            if push.document is not None:
                raise
            push.last_read = None
            return push.result(PushStatus.UNCHANGED, "the table does not exist any more")
        state = _state(table)
        push.recreated = push.recreated or bool(push.last_read and push.last_read.uuid != state.uuid)
        push.last_read = state
        if push.in_doubt:
            if push.sent is not None and _was_applied(push.sent, state):
                return push.updated(push.sent, state.properties, state.version)
            push.in_doubt = False
        plan = plan_properties(state, push.document, self._settings, complete=push.complete, now=push.now)
        if isinstance(plan, InSync):
            return push.result(PushStatus.UNCHANGED)
        if isinstance(plan, Refused):
            return push.result(PushStatus.REFUSED, plan.reason, plan.hint)
        if isinstance(plan, Held):
            return push.result(PushStatus.HELD, plan.reason)
        if push.dry_run:
            return push.updated(plan, plan.properties, state.version)
        response = self._commit(push, table, plan)
        made = TableState(
            str(response.metadata.table_uuid), response.metadata_location, response.metadata.properties
        )
        if not _was_applied(plan, made):
            push.conflicts += 1
            raise TableConflictError(f"Another writer of lineage changed {push.target.dotted} meanwhile.")
        return push.updated(plan, made.properties, made.version)

    def _load(self, target: IcebergTarget) -> Table:
        self._count("LoadTable")
        try:
            return self._catalog.load_table(target.identifier)
        except Exception as caught:
            raise translate(caught, action="Loading", where=f"the table {target.dotted}") from caught

    def _commit(self, push: _TablePush, table: Table, commit: Commit) -> CommitTableResponse:
        from pyiceberg.table.update import (
            AssertTableUUID,
            RemovePropertiesUpdate,
            SetPropertiesUpdate,
            TableUpdate,
        )

        updates: list[TableUpdate] = []
        if commit.lineage:
            updates.append(SetPropertiesUpdate(updates=dict(commit.lineage)))
        if commit.removed:
            updates.append(RemovePropertiesUpdate(removals=list(commit.removed)))
        self._count("CommitTable")
        push.sent = commit
        try:
            return self._catalog.commit_table(
                table, (AssertTableUUID(uuid=table.metadata.table_uuid),), tuple(updates)
            )
        except Exception as caught:
            error = translate(caught, action="Committing to", where=f"the table {push.target.dotted}")
            push.in_doubt = error.may_have_written
            push.conflicts += isinstance(error, TableConflictError)
            raise error from caught

    def _give_up(self, push: _TablePush, error: TableError) -> TableResult:
        """The result after the last attempt. A commit in doubt is looked up one last time."""
        target = push.target
        if not push.in_doubt:
            reason = error.message
            if isinstance(error, TableConflictError):
                reason = (
                    f"Other writers changed {target.dotted} during each of {push.attempts} attempts; "
                    "none of their commits was overwritten."
                )
            return push.result(PushStatus.FAILED, reason, error.hint or "Push again.")
        try:
            state = _state(self._load(target))
        except TableNotFoundError as gone:
            return push.result(PushStatus.FAILED, gone.message, gone.hint)
        except TableError as read_error:
            return push.result(
                PushStatus.UNKNOWN,
                "The commit may have been applied, and the table could not be loaded again: "
                f"{error.message}; {read_error.message}",
                "Push again: a table that is in sync gets no commit.",
            )
        push.last_read = state
        if push.sent is not None and _was_applied(push.sent, state):
            return push.updated(push.sent, state.properties, state.version)
        return push.result(PushStatus.FAILED, error.message, error.hint or "Push again.")

    def _count(self, call: str) -> None:
        with self._lock:
            self._calls[call] += 1


def _worth_retrying(error: BaseException) -> bool:
    return isinstance(error, TableError) and error.transient


def _state(table: Table) -> TableState:
    return TableState(str(table.metadata.table_uuid), table.metadata_location, dict(table.properties))


def _was_applied(commit: Commit, state: TableState) -> bool:
    """Whether the table carries exactly what the commit wrote, including its `last_synced`."""
    return state.uuid == commit.state.uuid and state.lineage == dict(commit.lineage)
