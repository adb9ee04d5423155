"""A scan of a whole Glue catalog that reads what it can and reports what it could not read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from lineage_bridge_dagster.glue.errors import GlueAccessDeniedError, GlueError, GlueNotFoundError
from lineage_bridge_dagster.glue.reader import GlueDatabase, GlueReader
from lineage_bridge_dagster.glue.tables import GlueTable
from lineage_bridge_dagster.lineage.coverage import Note, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.unknowns import FEDERATED_DATABASES, LINKED_DATABASES

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
        elsewhere: the databases, in lower case, whose tables are in other catalogs; they are not read.
        list_error: why the databases could not be listed. The expected ones were scanned then.
    """

    tables: list[GlueTable] = field(default_factory=list)
    count: int = 0
    databases: list[str] = field(default_factory=list)
    unread: dict[str, GlueError] = field(default_factory=dict)
    elsewhere: dict[str, GlueDatabase] = field(default_factory=dict)
    list_error: GlueError | None = None

    def require(self, databases: Iterable[str]) -> None:
        """Count those of these databases as unread whose tables are elsewhere."""
        for name in sorted(set(databases)):
            if (database := self.elsewhere.get(name.lower())) is not None:
                self.unread[name] = _passed_over(database)

    def report(self, scope: Scope) -> ScopeReport:
        """The coverage of the scan."""
        errors = [*([self.list_error] if self.list_error else []), *self.unread.values()]
        notes = _notes(self.elsewhere.values())
        if not errors:
            return ScopeReport(scope, Status.COMPLETE, count=self.count, notes=notes)
        reason = "; ".join(f"{error.message} {error.hint}".strip() for error in errors[:_SHOWN_ERRORS])
        if len(errors) > _SHOWN_ERRORS:
            reason += f"; and {len(errors) - _SHOWN_ERRORS} more"
        # Without databases to read and without an error of the list, only some elsewhere are unread.
        listed_none = not self.databases and self.list_error is None
        if self.count or listed_none or set(self.databases) - self.unread.keys():
            return ScopeReport(scope, Status.PARTIAL, reason, self.count, notes)
        denied = all(isinstance(error, GlueAccessDeniedError) for error in errors)
        return ScopeReport(scope, Status.DENIED if denied else Status.FAILED, reason, notes=notes)


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
            listed = reader.databases()
        except GlueError as error:
            scan.list_error = error
            scan.databases = sorted({name.lower() for name in expected})
        else:
            scan.databases = [database.name for database in listed if not database.is_elsewhere]
            scan.elsewhere = {each.name.lower(): each for each in listed if each.is_elsewhere}

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


def _passed_over(database: GlueDatabase) -> GlueError:
    """Why a database in which Tableflow's tables are expected was not read."""
    account = database.target.partition(".")[0]
    hint = (
        f"Read the catalog of the account that has them: LINEAGE_BRIDGE_AWS_CATALOG_ID={account}."
        if account.isdigit()
        else "Tables of other catalogs are neither read nor pushed: let the catalog integration sync to a "
        "database of this catalog."
    )
    return GlueError(
        f"The Glue database {database.name}, in which Tableflow's tables are expected, is "
        f"{database.elsewhere}, so its tables were not read.",
        hint=hint,
    )


def _notes(databases: Iterable[GlueDatabase]) -> tuple[Note, ...]:
    """Notes on the databases whose tables are elsewhere: they make no scope incomplete."""
    found = sorted(databases, key=lambda database: database.name)
    linked = tuple(f"{each.name} (link to {each.target})" for each in found if each.target)
    federated = tuple(f"{each.name} ({each.federation})" for each in found if not each.target)
    notes = (Note(FEDERATED_DATABASES, federated), Note(LINKED_DATABASES, linked))
    return tuple(note for note in notes if note.names)
