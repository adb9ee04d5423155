"""Carrying out one push: no lost commit, no lost word.

A write is bound to the version that was read (`VersionId`), so a commit in between makes it fail rather than
be rolled back. Whatever leaves a write in doubt (a timeout, a 5xx, a conflict that may be with our own first
try) is settled by reading again: what stands decides.

Delivery is at least once, and the same push twice writes once: a table in sync is left alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from lineage_bridge_dagster.config.settings import PushSettings
from lineage_bridge_dagster.glue.diff import diff_lines
from lineage_bridge_dagster.glue.errors import GlueError, Outcome, translate
from lineage_bridge_dagster.glue.plan import Hold, NoChange, Refuse, Update, plan_update
from lineage_bridge_dagster.glue.results import PushStatus, TableResult
from lineage_bridge_dagster.glue.tables import GlueReader, GlueTable
from lineage_bridge_dagster.lineage.chains import Chain
from lineage_bridge_dagster.lineage.documents import PREFIX, LineageDocument, PushOptions, render
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import GlueTableNode
from lineage_bridge_dagster.lineage.times import iso, utc_now

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

#: Seconds between tries of one table, drawn at random up to a bound that doubles.
_WAIT = wait_random_exponential(multiplier=0.1, max=5)


def push_options(settings: PushSettings) -> PushOptions:
    return PushOptions(
        set_parameters=settings.set_parameters, set_description=settings.set_description, sql=settings.sql
    )


@dataclass(slots=True)
class _Work:
    """One table's push while it is under way."""

    node: Node
    database: str
    name: str
    document: LineageDocument | None
    complete: bool
    dry_run: bool
    now: str
    table: GlueTable | None = None
    attempts: int = 0
    conflicts: int = 0
    #: The last write that was sent, and whether it may be there though Glue did not say so.
    sent: Update | None = None
    in_doubt: bool = False
    #: The reading that came last, to report when nothing was written.
    last: GlueTable | None = field(default=None, repr=False)


class GlueLineageWriter:
    """Pushes one table at a time; threads may share it.

    Args:
        client: a Glue client.
        options: what to write; by default what `settings` say.
        settings: bounds of a push.
        clock: gives the `last_synced` of what is written.
        sleep: waits between tries, in seconds.
    """

    def __init__(
        self,
        client: GlueClient,
        options: PushOptions | None = None,
        settings: PushSettings | None = None,
        *,
        clock: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.settings = settings or PushSettings()
        self.options = options or push_options(self.settings)
        self.reader = GlueReader(client)
        self._client = client
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._updates = 0

    @property
    def calls(self) -> dict[str, int]:
        """Calls to Glue so far, by operation."""
        found = dict(self.reader.calls)
        if self._updates:
            found["UpdateTable"] = self._updates
        return found

    def push(
        self,
        node: Node,
        chain: Chain | None,
        *,
        table: GlueTable | None = None,
        complete: bool | None = None,
        dry_run: bool = False,
    ) -> TableResult:
        """Push one table's chain; nothing is raised for what goes wrong at Glue.

        Args:
            node: the table's node.
            chain: its chain; None or one without hops takes our lineage away.
            table: the table as it was just read, to spare a call. A stale reading does no harm.
            complete: whether the chain's scopes answered whole; by default what the chain says.
            dry_run: plan, and write nothing.
        """
        place = GlueTableNode.of(node).home_place
        reason = unpushable(node, self._client.meta.region_name)
        if place is None or reason is not None:
            database, name = (place.database, place.table) if place else ("", node.qualified_name)
            return TableResult(node.node_id, database, name, PushStatus.REFUSED, reason or "")
        hops = chain.hops if chain else ()
        work = _Work(
            node=node,
            database=place.database,
            name=place.table,
            document=render(chain, self.options) if chain and hops else None,
            complete=complete if complete is not None else bool(chain and chain.complete),
            dry_run=dry_run,
            now=iso(self._clock()),
            table=table,
        )
        retrying = Retrying(
            stop=stop_after_attempt(self.settings.max_attempts),
            wait=_WAIT,
            retry=retry_if_exception(lambda error: isinstance(error, GlueError) and _again(error)),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return retrying(self._attempt, work)
        except GlueError as error:
            return self._give_up(work, error)

    def _attempt(self, work: _Work) -> TableResult:
        """Read, plan, write, once.

        Raises:
            GlueError: it did not work; whether to try again is the error's to say.
        """
        work.attempts += 1
        table = work.table
        if table is None:
            table = self.reader.table(work.database, work.name)
        work.table = None
        if table is None and work.document is None:
            return self._result(work, PushStatus.UNCHANGED, "it is not in Glue any more")
        if table is None:
            raise GlueError(
                f"The table {work.database}.{work.name} is not in Glue.",
                hint="It may have been dropped, or its catalog sync is not done yet. Check the catalog "
                "integration in Confluent, and that LINEAGE_BRIDGE_AWS_REGION is its region.",
                outcome=Outcome.NOT_FOUND,
            )
        work.last = table
        if work.in_doubt:
            if work.sent is not None and _stands(work.sent, table):
                return self._updated(work, work.sent, table.version_id)
            work.in_doubt = False
        plan = plan_update(table, work.document, self.options, complete=work.complete, now=work.now)
        if isinstance(plan, NoChange):
            return self._result(work, PushStatus.UNCHANGED)
        if isinstance(plan, Refuse):
            return self._result(work, PushStatus.REFUSED, plan.reason)
        if isinstance(plan, Hold):
            return self._result(work, PushStatus.HELD, plan.reason)
        if not work.dry_run:
            self._write(work, plan)
        version = _next_version(table.version_id) if not work.dry_run else table.version_id
        return self._updated(work, plan, version)

    def _write(self, work: _Work, plan: Update) -> None:
        table = plan.table
        request: dict[str, Any] = {
            "DatabaseName": table.database,
            "TableInput": plan.table_input,
            "VersionId": table.version_id,
            "SkipArchive": True,
        }
        if table.catalog_id:
            request["CatalogId"] = table.catalog_id
        with self._lock:
            self._updates += 1
        work.sent = plan
        try:
            self._client.update_table(**request)
        except Exception as caught:
            error = translate(caught, action="glue:UpdateTable", where=f"the table {table.label}")
            work.in_doubt = error.may_have_written
            work.conflicts += error.outcome is Outcome.CONFLICT
            raise error from caught

    def _give_up(self, work: _Work, error: GlueError) -> TableResult:
        """The tries are over: a write in doubt is looked for one last time."""
        if not work.in_doubt:
            reason = error.message
            if error.outcome is Outcome.CONFLICT:
                reason = (
                    f"{work.database}.{work.name} was changed by others in each of {work.attempts} tries; "
                    "none of their commits was undone."
                )
            hint = error.hint or ("Push again." if error.transient else "")
            return self._result(work, PushStatus.FAILED, reason, hint)
        try:
            table = self.reader.table(work.database, work.name)
        except GlueError as unreadable:
            return self._result(
                work,
                PushStatus.UNKNOWN,
                f"The write may have been done, and could not be read back: {error.message}; "
                f"{unreadable.message}",
                "Push again: a table that is in sync is left alone.",
            )
        if table is not None:
            work.last = table
            if work.sent is not None and _stands(work.sent, table):
                return self._updated(work, work.sent, table.version_id)
        return self._result(work, PushStatus.FAILED, error.message, error.hint or "Push again.")

    def _updated(self, work: _Work, plan: Update, version: str | None) -> TableResult:
        before = plan.table
        return TableResult(
            table=work.node.node_id,
            database=work.database,
            table_name=work.name,
            status=PushStatus.UPDATED,
            reason="lineage removed: nothing is upstream any more" if plan.removal else "",
            before=before.parameters,
            after=plan.parameters,
            description_before=before.description,
            description_after=plan.description,
            version_before=before.version_id,
            version_after=version,
            diff=diff_lines(before.parameters, plan.parameters, before.description, plan.description),
            attempts=work.attempts,
            conflicts=work.conflicts,
        )

    def _result(self, work: _Work, status: PushStatus, reason: str = "", hint: str = "") -> TableResult:
        last = work.last
        return TableResult(
            table=work.node.node_id,
            database=work.database,
            table_name=work.name,
            status=status,
            reason=reason,
            hint=hint,
            before=last.parameters if last else {},
            after=last.parameters if last else {},
            description_before=last.description if last else "",
            description_after=last.description if last else "",
            version_before=last.version_id if last else None,
            version_after=last.version_id if last else None,
            attempts=work.attempts,
            conflicts=work.conflicts,
        )


def _again(error: GlueError) -> bool:
    """A final refusal after a retried call says nothing about the first try: that needs one more look."""
    return error.transient or error.may_have_written


def unpushable(node: Node, region: str) -> str | None:
    """Why a node can't be pushed to, by what the graph alone tells."""
    table = GlueTableNode.of(node)
    if table.conflict:
        return f"{table.conflict}, so whose lineage belongs there is not known"
    if table.home_place is None:
        return f"the graph does not tell its database and table here: {node.qualified_name}"
    if table.aws_region and table.aws_region != region:
        return f"it is in {table.aws_region}, and this push goes to {region}"
    return None


def _next_version(version: str | None) -> str | None:
    """ "A VersionID is a string representation of an integer. Each version is incremented by 1."

    That is Glue's own API reference (GetTableVersion); anything else is not guessed at.
    """
    return str(int(version) + 1) if version and version.isdecimal() else None


def _stands(sent: Update, table: GlueTable) -> bool:
    """Whether what we sent is what stands, its own `last_synced` included."""

    def ours(parameters: Mapping[str, str]) -> dict[str, str]:
        return {key: value for key, value in parameters.items() if key.startswith(PREFIX)}

    return ours(sent.parameters) == ours(table.parameters) and sent.description == table.description
