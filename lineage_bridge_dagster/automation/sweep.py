"""The sweep: whole tables compared with what was pushed, a few pages a tick.

The lists that a tick reads have names only. A sweep reads the tables themselves, those of Glue 100 a call,
and finds lineage that was wiped, changed or is stale. It goes on in the next tick where it stopped. A page
that cannot be read says nothing about its tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from logging import Logger

from dagster import AssetCheckResult, AssetCheckSeverity, AssetKey

from lineage_bridge_dagster.assets.checks import IN_SYNC
from lineage_bridge_dagster.automation.cursor import Cursor, SweepPosition
from lineage_bridge_dagster.automation.dagster_client import DagsterClient
from lineage_bridge_dagster.automation.foreign_tables import ForeignTables
from lineage_bridge_dagster.automation.loaded import LoadedState, LoadedTable
from lineage_bridge_dagster.automation.losses import Drifted, Losses
from lineage_bridge_dagster.automation.requests import (
    MAX_TABLES_A_RUN,
    PushRequest,
    TickResult,
    short_digest,
)
from lineage_bridge_dagster.automation.swept import PageReader, TablesReader, sources_of
from lineage_bridge_dagster.catalogs.drift import Comparison, LineageState
from lineage_bridge_dagster.text import first_few, plural, sentence

#: Pages that a tick reads: of 100 tables in Glue, and of fewer elsewhere.
MAX_PAGES = 5
#: Tables that a tick's message names.
_NAMED = 20


@dataclass(frozen=True)
class SweepSettings:
    """How tables are swept.

    Attributes:
        read_page: reads Glue; without it, Glue is not swept.
        read_tables: reads REST catalogs; without it, they are not swept.
        seconds: between the starts of two sweeps; 0 switches them off.
        repair: whether lost lineage is pushed again, or only reported.
    """

    read_page: PageReader | None = None
    read_tables: TablesReader | None = None
    seconds: float = 300.0
    repair: bool = True

    @property
    def on(self) -> bool:
        return self.seconds > 0 and not (self.read_page is None and self.read_tables is None)


@dataclass
class _Found:
    """What one tick's part of a sweep found."""

    drifted: list[Drifted] = field(default_factory=list)
    restored: list[LoadedTable] = field(default_factory=list)


@dataclass(frozen=True)
class Sweep:
    """One tick's part of a sweep.

    Args:
        now: Unix time in seconds.
        out_of_time: whether the tick's budget is used up. One page is read nevertheless.
    """

    settings: SweepSettings
    loaded: LoadedState
    dagster: DagsterClient
    log: Logger
    now: float
    out_of_time: Callable[[], bool]

    def run(self, result: TickResult) -> None:
        """Read a few pages, if a sweep is due or under way, and request repairs.

        Raises:
            LineageBridgeError: the settings of pushes cannot be read.
        """
        cursor = result.cursor
        if not self.settings.on:
            if cursor.foreign:
                # Nobody would notice that a table belongs to another instance no longer.
                cursor.foreign, cursor.compared = {}, 0
            return
        position = cursor.sweep
        if (not position.source and self.now < position.not_before) or not self.loaded.tables:
            return
        foreign = ForeignTables(cursor)
        losses = Losses(cursor, repair=self.settings.repair, wait=self.settings.seconds, now=self.now)
        if not position.source:
            losses.keep({table.key.to_user_string() for table in self.loaded.tables})
            foreign.keep(table.key for table in self.loaded.tables)
        found = _Found()
        in_flight = self.dagster.in_flight()
        try:
            for page in self._pages(result):
                self._compare(page, cursor, foreign, losses, in_flight, found)
        finally:
            foreign.save()
        self._report(result, found)
        self._request(result, [each.table for each in found.drifted if each.due])

    def _pages(self, result: TickResult) -> Iterator[list[tuple[LoadedTable, Comparison]]]:
        """Yield the comparison of each of our tables, page by page, and keep the position in the cursor."""
        cursor = result.cursor
        position = cursor.sweep
        started = position.started if position.source else self.now
        failed = position.failed
        read = 0
        sources = sources_of(self.loaded.tables, self.settings.read_page, self.settings.read_tables)
        for source in [source for source in sources if source.name >= position.source]:
            token = position.token if source.name == position.source else ""
            while True:
                here = SweepPosition(source=source.name, token=token, started=started)
                if read >= MAX_PAGES or (read and self.out_of_time()):
                    cursor.sweep = here
                    result.note(self.log, f"swept {plural(read, 'page')} of tables; the next tick continues")
                    return
                read += 1
                try:
                    compared, token, note = source.read(token)
                except Exception as error:
                    if not failed:
                        cursor.sweep = here.model_copy(update={"failed": True})
                        text = f"the tables of {source.title} are read again by the next tick: {error}"
                        result.note(self.log, text)
                        return
                    result.note(
                        self.log, f"the other tables of {source.title} are left to the next sweep: {error}"
                    )
                    failed = False
                    break
                failed = False
                if note:
                    result.note(self.log, note)
                yield compared
                if not token:
                    break
        cursor.sweep = SweepPosition(not_before=started + self.settings.seconds)

    def _compare(
        self,
        page: Sequence[tuple[LoadedTable, Comparison]],
        cursor: Cursor,
        foreign: ForeignTables,
        losses: Losses,
        in_flight: frozenset[AssetKey],
        found: _Found,
    ) -> None:
        differing: list[tuple[LoadedTable, Comparison]] = []
        for loaded, comparison in page:
            if comparison.state is LineageState.FOREIGN:
                foreign.add(loaded.key, comparison.owner)
                continue
            if foreign.remove(loaded.key):
                # It was left out so far; now all tables are compared with their last push again.
                cursor.compared = 0
            if comparison.state is LineageState.IN_SYNC:
                if losses.in_sync(loaded, comparison):
                    found.restored.append(loaded)
            elif comparison.state is LineageState.LOST:
                differing.append((loaded, comparison))
        # A table that waits for its push or is in a run differs for that reason.
        differing = [
            (loaded, comparison)
            for loaded, comparison in differing
            if loaded.key not in in_flight and loaded.key.to_user_string() not in cursor.attempts
        ]
        if not differing:
            return
        written = self.dagster.written_versions([loaded.key for loaded, _ in differing])
        for loaded, comparison in differing:
            last = written.get(loaded.key)
            # What is pushed again is what was pushed last: never what a newer discovery has lost.
            if last is not None and last.version == loaded.version():
                found.drifted.append(losses.lost(loaded, comparison, last))

    def _report(self, result: TickResult, found: _Found) -> None:
        repairing = self.settings.repair
        if found.drifted:
            # The tables that someone keeps undoing come first.
            drifted = sorted(found.drifted, key=lambda each: -each.count)
            text = (
                f"{plural(len(drifted), 'table')} lost the lineage that was pushed, "
                f"{'to be pushed again' if repairing else 'only reported'}: "
                f"{first_few([each.describe(repairing) for each in drifted], _NAMED)}"
            )
            if any(each.writer for each in drifted):
                result.notes.append(text)
                self.log.warning(sentence(text))
            else:
                result.note(self.log, text)
        result.checks += [
            self._check(each.table, f"Lineage that was pushed is no longer there: {each.describe(repairing)}")
            for each in found.drifted
            if each.new and (each.undone or not repairing)
        ]
        if not repairing:
            # Where there is a repair, its run evaluates the check.
            result.checks += [self._check(table) for table in found.restored]

    def _check(self, table: LoadedTable, lost: str = "") -> AssetCheckResult:
        return AssetCheckResult(
            passed=not lost,
            asset_key=table.key,
            check_name=IN_SYNC,
            severity=AssetCheckSeverity.WARN,
            description=lost or "The lineage that was pushed is there again.",
        )

    def _request(self, result: TickResult, tables: Sequence[LoadedTable]) -> None:
        for start in range(0, len(tables), MAX_TABLES_A_RUN):
            part = tables[start : start + MAX_TABLES_A_RUN]
            digest = short_digest("\n".join(table.key.to_user_string() for table in part))
            run_key = f"repair:{digest}:{int(self.now // 60)}"
            keys = tuple(table.key for table in part)
            result.pushes.append(PushRequest(run_key, keys, len(part), repair=True))
