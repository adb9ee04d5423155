"""Reads the databases and tables of several regions, page by page, many databases at the same time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from lineage_bridge_dagster.catalogs.errors import AccessDeniedError, CallError, NotFoundError
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.reader import GlueDatabase, GlueReader
from lineage_bridge_dagster.collector.rows import Source
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.text import ReportLine, plural

#: Pages in memory at the same time, from their request until they are written. One of 100 tables with 50
#: columns each takes about 5 MB.
_PAGES_IN_MEMORY = 16


#: Tables between two lines.
EVERY = 10_000


@dataclass(frozen=True, slots=True)
class Region:
    """The databases of a region, or why they could not be listed."""

    source: Source
    reader: GlueReader | None = field(repr=False)
    databases: tuple[GlueDatabase, ...] = ()
    error: LineageBridgeError | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Tables of a database; `last` says that no more come, and then `error` why some may be missing."""

    source: Source
    database: GlueDatabase
    tables: tuple[GlueTable, ...] = ()
    last: bool = False
    error: CallError | None = None


def list_databases(sources: Sequence[Source], open_reader: Callable[[Source], GlueReader]) -> list[Region]:
    """List the databases of each region; one that fails does not affect the others."""

    def read(source: Source) -> Region:
        reader = None
        try:
            reader = open_reader(source)
            return Region(source, reader, tuple(reader.databases()))
        except LineageBridgeError as error:
            return Region(source, reader, error=error)

    with ThreadPoolExecutor(len(sources), thread_name_prefix="glue-databases") as pool:
        return list(pool.map(read, sources))


def status_of(error: LineageBridgeError | None, tables: int = 0) -> Status:
    """How completely something was read whose reading ended with this error."""
    if error is None:
        return Status.COMPLETE
    if tables:
        return Status.PARTIAL
    return Status.DENIED if isinstance(error, AccessDeniedError) else Status.FAILED


def pages(regions: Sequence[Region], max_concurrency: int) -> Iterator[Page]:
    """Yield the pages of all databases as they come; the last one of each database says so.

    A database whose tables are elsewhere, or that was dropped since it was listed, has no tables. The readers
    stop when the caller does.

    Args:
        regions: Regions whose databases were listed.
        max_concurrency: The most databases of one region that are read at the same time.
    """
    ready: queue.SimpleQueue[Page | BaseException] = queue.SimpleQueue()
    stopped = threading.Event()
    # Each region has room and threads of its own, so that one that is throttled holds up no other.
    share = max(2, _PAGES_IN_MEMORY // max(1, len(regions)))
    rooms = {region.source.region: threading.Semaphore(share) for region in regions}

    def read(region: Region, database: GlueDatabase) -> None:
        room = rooms[region.source.region]
        is_here = not database.is_elsewhere
        listed = region.reader.pages(database.name) if region.reader and is_here else iter(())
        error: CallError | None = None
        while True:
            room.acquire()
            if stopped.is_set():
                return
            try:
                tables = next(listed, None)
            except NotFoundError:
                tables = None
            except CallError as failure:
                tables, error = None, failure
            except BaseException as bug:
                ready.put(bug)
                return
            if tables is None:
                room.release()
                ready.put(Page(region.source, database, last=True, error=error))
                return
            ready.put(Page(region.source, database, tuple(tables)))

    with ExitStack() as pools:
        try:
            for region in regions:
                pool = ThreadPoolExecutor(min(max_concurrency, share), thread_name_prefix="glue-extract")
                pools.callback(pool.shutdown, cancel_futures=True)
                for database in region.databases:
                    pool.submit(read, region, database)
            left = sum(len(region.databases) for region in regions)
            while left:
                item = ready.get()
                if isinstance(item, BaseException):
                    raise item
                left -= item.last
                yield item
                if not item.last:
                    rooms[item.source.region].release()
        finally:
            stopped.set()
            for room in rooms.values():
                room.release(max_concurrency)


@dataclass(frozen=True, slots=True)
class ConnectionCheck:
    """What came of the two calls on a region; `error` names the call that failed."""

    region: str
    error: LineageBridgeError | None = None


def check_region(source: Source, open_reader: Callable[[Source], GlueReader]) -> ConnectionCheck:
    """List the databases, and the first page of the tables of the first one that has its tables here."""
    try:
        reader = open_reader(source)
        databases = [each for each in reader.databases() if not each.is_elsewhere]
        if databases:
            # It may have been dropped since it was listed.
            with suppress(NotFoundError):
                next(reader.pages(databases[0].name), None)
    except LineageBridgeError as error:
        return ConnectionCheck(source.region, error)
    return ConnectionCheck(source.region)


def connection_error(errors: Mapping[str, LineageBridgeError]) -> LineageBridgeError:
    """One error that names each region that failed, with its call and what to do."""
    hints = {error.hint for error in errors.values()}
    if len(hints) == 1:
        lines = [f"{region}: {error.message}" for region, error in errors.items()]
        return LineageBridgeError("\n".join(lines), hint=hints.pop())
    return LineageBridgeError("\n".join(f"{region}: {error}" for region, error in errors.items()))


@dataclass(slots=True)
class _RegionRead:
    databases: int
    done: int = 0
    tables: int = 0


@dataclass(slots=True)
class ExtractProgress:
    """Counts the pages of the regions that could be listed, and reports lines."""

    report: ReportLine
    _regions: dict[str, _RegionRead] = field(default_factory=dict)
    _told: int = 0

    def listed(self, regions: Sequence[Region]) -> None:
        """Say what each region has."""
        for region in regions:
            if region.error is None:
                self._regions[region.source.region] = _RegionRead(len(region.databases))
                self.report(f"{region.source.region}: {plural(len(region.databases), 'database')}")
            else:
                self.report(f"{region.source.region}: its databases could not be listed")

    def add(self, page: Page) -> None:
        """Count a page; say now and then how far each region is, and that one is done."""
        read = self._regions[page.source.region]
        read.tables += len(page.tables)
        read.done += page.last
        total = sum(each.tables for each in self._regions.values())
        if page.last and read.done == read.databases:
            self.report(f"{page.source.region}: read all, {plural(read.tables, 'table')}")
        elif total >= self._told + EVERY:
            self._told = total
            far = ", ".join(
                f"{name} {each.tables:,} in {each.done:,} of {plural(each.databases, 'database')}"
                for name, each in self._regions.items()
            )
            self.report(f"{plural(total, 'table')} so far: {far}")
