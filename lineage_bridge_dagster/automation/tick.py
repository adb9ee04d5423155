"""One evaluation of the sensor, without Dagster's decorator, so that tests can drive it.

A tick makes cheap requests only and stays within a time budget; heavy work is requested as a run:

1. if a newer state is stored than the one loaded, reload the definitions and stop there;
2. if there is no state at all, or a damaged one, request a refresh; if it cannot be fetched, wait for it;
3. for tables whose last push does not match their current lineage, request their chains and pushes, with
   backoff after failures;
4. for tables that lost the lineage that was pushed, as a sweep of whole tables finds, request repairs;
5. if a list in Confluent or Glue differs from the state, put new tables into the state at once if a few
   requests tell all about them; else request a refresh.

A list that cannot be read changes nothing. Tables disappear only through a refresh and its coverage.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from logging import Logger
from uuid import uuid4

from lineage_bridge_dagster.automation.cursor import Cursor, backoff
from lineage_bridge_dagster.automation.dagster_client import DagsterClient
from lineage_bridge_dagster.automation.loaded import LoadedState
from lineage_bridge_dagster.automation.missing_pushes import MissingPushes
from lineage_bridge_dagster.automation.requests import RefreshRequest, TickResult, short_digest
from lineage_bridge_dagster.automation.state import UnreachableStateError
from lineage_bridge_dagster.automation.sweep import Sweep, SweepSettings
from lineage_bridge_dagster.automation.watched_lists import (
    ListReader,
    ListScope,
    difference,
    fingerprint,
    scopes_of,
    titles,
)
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.formats import NewerFormatError
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.glue_status import glue_counts
from lineage_bridge_dagster.text import clock_time, first_few, plural, sentence

#: This process among all that evaluate the sensor: a code server, until it reloads by a restart.
SERVER = f"{socket.gethostname()}/{uuid4().hex[:6]}"

#: Code servers that a cursor remembers.
_SERVERS = 3

#: Tables that Glue lacks whose checks a tick records.
MAX_ABSENT = 500


#: Returns the discovery with what changed in some lists; None if it takes a whole discovery. Raises
#: LineageBridgeError.
Update = Callable[[Discovery, Sequence[ListScope]], Discovery | None]


@dataclass(frozen=True)
class Tick:
    """One evaluation."""

    loaded: LoadedState
    dagster: DagsterClient
    read_list: ListReader
    log: Logger
    #: Puts what some lists show into the last discovery; None if it takes a whole discovery.
    update: Update = lambda _discovery, _scopes: None
    #: Seconds after which no further list or lookup starts; the next tick continues there.
    budget_seconds: float = 20.0
    clock: Callable[[], float] = time.time
    sweep: SweepSettings = field(default_factory=SweepSettings)
    #: Measures the budget.
    timer: Callable[[], float] = time.monotonic
    server: str = SERVER

    def run(self, cursor: Cursor) -> TickResult:
        began = self.timer()
        result = TickResult(cursor)
        self._report_servers(result)
        latest = self.dagster.latest_version()
        is_newer = latest is not None and latest != self.loaded.version
        if is_newer and self._reload(result):
            return result
        if latest is None:
            self._refresh(result, "no discovery is stored yet")
        elif is_newer or self.loaded.discovery is None:
            is_readable = self._can_read_state(result)
            if is_readable and not is_newer:
                # The server started while the storage was down.
                self._reload(result)
        if self.loaded.discovery is None or result.refresh is not None:
            return result
        self._report_absent(result, self.loaded.discovery)
        self._settle_refresh(result)
        now = self.clock()
        out_of_time = partial(self._out_of_time, began)
        MissingPushes(self.loaded, self.dagster, self.log, now, out_of_time).request(result)
        self._sweep(result, Sweep(self.sweep, self.loaded, self.dagster, self.log, now, out_of_time))
        self._watch(result, self.loaded.discovery, began)
        return result

    def _report_servers(self, result: TickResult) -> None:
        """Report a second code server behind the address of the first; a replaced one never returns."""
        known = result.cursor.servers
        if self.server in known[:-1] and known[-1] != self.server:
            result.note(
                self.log,
                f"two code servers take turns behind this code location, {self.server} and {known[-1]}, and "
                "each loads new tables for itself alone, so that they come and go in the UI. Run one of them",
            )
        result.cursor.servers = [*(each for each in known if each != self.server), self.server][-_SERVERS:]

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

    def _can_read_state(self, result: TickResult) -> bool:
        """Whether the newest state can be read. For one that never will be, a refresh is requested."""
        try:
            self.dagster.check_state()
        except (UnreachableStateError, NewerFormatError) as error:
            result.note(self.log, f"the stored discovery is not loaded: {error.reason.rstrip('.')}")
        except LineageBridgeError as error:
            self._refresh(result, f"the stored discovery cannot be read: {error.message}")
        else:
            return True
        return False

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
        results = [outcome() for _, outcome in absent[:MAX_ABSENT]]
        digest = short_digest(
            "\n".join(f"{each.asset_key} {each.severity} {each.description}" for each in results)
        )
        if digest == result.cursor.absent:
            return
        result.cursor.absent = digest
        result.checks = results
        self.log.info(
            f"Glue has no table for {first_few([name for name, _ in absent], 20)}; see their checks."
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

    def _sweep(self, result: TickResult, sweep: Sweep) -> None:
        try:
            sweep.run(result)
        except LineageBridgeError as error:
            result.note(self.log, f"tables cannot be compared with what was pushed: {error}")

    def _watch(self, result: TickResult, discovery: Discovery, began: float) -> None:
        """Read the lists in turn, from where the last tick stopped, and request a refresh for differences."""
        cursor = result.cursor
        scopes = scopes_of(discovery)
        title_of = titles(discovery)
        news: list[str] = []
        changed: dict[ListScope, str] = {}
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
            changed[scope] = current
            news.append(f"{title_of[scope]}: {found or 'some entries changed state'}")
        else:
            cursor.next_scope = 0
        if news:
            self._take_in(result, discovery, "; ".join(news), changed)
        elif scopes:
            lists = f"{reads} of {plural(len(scopes), 'list')} in Confluent and Glue"
            text = f"{lists} have {entries:,} entries, none of them new"
            self.log.info(sentence(text))
            result.up_to_date.append(text)

    def _take_in(
        self, result: TickResult, discovery: Discovery, reason: str, changed: Mapping[ListScope, str]
    ) -> None:
        """Store the discovery with what is new in some lists, and load it; else request a refresh."""
        seen = {str(scope): current for scope, current in changed.items()}
        if not self._update(result, discovery, list(changed)):
            self._refresh(result, reason, seen)
            return
        cursor = result.cursor
        cursor.refresh_lists = seen
        cursor.refresh_state = self.loaded.version
        result.note(self.log, f"added to the last discovery ({reason})")
        self._reload(result)

    def _update(self, result: TickResult, discovery: Discovery, scopes: Sequence[ListScope]) -> bool:
        """Whether the discovery could be updated, and is stored."""
        if self.dagster.refreshing():
            return False
        try:
            updated = self.update(discovery, scopes)
            if updated is None or self.dagster.latest_version() != self.loaded.version:
                return False
            self.dagster.store(updated)
        except Exception as error:
            if not isinstance(error, LineageBridgeError):
                self.log.exception("Adding new tables failed")
            result.note(self.log, f"new tables could not be added, so everything is read again: {error}")
            return False
        return True

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
        result.refresh = RefreshRequest(f"refresh:{short_digest(reason)}:{int(now // 10)}", reason)
        self.log.info(f"Requesting a refresh: {reason}.")
