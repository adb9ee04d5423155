"""One evaluation of the sensor, step by step, free of Dagster's decorator so that tests drive it.

A tick asks only cheap things and stays within a budget of time; everything heavy it asks for as a run:

1. a newer state is stored than the definitions were built from: have them reloaded, and stop there;
2. there is no state at all: ask for a refresh, so that nobody has to;
3. tables whose pushed version is not the wanted one: ask for their chain and push, failed ones with backoff;
4. the outside's cheap lists differ from what the state has seen: ask for a refresh.

A list that can't be asked says nothing: what was known stays. Tables that are gone leave only by a refresh,
and by its coverage.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from logging import Logger

from dagster import AssetKey

from lineage_bridge_dagster.automation.cursor import Attempt, Cursor, backoff
from lineage_bridge_dagster.automation.watched_lists import (
    Lister,
    ListScope,
    difference,
    fingerprint,
    scopes_of,
    titles,
)
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.text import clock_time, first_few, plural, sentence

#: Tables to one run: a run holds them all in one plan, one chain computation and one commit.
MAX_TABLES_A_RUN = 500
#: Tables whose last materialization is looked up at once.
_LOOKUP = 200
#: Tables asked for and not yet done; while there are as many, no further ones are looked for.
MAX_OPEN = 2000


@dataclass(frozen=True)
class WantedTable:
    """A table that the definitions hold: its assets, and the data version it has once it is pushed."""

    name: str
    key: AssetKey
    chain_key: AssetKey
    version: Callable[[], str]


@dataclass(frozen=True)
class Loaded:
    """What the running definitions were built from. `version` is empty when there was no state yet."""

    version: str
    discovery: Discovery | None = None
    #: Sorted by key, conflicts left out.
    tables: Sequence[WantedTable] = ()


class Dagster:
    """What a tick asks of Dagster; a seam for tests."""

    def latest_version(self) -> str | None:
        """The newest stored state's version."""
        raise NotImplementedError

    def refreshing(self) -> bool:
        """Whether a refresh is queued or running."""
        raise NotImplementedError

    def refreshed_since(self, since: float) -> bool:
        """Whether a refresh that was begun after a Unix time has succeeded."""
        raise NotImplementedError

    def in_flight(self) -> frozenset[AssetKey]:
        """The assets that queued or running runs will materialize."""
        raise NotImplementedError

    def pushed_versions(self, keys: Sequence[AssetKey]) -> Mapping[AssetKey, str | None]:
        """The data version of each asset's last materialization; None where there is none."""
        raise NotImplementedError

    def reload(self) -> str:
        """Have the definitions reloaded from the newest state; returns how. Raises when that failed."""
        raise NotImplementedError


@dataclass(frozen=True)
class PushRequest:
    """A run wanted for these assets."""

    run_key: str
    keys: tuple[AssetKey, ...]
    tables: int


@dataclass(frozen=True)
class RefreshRequest:
    """A refresh wanted, and why."""

    run_key: str
    reason: str


@dataclass
class Outcome:
    """What a tick wants, and what it says of itself."""

    cursor: Cursor
    pushes: list[PushRequest] = field(default_factory=list)
    refresh: RefreshRequest | None = None
    #: What it waits for or could not do, as clauses of one sentence.
    notes: list[str] = field(default_factory=list)
    #: What it saw where there is nothing to wait for, as such clauses too.
    seen: list[str] = field(default_factory=list)

    def note(self, log: Logger, text: str) -> None:
        self.notes.append(text)
        log.info(sentence(text))

    @property
    def skip_reason(self) -> str:
        """One sentence on why nothing is asked for."""
        nothing = ": ".join(["nothing is new", *([", and ".join(self.seen)] if self.seen else [])])
        return sentence("; ".join(self.notes) or nothing)


@dataclass(frozen=True)
class Tick:
    """One evaluation."""

    loaded: Loaded
    dagster: Dagster
    lister: Lister
    log: Logger
    #: Seconds after which no further list or lookup is begun; the rest is the next tick's.
    budget_seconds: float = 20.0
    clock: Callable[[], float] = time.time
    #: Measures the budget.
    timer: Callable[[], float] = time.monotonic

    def run(self, cursor: Cursor) -> Outcome:
        began = self.timer()
        outcome = Outcome(cursor)
        latest = self.dagster.latest_version()
        if latest and latest != self.loaded.version and self._reload(outcome):
            return outcome
        if self.loaded.discovery is None:
            if latest is None:
                self._refresh(outcome, "there is no state yet")
            elif latest == self.loaded.version:
                self._refresh(outcome, "the stored state can't be read")
            return outcome
        self._settle(outcome)
        self._push(outcome, began)
        self._watch(outcome, self.loaded.discovery, began)
        return outcome

    def _out_of_time(self, began: float) -> bool:
        return self.timer() - began >= self.budget_seconds

    def _reload(self, outcome: Outcome) -> bool:
        """Reload; a failure is said and tried again at the next tick, and the old definitions serve on."""
        try:
            how = self.dagster.reload()
        except Exception as error:
            self.log.exception("Reloading failed")
            outcome.notes.append(f"a newer discovery is stored, but can't be loaded yet: {error}")
            return False
        outcome.note(
            self.log,
            f"a newer discovery was stored and the definitions reloaded ({how}); the next tick uses them",
        )
        return True

    def _settle(self, outcome: Outcome) -> None:
        """A newer state than the one a refresh was asked at has been loaded, or the refresh found what was
        known: its lists count as seen."""
        cursor = outcome.cursor
        newer = cursor.asked_at != self.loaded.version
        if not newer and not (cursor.asked and self.dagster.refreshed_since(cursor.asked_time)):
            return
        if not newer:
            self.log.info("The refresh found nothing that was not known.")
        cursor.seen.update(cursor.asked)
        cursor.asked = {}
        if newer:
            cursor.older = sorted(cursor.seen)
        cursor.asked_at = self.loaded.version
        cursor.refreshes = 0
        cursor.refresh_not_before = 0.0

    def _push(self, outcome: Outcome, began: float) -> None:
        """Find tables that are not as wanted, and ask for them."""
        cursor = outcome.cursor
        tables = self.loaded.tables
        by_key = {table.key.to_user_string(): table for table in tables}
        cursor.attempts = {key: held for key, held in cursor.attempts.items() if key in by_key}
        if cursor.state != self.loaded.version:
            cursor.state, cursor.compared = self.loaded.version, 0
        behind = self._behind([by_key[key] for key in sorted(cursor.attempts)], outcome)
        while cursor.compared < len(tables) and len(cursor.attempts) + len(behind) < MAX_OPEN:
            if cursor.compared and self._out_of_time(began):
                break
            some = [
                table
                for table in tables[cursor.compared : cursor.compared + _LOOKUP]
                if table.key.to_user_string() not in cursor.attempts
            ]
            behind.update(self._behind(some, outcome))
            cursor.compared += _LOOKUP
        if cursor.compared < len(tables):
            done = f"{cursor.compared:,} of {plural(len(tables), 'table')}"
            outcome.note(self.log, f"{done} compared with what was pushed; the next tick goes on")
        else:
            good = len(tables) - len(behind)
            told = (
                f"{good:,} of {plural(len(tables), 'table')} were last pushed with the lineage they have now"
            )
            self.log.info(sentence(told))
            outcome.seen.append(told)
        if behind:
            self._ask(outcome, behind)

    def _behind(self, tables: Sequence[WantedTable], outcome: Outcome) -> dict[str, tuple[WantedTable, str]]:
        """Those of the tables that are not as wanted, with the version wanted; the others are settled."""
        pushed = self.dagster.pushed_versions([table.key for table in tables]) if tables else {}
        behind: dict[str, tuple[WantedTable, str]] = {}
        for table in tables:
            key, wanted = table.key.to_user_string(), table.version()
            if pushed.get(table.key) == wanted:
                outcome.cursor.attempts.pop(key, None)
            else:
                behind[key] = (table, wanted)
        return behind

    def _ask(self, outcome: Outcome, behind: Mapping[str, tuple[WantedTable, str]]) -> None:
        """Ask for the tables that are due: not on their way, and past their backoff."""
        cursor, now = outcome.cursor, self.clock()
        in_flight = self.dagster.in_flight()
        due: list[tuple[str, WantedTable, Attempt]] = []
        under_way = 0
        later: list[float] = []
        for key, (table, wanted) in sorted(behind.items()):
            last = cursor.attempts.get(key)
            if last is not None and last.wanted != wanted:
                last = None
            if table.key in in_flight or (last is not None and now < last.not_before):
                cursor.attempts.setdefault(key, Attempt(wanted=wanted, count=1, not_before=now))
                if table.key in in_flight:
                    under_way += 1
                else:
                    later.append(cursor.attempts[key].not_before)
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
            outcome.pushes.append(PushRequest(run_key, keys, len(part)))
        if due:
            again = sum(attempt.count > 1 for _, _, attempt in due)
            named = first_few([table.name for _, table, _ in due])
            runs = plural(len(outcome.pushes), "run")
            self.log.info(
                f"Asking for the lineage of {plural(len(due), 'table')} in {runs}: {named}."
                + (f" {again:,} of them again, for the last run left them as they were." if again else "")
            )
        if under_way:
            outcome.note(self.log, f"{plural(under_way, 'table')} on the way in queued or running runs")
        if later:
            outcome.note(
                self.log,
                f"{plural(len(later), 'table')} not as wanted after the last run, asked for again from "
                f"{clock_time(min(later))} on",
            )

    def _watch(self, outcome: Outcome, discovery: Discovery, began: float) -> None:
        """Ask the cheap lists in turn, from where the last tick stopped; on news, ask for a refresh."""
        cursor = outcome.cursor
        scopes = scopes_of(discovery)
        named = titles(discovery)
        news: list[str] = []
        changed: dict[str, str] = {}
        asked = entries = 0
        start = cursor.next_scope % len(scopes) if scopes else 0
        for scope in [*scopes[start:], *scopes[:start]]:
            if asked and self._out_of_time(began):
                outcome.note(
                    self.log,
                    f"out of time after {asked} of {plural(len(scopes), 'list')}; the next tick goes on with "
                    f"the {named[scope]}",
                )
                break
            asked += 1
            cursor.next_scope = (start + asked) % len(scopes)
            items = self._list(outcome, scope, named[scope])
            if items is None:
                continue
            entries += len(items)
            print_now = fingerprint(items)
            known = cursor.seen.get(str(scope))
            unsure = known is None or str(scope) in cursor.older
            cursor.older = [other for other in cursor.older if other != str(scope)]
            if print_now == known:
                continue
            found = difference(discovery, scope, items)
            if unsure and not found:
                cursor.seen[str(scope)] = print_now
                continue
            changed[str(scope)] = print_now
            news.append(f"{named[scope]}: {found or 'the state of some changed'}")
        else:
            cursor.next_scope = 0
        if news:
            self._refresh(outcome, "; ".join(news), changed)
        elif scopes:
            lists = f"{asked} of {plural(len(scopes), 'list')} in Confluent and Glue"
            told = f"{lists} told {entries:,} entries, all known already"
            self.log.info(sentence(told))
            outcome.seen.append(told)

    def _list(self, outcome: Outcome, scope: ListScope, title: str) -> list[str] | None:
        """What a list holds; None when it could not be asked, which means nothing for what is known."""
        try:
            return sorted(self.lister(scope))
        except Exception as error:
            told = f"the {title} could not be asked, so nothing of them is taken away: {error}"
            outcome.notes.append(told)
            self.log.warning(sentence(told))
            return None

    def _refresh(self, outcome: Outcome, reason: str, changed: Mapping[str, str] | None = None) -> None:
        """Ask for a refresh unless one is on its way or the last ones brought nothing and it is too soon."""
        cursor, now = outcome.cursor, self.clock()
        if self.dagster.refreshing():
            outcome.note(self.log, f"a refresh is on its way ({reason})")
            return
        if now < cursor.refresh_not_before:
            outcome.note(
                self.log,
                "the last refresh did not succeed, asked for again from "
                f"{clock_time(cursor.refresh_not_before)} on ({reason})",
            )
            return
        cursor.refreshes += 1
        cursor.refresh_not_before = now + backoff(cursor.refreshes, first=15.0, longest=900.0)
        cursor.asked = dict(changed or {})
        cursor.asked_at = self.loaded.version
        cursor.asked_time = now
        outcome.refresh = RefreshRequest(f"refresh:{_digest(reason)}:{int(now // 10)}", reason)
        self.log.info(f"Asking for a refresh: {reason}.")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
