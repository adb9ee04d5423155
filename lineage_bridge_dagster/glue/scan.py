"""A scan of a whole Glue catalog that reads what it can and reports what it could not read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from lineage_bridge_dagster.glue.errors import GlueAccessDeniedError, GlueError, GlueNotFoundError
from lineage_bridge_dagster.glue.reader import GlueReader
from lineage_bridge_dagster.glue.tables import GlueTable
from lineage_bridge_dagster.lineage.coverage import Scope, ScopeReport, Status

#: Errors spelled out in a report; more are only counted.
_SHOWN_ERRORS = 5


@dataclass(slots=True)
class CatalogScan:
    """What a scan read.

    Attributes:
        tables: the tables that the caller wanted to keep.
        count: how many tables were read, kept or not.
        databases: the databases that were scanned.
        unread: the databases that could not be read, or not to their end, with the reason.
        list_error: why the databases could not be listed. The expected ones were scanned then.
    """

    tables: list[GlueTable] = field(default_factory=list)
    count: int = 0
    databases: list[str] = field(default_factory=list)
    unread: dict[str, GlueError] = field(default_factory=dict)
    list_error: GlueError | None = None

    def report(self, scope: Scope) -> ScopeReport:
        """The coverage of the scan."""
        errors = [*([self.list_error] if self.list_error else []), *self.unread.values()]
        if not errors:
            return ScopeReport(scope, Status.COMPLETE, count=self.count)
        reason = "; ".join(f"{error.message} {error.hint}".strip() for error in errors[:_SHOWN_ERRORS])
        if len(errors) > _SHOWN_ERRORS:
            reason += f"; and {len(errors) - _SHOWN_ERRORS} more"
        if self.count or len(self.unread) < len(self.databases):
            return ScopeReport(scope, Status.PARTIAL, reason, self.count)
        denied = all(isinstance(error, GlueAccessDeniedError) for error in errors)
        return ScopeReport(scope, Status.DENIED if denied else Status.FAILED, reason)


def scan_catalog(
    reader: GlueReader,
    *,
    keep: Callable[[GlueTable], bool] = lambda _table: True,
    only: Iterable[str] | None = None,
    expected: Iterable[str] = (),
    max_concurrency: int = 8,
) -> CatalogScan:
    """Read the tables of every database that can be read.

    Args:
        keep: the tables to keep. A catalog holds all tables of an account, at up to 100 kB each.
        only: scan these databases and list none; one that does not exist counts as empty.
        expected: databases to scan if listing the databases fails.
        max_concurrency: databases read at the same time.
    """
    scan = CatalogScan()
    if only is not None:
        scan.databases = sorted({name.lower() for name in only})
    else:
        try:
            scan.databases = [database.name for database in reader.databases() if not database.is_link]
        except GlueError as error:
            scan.list_error = error
            scan.databases = sorted({name.lower() for name in expected})

    def read(database: str) -> tuple[list[GlueTable], int, GlueError | None]:
        tables: list[GlueTable] = []
        count = 0
        try:
            for page in reader.pages(database):
                tables += filter(keep, page)
                count += len(page)
        except GlueNotFoundError as error:
            # The database does not exist, or was dropped since it was listed.
            return tables, count, error if count else None
        except GlueError as error:
            return tables, count, error
        return tables, count, None

    with ThreadPoolExecutor(max_workers=max_concurrency, thread_name_prefix="glue-read") as pool:
        results = zip(scan.databases, pool.map(read, scan.databases), strict=True)
        for database, (tables, count, failure) in results:
            scan.tables += tables
            scan.count += count
            if failure is not None:
                scan.unread[database] = failure
    return scan
