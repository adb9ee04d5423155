"""One evaluation of the sensor, without Dagster's decorator, so that tests can drive it.

A tick makes cheap requests only and stays within a time budget; heavy work is requested as a run:

1. if a newer state is stored than the one loaded, reload the definitions and stop there;
2. if there is no state at all, request a refresh;
3. for tables whose last push does not match their current lineage, request their chains and pushes, with
   backoff after failures;
4. if a list in Confluent or Glue differs from the state, request a refresh.

A list that cannot be read changes nothing. Tables disappear only through a refresh and its coverage.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from logging import Logger
from typing import Protocol

from dagster import AssetCheckResult, AssetKey

from lineage_bridge_dagster.automation.cursor import Attempt, Cursor, backoff
from lineage_bridge_dagster.automation.watched_lists import (
    ListReader,
    ListScope,
    difference,
    fingerprint,
    scopes_of,
    titles,
)
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_status import glue_counts
from lineage_bridge_dagster.text import clock_time, first_few, plural, sentence

#: Tables per run: a run plans all of its tables at once, with one chain computation and one commit.
MAX_TABLES_A_RUN = 500
#: Tables whose last materialization is looked up at once.
_LOOKUP = 200
#: Tables that Glue lacks whose checks a tick records.
MAX_ABSENT = 500
#: Requested tables that are not up to date yet; at this number a tick stops looking for more.
MAX_OPEN = 2000


@dataclass(frozen=True)
class LoadedTable:
    """A table in the loaded definitions: its assets, and its data version once its lineage is pushed."""

    name: str
    key: AssetKey
    chain_key: AssetKey
    version: Callable[[], str]


@dataclass(frozen=True)
class AbsentTable:
    """A table that Glue does not have, in the loaded definitions: nothing is pushed to it.

    Attributes:
        outcome: an evaluation of its check, now.
    """

    name: str
    key: AssetKey
    outcome: Callable[[], AssetCheckResult]


@dataclass(frozen=True)
class LoadedState:
    """The state that the definitions were built from; `version` is empty if there was none yet."""

    version: str
    discovery: Discovery | None = None
    #: Sorted by key, without tables in conflict and those that Glue does not have.
    tables: Sequence[LoadedTable] = ()
    #: Reads what a push writes, for the versions of the tables, and returns it as text; raises if it cannot.
    read_settings: Callable[[], str] = lambda: ""
    #: The tables that Glue does not have, or of which that is unknown.
    absent: Sequence[AbsentTable] = ()


class DagsterClient(Protocol):
    """What a tick needs from Dagster."""

    def latest_version(self) -> str | None:
        """The version of the newest stored state."""

    def refreshing(self) -> bool:
        """Whether a refresh is queued or running."""

    def refreshed_since(self, since: float) -> bool:
        """Whether a refresh that started after a Unix time has succeeded."""

    def in_flight(self) -> frozenset[AssetKey]:
        """The assets that queued and running runs will materialize."""

    def pushed_versions(self, keys: Sequence[AssetKey]) -> Mapping[AssetKey, str | None]:
        """The data version of each asset's last materialization; None if there is none."""

    def reload(self) -> str:
        """Reload the definitions from the newest state and return how; raises if that fails."""


@dataclass(frozen=True)
class PushRequest:
    """A run that computes and pushes the lineage of some tables."""

    run_key: str
    keys: tuple[AssetKey, ...]
    tables: int


@dataclass(frozen=True)
class RefreshRequest:
    """A refresh, and the reason for it."""

    run_key: str
    reason: str


@dataclass
class TickResult:
    """What a tick requests, and what it reports in the UI."""

    cursor: Cursor
    pushes: list[PushRequest] = field(default_factory=list)
    refresh: RefreshRequest | None = None
    #: What it waits for or could not do, as clauses that form one sentence.
    notes: list[str] = field(default_factory=list)
    #: What it found up to date, as clauses too.
    up_to_date: list[str] = field(default_factory=list)
    #: How many tables Glue has and lacks; empty if it lacks none.
    glue_tables: str = ""
    #: Results of the checks of tables that Glue lacks, to record without a run.
    checks: list[AssetCheckResult] = field(default_factory=list)

    def note(self, log: Logger, text: str) -> None:
        self.notes.append(text)
        log.info(sentence(text))

    @property
    def skip_reason(self) -> str:
        """One sentence on why nothing is requested."""
        if self.notes:
            text = sentence("; ".join(self.notes))
        else:
            text = sentence(": ".join(filter(None, ["nothing new", ", and ".join(self.up_to_date)])))
        return " ".join(filter(None, [text, self.glue_tables]))


@dataclass(frozen=True)
class Tick:
    """One evaluation."""

    loaded: LoadedState
    dagster: DagsterClient
    read_list: ListReader
    log: Logger
    #: Seconds after which no further list or lookup starts; the next tick continues there.
    budget_seconds: float = 20.0
    clock: Callable[[], float] = time.time
    #: Measures the budget.
    timer: Callable[[], float] = time.monotonic

    def run(self, cursor: Cursor) -> TickResult:
        began = self.timer()
        result = TickResult(cursor)
        latest = self.dagster.latest_version()
        if latest and latest != self.loaded.version and self._reload(result):
            return result
        if self.loaded.discovery is None:
            if latest is None:
                self._refresh(result, "no discovery is stored yet")
            elif latest == self.loaded.version:
                self._refresh(result, "the stored discovery cannot be read")
            return result
        self._report_absent(result, self.loaded.discovery)
        self._settle_refresh(result)
        self._push(result, began)
        self._watch(result, self.loaded.discovery, began)
        return result

    def _out_of_time(self, began: float) -> bool:
        return self.timer() - began >= self.budget_seconds

    def _reload(self, result: TickResult) -> bool:
        """Reload; after a failure the loaded definitions stay in use, and the next tick tries again."""
        try:
            how = self.dagster.reload()
        except Exception as error:
            self.log.exception("Reloading failed")
            result.notes.append(f"a newer discovery is stored but cannot be loaded yet: {error}")
            return False
        result.note(self.log, f"loaded a newer discovery ({how}); the next tick uses it")
        return True

    def _report_absent(self, result: TickResult, discovery: Discovery) -> None:
        """Report the tables that Glue lacks: their number always, their checks when an outcome changed.

        Nothing is pushed to such a table, so no run would evaluate its check.
        """
        absent = self.loaded.absent
        if not absent:
            result.cursor.absent = ""
            return
        result.glue_tables = f"Glue tables: {glue_counts(discovery.graph)}."
        self.log.info(result.glue_tables)
        results = [table.outcome() for table in absent[:MAX_ABSENT]]
        digest = _digest(
            "\n".join(f"{each.asset_key} {each.severity} {each.description}" for each in results)
        )
        if digest == result.cursor.absent:
            return
        result.cursor.absent = digest
        result.checks = results
        self.log.info(
            f"Glue has no table for {first_few([table.name for table in absent], 20)}; see their checks."
        )

    def _settle_refresh(self, result: TickResult) -> None:
        """Count the lists behind a refresh as seen, once a newer state is loaded or it found nothing new."""
        cursor = result.cursor
        newer = cursor.refresh_state != self.loaded.version
        if not newer and not (cursor.refresh_lists and self.dagster.refreshed_since(cursor.refresh_time)):
            return
        if not newer:
            self.log.info("The refresh found nothing new.")
        cursor.seen.update(cursor.refresh_lists)
        cursor.refresh_lists = {}
        if newer:
            cursor.outdated = sorted(cursor.seen)
        cursor.refresh_state = self.loaded.version
        cursor.refreshes = 0
        cursor.refresh_not_before = 0.0

    def _push(self, result: TickResult, began: float) -> None:
        """Find the tables that are out of date and request their pushes."""
        cursor = result.cursor
        tables = self.loaded.tables
        by_key = {table.key.to_user_string(): table for table in tables}
        cursor.attempts = {key: attempt for key, attempt in cursor.attempts.items() if key in by_key}
        try:
            settings = _digest(self.loaded.read_settings())
        except LineageBridgeError as error:
            result.note(self.log, f"tables cannot be compared with their last push: {error}")
            return
        if (cursor.state, cursor.settings) != (self.loaded.version, settings):
            cursor.state, cursor.settings, cursor.compared = self.loaded.version, settings, 0
        outdated = self._outdated([by_key[key] for key in sorted(cursor.attempts)], cursor)
        # These are all that have an attempt, so they alone count against the limit.
        while cursor.compared < len(tables) and len(outdated) < MAX_OPEN:
            if cursor.compared and self._out_of_time(began):
                break
            batch = [
                table
                for table in tables[cursor.compared : cursor.compared + _LOOKUP]
                if table.key.to_user_string() not in cursor.attempts
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
            text = f"{len(tables) - len(outdated):,} of {total} were last pushed with their current lineage"
            self.log.info(sentence(text))
            result.up_to_date.append(text)
        if outdated:
            self._request_pushes(result, outdated)

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

    def _request_pushes(self, result: TickResult, outdated: Mapping[str, tuple[LoadedTable, str]]) -> None:
        """Request the tables that are in no run and past their backoff."""
        cursor, now = result.cursor, self.clock()
        in_flight = self.dagster.in_flight()
        due: list[tuple[str, LoadedTable, Attempt]] = []
        in_runs = 0
        waiting: list[float] = []
        for key, (table, wanted) in sorted(outdated.items()):
            last = cursor.attempts.get(key)
            if last is not None and last.wanted != wanted:
                last = None
            if table.key in in_flight or (last is not None and now < last.not_before):
                cursor.attempts.setdefault(key, Attempt(wanted=wanted, count=1, not_before=now))
                if table.key in in_flight:
                    in_runs += 1
                else:
                    waiting.append(cursor.attempts[key].not_before)
                continue
            count = last.count + 1 if last else 1
            due.append((key, table, Attempt(wanted=wanted, count=count, not_before=now + backoff(count))))
        for key, _, attempt in due:
            cursor.attempts[key] = attempt
        for start in range(0, len(due), MAX_TABLES_A_RUN):
            part = due[start : start + MAX_TABLES_A_RUN]
            text = "\n".join(f"{key} {attempt.wanted} {attempt.count}" for key, _, attempt in part)
            keys = tuple(asset for _, table, _ in part for asset in (table.chain_key, table.key))
            run_key = f"{self.loaded.version[:8]}:{_digest(text)}:{int(now // 60)}"
            result.pushes.append(PushRequest(run_key, keys, len(part)))
        if due:
            retries = sum(attempt.count > 1 for _, _, attempt in due)
            names = first_few([table.name for _, table, _ in due])
            runs = plural(len(result.pushes), "run")
            self.log.info(
                f"Requesting the lineage of {plural(len(due), 'table')} in {runs}: {names}."
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

    def _watch(self, result: TickResult, discovery: Discovery, began: float) -> None:
        """Read the lists in turn, from where the last tick stopped, and request a refresh for differences."""
        cursor = result.cursor
        scopes = scopes_of(discovery)
        title_of = titles(discovery)
        news: list[str] = []
        changed: dict[str, str] = {}
        reads = entries = 0
        start = cursor.next_scope % len(scopes) if scopes else 0
        for scope in [*scopes[start:], *scopes[:start]]:
            if reads and self._out_of_time(began):
                result.note(
                    self.log,
                    f"out of time after {reads} of {plural(len(scopes), 'list')}; the next tick continues "
                    f"with the {title_of[scope]}",
                )
                break
            reads += 1
            cursor.next_scope = (start + reads) % len(scopes)
            items = self._items(result, scope, title_of[scope])
            if items is None:
                continue
            entries += len(items)
            current = fingerprint(items)
            seen = cursor.seen.get(str(scope))
            unsure = seen is None or str(scope) in cursor.outdated
            cursor.outdated = [other for other in cursor.outdated if other != str(scope)]
            if current == seen:
                continue
            found = difference(discovery, scope, items)
            if unsure and not found:
                cursor.seen[str(scope)] = current
                continue
            changed[str(scope)] = current
            news.append(f"{title_of[scope]}: {found or 'some entries changed state'}")
        else:
            cursor.next_scope = 0
        if news:
            self._refresh(result, "; ".join(news), changed)
        elif scopes:
            lists = f"{reads} of {plural(len(scopes), 'list')} in Confluent and Glue"
            text = f"{lists} have {entries:,} entries, none of them new"
            self.log.info(sentence(text))
            result.up_to_date.append(text)

    def _items(self, result: TickResult, scope: ListScope, title: str) -> list[str] | None:
        """The entries of a list; None if it could not be read."""
        try:
            return sorted(self.read_list(scope))
        except Exception as error:
            text = f"the {title} could not be listed, so none of them are removed: {error}"
            result.notes.append(text)
            self.log.warning(sentence(text))
            return None

    def _refresh(self, result: TickResult, reason: str, changed: Mapping[str, str] | None = None) -> None:
        """Request a refresh unless one is in progress or the backoff after the last ones has not passed."""
        cursor, now = result.cursor, self.clock()
        if self.dagster.refreshing():
            result.note(self.log, f"a refresh is queued or running ({reason})")
            return
        if now < cursor.refresh_not_before:
            again = clock_time(cursor.refresh_not_before)
            result.note(self.log, f"the last refresh did not succeed, next try at {again} ({reason})")
            return
        cursor.refreshes += 1
        cursor.refresh_not_before = now + backoff(cursor.refreshes, first=15.0, longest=900.0)
        cursor.refresh_lists = dict(changed or {})
        cursor.refresh_state = self.loaded.version
        cursor.refresh_time = now
        result.refresh = RefreshRequest(f"refresh:{_digest(reason)}:{int(now // 10)}", reason)
        self.log.info(f"Requesting a refresh: {reason}.")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
