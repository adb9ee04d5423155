"""Reads the databases and tables of several regions, page by page, many databases at the same time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field

from lineage_bridge_dagster.catalogs.errors import AccessDeniedError, CallError, NotFoundError
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.reader import GlueDatabase, GlueReader
from lineage_bridge_dagster.collector.rows import Source
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.coverage import Status

#: Pages in memory at the same time, from their request until they are written. One of 100 tables with 50
#: columns each takes about 5 MB.
_PAGES_IN_MEMORY = 16


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
