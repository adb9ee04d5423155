"""The pushes that are missing: tables whose last push does not match their current lineage.

Runs are requested for them, with backoff after those that did not update them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from logging import Logger

from lineage_bridge_dagster.automation.cursor import Attempt, Cursor, backoff
from lineage_bridge_dagster.automation.dagster_client import DagsterClient
from lineage_bridge_dagster.automation.foreign_tables import ForeignTables
from lineage_bridge_dagster.automation.loaded import LoadedState, LoadedTable
from lineage_bridge_dagster.automation.requests import (
    MAX_TABLES_A_RUN,
    PushRequest,
    TickResult,
    short_digest,
)
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.text import clock_time, first_few, plural, sentence

#: Tables whose last materialization is looked up at once.
_LOOKUP = 200
#: Requested tables that are not up to date yet; at this number a tick stops looking for more.
MAX_OPEN = 2000


@dataclass(frozen=True)
class MissingPushes:
    """One tick's comparison of the tables with their last push.

    Args:
        now: Unix time in seconds.
        out_of_time: whether the tick's budget is used up. One batch is compared nevertheless.
    """

    loaded: LoadedState
    dagster: DagsterClient
    log: Logger
    now: float
    out_of_time: Callable[[], bool]

    def request(self, result: TickResult) -> None:
        """Find the tables that are out of date and request their pushes."""
        cursor = result.cursor
        tables = self.loaded.tables
        by_key = {table.key.to_user_string(): table for table in tables}
        cursor.attempts = {key: attempt for key, attempt in cursor.attempts.items() if key in by_key}
        try:
            settings = short_digest(self.loaded.read_settings())
        except LineageBridgeError as error:
            result.note(self.log, f"tables cannot be compared with their last push: {error}")
            return
        if settings != cursor.settings:
            # Who pushes, and whether it takes over tables of others, are settings too.
            cursor.foreign = {}
        if (cursor.state, cursor.settings) != (self.loaded.version, settings):
            cursor.state, cursor.settings, cursor.compared = self.loaded.version, settings, 0
        foreign = ForeignTables(cursor)
        of_others = [table for table in tables if table.key in foreign]
        for table in of_others:
            cursor.attempts.pop(table.key.to_user_string(), None)
        outdated = self._outdated([by_key[key] for key in sorted(cursor.attempts)], cursor)
        # These are all that have an attempt, so they alone count against the limit.
        while cursor.compared < len(tables) and len(outdated) < MAX_OPEN:
            if cursor.compared and self.out_of_time():
                break
            batch = [
                table
                for table in tables[cursor.compared : cursor.compared + _LOOKUP]
                if table.key.to_user_string() not in cursor.attempts and table.key not in foreign
            ]
            outdated.update(self._outdated(batch, cursor))
            cursor.compared += _LOOKUP
        total = plural(len(tables), "table")
        if cursor.compared < len(tables):
            result.note(
                self.log,
                f"compared {cursor.compared:,} of {total} with their last push; the next tick continues",
            )
        else:
            current = len(tables) - len(outdated) - len(of_others)
            text = f"{current:,} of {total} were last pushed with their current lineage"
            self.log.info(sentence(text))
            result.up_to_date.append(text)
        if of_others:
            owners, names = first_few(foreign.owners), first_few([table.name for table in of_others])
            result.note(
                self.log,
                f"{plural(len(of_others), 'table')} of another instance ({owners}) not pushed: {names}; "
                "push.take_over takes them over",
            )
        if outdated:
            self._request_runs(result, outdated)

    def _outdated(self, tables: Sequence[LoadedTable], cursor: Cursor) -> dict[str, tuple[LoadedTable, str]]:
        """The tables without their current lineage, with its version; the attempts of the others end."""
        pushed = self.dagster.pushed_versions([table.key for table in tables]) if tables else {}
        outdated: dict[str, tuple[LoadedTable, str]] = {}
        for table in tables:
            key, wanted = table.key.to_user_string(), table.version()
            if pushed.get(table.key) == wanted:
                cursor.attempts.pop(key, None)
            else:
                outdated[key] = (table, wanted)
        return outdated

    def _request_runs(self, result: TickResult, outdated: Mapping[str, tuple[LoadedTable, str]]) -> None:
        """Request the tables that are in no run and past their backoff."""
        cursor, now = result.cursor, self.now
        in_flight = self.dagster.in_flight()
        requested: list[tuple[str, LoadedTable, Attempt]] = []
        in_runs = 0
        waiting: list[float] = []
        for key, (table, wanted) in sorted(outdated.items()):
            last = cursor.attempts.get(key)
            since = last.since if last is not None else now
            if last is not None and last.wanted != wanted:
                last = None
            if table.key in in_flight or (last is not None and now < last.not_before):
                cursor.attempts.setdefault(key, Attempt(wanted=wanted, not_before=now, since=since))
                if table.key in in_flight:
                    in_runs += 1
                else:
                    waiting.append(cursor.attempts[key].not_before)
                continue
            count = last.count + 1 if last else 1
            attempt = Attempt(wanted=wanted, count=count, not_before=now + backoff(count), since=since)
            requested.append((key, table, attempt))
        for key, _, attempt in requested:
            cursor.attempts[key] = attempt
        for start in range(0, len(requested), MAX_TABLES_A_RUN):
            part = requested[start : start + MAX_TABLES_A_RUN]
            text = "\n".join(f"{key} {attempt.wanted} {attempt.count}" for key, _, attempt in part)
            keys = tuple(asset for _, table, _ in part for asset in (table.chain_key, table.key))
            run_key = f"{self.loaded.version[:8]}:{short_digest(text)}:{int(now // 60)}"
            result.pushes.append(PushRequest(run_key, keys, len(part)))
        if requested:
            retries = sum(attempt.count > 1 for _, _, attempt in requested)
            names = first_few([table.name for _, table, _ in requested])
            runs = plural(len(result.pushes), "run")
            self.log.info(
                f"Requesting the lineage of {plural(len(requested), 'table')} in {runs}: {names}."
                + (f" {retries:,} of them again: the last run did not update them." if retries else "")
            )
        if in_runs:
            result.note(self.log, f"{plural(in_runs, 'table')} in queued or running runs")
        if waiting:
            result.note(
                self.log,
                f"{plural(len(waiting), 'table')} not updated by the last run, "
                f"next try at {clock_time(min(waiting))}",
            )
