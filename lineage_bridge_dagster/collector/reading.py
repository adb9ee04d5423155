"""Reads the databases and tables of several regions, page by page, many databases at the same time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain, zip_longest

from lineage_bridge_dagster.collector.rows import Source
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.glue.errors import GlueAccessDeniedError, GlueError, GlueNotFoundError
from lineage_bridge_dagster.glue.reader import GlueDatabase, GlueReader
from lineage_bridge_dagster.glue.tables import GlueTable
from lineage_bridge_dagster.lineage.coverage import Status

#: Pages that are read ahead of the writer. A page has up to 100 tables, each of up to about 100 kB.
_PAGES_AHEAD = 16


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
    error: GlueError | None = None


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
    return Status.DENIED if isinstance(error, GlueAccessDeniedError) else Status.FAILED


def pages(regions: Sequence[Region], max_concurrency: int) -> Iterator[Page]:
    """Yield the pages of all databases as they come; the last one of each database says so.

    A database whose tables are elsewhere, or that was dropped since it was listed, has no tables. The readers
    stop when the caller does.

    Args:
        regions: Regions whose databases were listed.
        max_concurrency: Databases of one region that are read at the same time.
    """
    ready: queue.Queue[Page | BaseException] = queue.Queue(_PAGES_AHEAD)
    stopped = threading.Event()

    def put(item: Page | BaseException) -> None:
        while not stopped.is_set():
            try:
                ready.put(item, timeout=0.2)
            except queue.Full:
                continue
            return

    def read(region: Region, database: GlueDatabase) -> None:
        error: GlueError | None = None
        try:
            if region.reader is not None and not database.is_elsewhere:
                for tables in region.reader.pages(database.name):
                    if stopped.is_set():
                        return
                    put(Page(region.source, database, tuple(tables)))
        except GlueNotFoundError:
            pass
        except GlueError as failure:
            error = failure
        except BaseException as bug:
            put(bug)
            return
        put(Page(region.source, database, last=True, error=error))

    # One database of each region after the other, so that all regions are read at the same time.
    rounds = zip_longest(*([(region, each) for each in region.databases] for region in regions))
    tasks = [task for task in chain.from_iterable(rounds) if task is not None]
    workers = max_concurrency * max(1, sum(bool(region.databases) for region in regions))
    left = len(tasks)
    with ThreadPoolExecutor(workers, thread_name_prefix="glue-extract") as pool:
        try:
            for task in tasks:
                pool.submit(read, *task)
            while left:
                item = ready.get()
                if isinstance(item, BaseException):
                    raise item
                left -= item.last
                yield item
        finally:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
