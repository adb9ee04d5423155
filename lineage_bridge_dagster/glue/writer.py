"""The push to one table, without losing a concurrent commit or anyone's words.

A write is bound to the version that was read (`VersionId`): after a commit in between it fails instead of
rolling the commit back. When a write is in doubt (a timeout, a 5xx, a conflict that may be with its own first
attempt), the table is read again, and what it carries decides.

Delivery is at least once, and pushing the same lineage twice writes once: a table in sync is not written.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.glue.errors import GlueConflictError, GlueError, GlueNotFoundError, translate
from lineage_bridge_dagster.glue.plan import Hold, NoChange, Refuse, Update, plan_update
from lineage_bridge_dagster.glue.reader import GlueReader
from lineage_bridge_dagster.glue.tables import GlueTable
from lineage_bridge_dagster.glue.targets import PushTarget
from lineage_bridge_dagster.lineage.chains import Chain
from lineage_bridge_dagster.lineage.documents import PREFIX, LineageDocument, render
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.glue_status import absence_sentence, is_in_glue
from lineage_bridge_dagster.lineage.nodes import NodeView
from lineage_bridge_dagster.lineage.push_attempts import push_attempts
from lineage_bridge_dagster.lineage.push_diff import diff_lines
from lineage_bridge_dagster.lineage.push_results import PushStatus, TableResult
from lineage_bridge_dagster.lineage.times import iso, utc_now

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient


@dataclass(slots=True)
class _TablePush:
    """The state of the push to one table, over its attempts.

    Attributes:
        sql: how the diff shows SQL.
        removal_reason: why our lineage is removed, if it is.
        table: the table as the caller read it, for the first attempt.
        last_read: the table as it was read last.
        sent: the last update that was sent.
        in_doubt: whether `sent` may have been applied although its call failed.
    """

    target: PushTarget
    document: LineageDocument | None
    complete: bool
    dry_run: bool
    sql: str
    now: str
    table: GlueTable | None
    removal_reason: str
    last_read: GlueTable | None = field(default=None, repr=False)
    sent: Update | None = None
    in_doubt: bool = False
    attempts: int = 0
    conflicts: int = 0

    def result(self, status: PushStatus, reason: str = "", hint: str = "") -> TableResult:
        """A result that leaves the table as it was read last."""
        table = self.last_read
        return self._result(
            status,
            reason,
            hint,
            before=table.parameters if table else {},
            after=table.parameters if table else {},
            description_before=table.description if table else "",
            description_after=table.description if table else "",
            version_before=table.version_id if table else None,
            version_after=table.version_id if table else None,
        )

    def updated(self, update: Update, version: str | None) -> TableResult:
        """A result of an update that made this version."""
        table = update.table
        return self._result(
            PushStatus.UPDATED,
            self.removal_reason if update.removal else "",
            before=table.parameters,
            after=update.parameters,
            description_before=table.description,
            description_after=update.description,
            version_before=table.version_id,
            version_after=version,
            diff=diff_lines(
                table.parameters, update.parameters, table.description, update.description, self.sql
            ),
        )

    def _result(self, status: PushStatus, reason: str, hint: str = "", **changes: Any) -> TableResult:
        return TableResult(
            self.target.node.node_id,
            self.target.place.database,
            self.target.place.table,
            status,
            reason,
            hint,
            attempts=self.attempts,
            conflicts=self.conflicts,
            **changes,
        )


class GlueLineageWriter:
    """Pushes lineage to one table at a time. Thread-safe.

    Args:
        client: a Glue client.
        settings: what to write, and how often to try.
        clock: the time for `last_synced`.
        sleep: waits between attempts, in seconds.
    """

    def __init__(
        self,
        client: GlueClient,
        settings: PushSettings,
        *,
        clock: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.reader = GlueReader(client)
        self._client = client
        self._settings = settings
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._updates = 0

    @property
    def calls(self) -> dict[str, int]:
        """The API calls so far, by operation."""
        calls = dict(self.reader.calls)
        if self._updates:
            calls["UpdateTable"] = self._updates
        return calls

    def push(
        self,
        target: PushTarget,
        chain: Chain | None,
        *,
        complete: bool,
        table: GlueTable | None = None,
        dry_run: bool = False,
        removal_reason: str = "lineage removed: the table has no upstream any more",
    ) -> TableResult:
        """Push the lineage of one table. Errors of Glue are reported in the result, not raised.

        Args:
            chain: None, or a chain without hops, removes our lineage.
            complete: whether every scope that the chain passes through was fully read.
            table: the table if it was just read, to save a call. An outdated one only costs a conflict.
            dry_run: plan, but do not write.
            removal_reason: the reason in the result of a removal.
        """
        push = _TablePush(
            target,
            document=render(chain, self._settings) if chain and chain.hops else None,
            complete=complete,
            dry_run=dry_run,
            sql=self._settings.sql,
            now=iso(self._clock()),
            table=table,
            removal_reason=removal_reason,
        )
        retrying = push_attempts(self._settings.max_attempts, _worth_retrying, self._sleep)
        try:
            return retrying(self._attempt, push)
        except GlueError as error:
            return self._give_up(push, error)

    def _attempt(self, push: _TablePush) -> TableResult:
        """Read, plan and write once.

        Raises:
            GlueError: the attempt failed; the class of the error decides whether to try again.
        """
        push.attempts += 1
        place = push.target.place
        table, push.table = push.table or self._read(place), None
        if table is None:
            if push.document is None:
                return push.result(PushStatus.UNCHANGED, "the table does not exist in Glue any more")
            if not is_in_glue(push.target.node):
                next_step = NodeView.of(push.target.node).text("glue_next_step")
                return push.result(PushStatus.SKIPPED, absence_sentence(push.target.node), next_step)
            raise GlueNotFoundError(
                f"The table {place.dotted} does not exist in Glue.",
                hint="It was dropped, or Tableflow has not synced it yet. Check the catalog integration in "
                "Confluent, and that LINEAGE_BRIDGE_AWS_REGION is its region.",
            )
        push.last_read = table
        if push.in_doubt:
            if push.sent is not None and _was_applied(push.sent, table):
                return push.updated(push.sent, table.version_id)
            push.in_doubt = False
        plan = plan_update(table, push.document, self._settings, complete=push.complete, now=push.now)
        if isinstance(plan, NoChange):
            return push.result(PushStatus.UNCHANGED)
        if isinstance(plan, Refuse):
            return push.result(PushStatus.REFUSED, plan.reason, plan.hint)
        if isinstance(plan, Hold):
            return push.result(PushStatus.HELD, plan.reason)
        if push.dry_run:
            return push.updated(plan, table.version_id)
        self._write(push, plan)
        return push.updated(plan, _next_version(table.version_id))

    def _read(self, place: GluePlace) -> GlueTable | None:
        return self.reader.table(place.database, place.table)

    def _write(self, push: _TablePush, update: Update) -> None:
        table = update.table
        request: dict[str, Any] = {
            "DatabaseName": table.database,
            "TableInput": update.table_input,
            "VersionId": table.version_id,
            "SkipArchive": True,
        }
        if table.catalog_id:
            request["CatalogId"] = table.catalog_id
        with self._lock:
            self._updates += 1
        push.sent = update
        try:
            self._client.update_table(**request)
        except Exception as caught:
            error = translate(
                caught,
                action="glue:UpdateTable",
                where=f"the table {table.place.dotted}",
                region=self._client.meta.region_name,
            )
            push.in_doubt = error.may_have_written
            push.conflicts += isinstance(error, GlueConflictError)
            raise error from caught

    def _give_up(self, push: _TablePush, error: GlueError) -> TableResult:
        """The result after the last attempt. A write in doubt is looked up one last time."""
        place = push.target.place
        if not push.in_doubt:
            reason = error.message
            if isinstance(error, GlueConflictError):
                reason = (
                    f"Other writers changed {place.dotted} during each of {push.attempts} attempts; "
                    "none of their commits was overwritten."
                )
            hint = error.hint or ("Push again." if error.transient else "")
            return push.result(PushStatus.FAILED, reason, hint)
        try:
            table = self._read(place)
        except GlueError as read_error:
            return push.result(
                PushStatus.UNKNOWN,
                "The write may have been applied, and the table could not be read back: "
                f"{error.message}; {read_error.message}",
                "Push again: a table that is in sync is not written.",
            )
        if table is not None:
            push.last_read = table
            if push.sent is not None and _was_applied(push.sent, table):
                return push.updated(push.sent, table.version_id)
        return push.result(PushStatus.FAILED, error.message, error.hint or "Push again.")


def _worth_retrying(error: BaseException) -> bool:
    """A write in doubt needs another look even if its last error is final: see `GlueError.retried`."""
    return isinstance(error, GlueError) and (error.transient or error.may_have_written)


def _next_version(version: str | None) -> str | None:
    """The version that an update of this one makes; None if it is not a number.

    "A VersionID is a string representation of an integer. Each version is incremented by 1." (Glue's API
    reference, GetTableVersion)
    """
    return str(int(version) + 1) if version and version.isdecimal() else None


def _was_applied(update: Update, table: GlueTable) -> bool:
    """Whether the table carries exactly what the update wrote, including its `last_synced`."""

    def ours(parameters: Mapping[str, str]) -> dict[str, str]:
        return {key: value for key, value in parameters.items() if key.startswith(PREFIX)}

    return ours(update.parameters) == ours(table.parameters) and update.description == table.description
