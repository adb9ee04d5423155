"""A scan of a whole Glue catalog that reads what it can and reports what it could not read.

A caller that may not list tables may still be allowed to read each of them: where lists are denied, the
expected tables are asked for by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from lineage_bridge_dagster.catalogs.errors import AccessDeniedError, CallError, NotFoundError
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.reader import GlueDatabase, GlueReader
from lineage_bridge_dagster.lineage.coverage import Note, Scope, ScopeReport, Status
from lineage_bridge_dagster.lineage.glue_names import GluePlace
from lineage_bridge_dagster.lineage.unknowns import FEDERATED_DATABASES, LINKED_DATABASES
from lineage_bridge_dagster.text import counted, plural

#: Errors spelled out in a report; more are only counted.
_SHOWN_ERRORS = 5

#: After this many refusals in a row, and no table read, the other tables of a database are not asked for.
_MAX_REFUSALS = 10


@dataclass(slots=True)
class CatalogScan:
    """What a scan read.

    Attributes:
        tables: the tables that the caller wanted to keep.
        count: how many tables were read, kept or not.
        visible: the scanned databases that Glue shows to this client.
        unread: the databases that could not be read, or not to their end, with the reason.
        elsewhere: the databases, in lower case, whose tables are in other catalogs; they are not read.
        list_error: why the databases could not be listed. The expected ones were scanned then.
        named: the expected tables that were asked for by name, since their database could not be listed, with
            the error of those that could not be read.
    """

    tables: list[GlueTable] = field(default_factory=list)
    count: int = 0
    databases: list[str] = field(default_factory=list)
    visible: set[str] = field(default_factory=set)
    unread: dict[str, CallError] = field(default_factory=dict)
    elsewhere: dict[str, GlueDatabase] = field(default_factory=dict)
    list_error: CallError | None = None
    named: dict[GluePlace, CallError | None] = field(default_factory=dict)

    def require(self, databases: Iterable[str]) -> None:
        """Count those of these databases as unread whose tables are elsewhere."""
        for name in sorted(set(databases)):
            if (database := self.elsewhere.get(name.lower())) is not None:
                self.unread[name] = _passed_over(database)

    def error_at(self, place: GluePlace | None) -> CallError | None:
        """Why it is not known whether Glue has a table here; None if it is known.

        Args:
            place: where it is expected, in lower case; None if that is unknown.
        """
        if place is None:
            return self.list_error
        if place in self.named:
            return self.named[place]
        error = self.unread.get(place.database)
        return error if error or place.database in self.databases else self.list_error

    def report(self, scope: Scope, unplaced: int = 0, warehouses: Collection[str] = ()) -> ScopeReport:
        """The coverage of the scan.

        Args:
            scope: `glue::{region}`.
            unplaced: tables whose database is unknown, which cannot be asked for by name.
            warehouses: the catalogs of Glue that are read besides, as Glue's Iceberg endpoint names them.
        """
        lists = [*([self.list_error] if self.list_error else []), *self.unread.values()]
        refused = [error for error in self.named.values() if error is not None]
        errors = [*lists, *refused]
        unread = [each for each in self.elsewhere.values() if each.warehouse not in warehouses]
        notes = _notes(unread)
        if not errors:
            return ScopeReport(scope, Status.COMPLETE, count=self.count, notes=notes)
        reasons = [error.reason for error in errors[:_SHOWN_ERRORS]]
        if len(errors) > _SHOWN_ERRORS:
            reasons.append(f"and {len(errors) - _SHOWN_ERRORS} more")
        reason = "; ".join([*self._asked_by_name(), *reasons])
        answered = len(self.named) > len(refused)
        # Without databases to read and without an error of the list, only some elsewhere are unread.
        listed_none = not self.databases and self.list_error is None
        if self.count or answered or listed_none or set(self.databases) - self.unread.keys():
            by_name = answered and not refused and not unplaced and all(map(_is_refusal, lists))
            return ScopeReport(scope, Status.PARTIAL, reason, self.count, notes, by_name)
        denied = all(isinstance(error, AccessDeniedError) for error in errors)
        return ScopeReport(scope, Status.DENIED if denied else Status.FAILED, reason, notes=notes)

    def _asked_by_name(self) -> Iterator[str]:
        if not self.named:
            return
        found = len(self.named.keys() & {table.place.folded for table in self.tables})
        refused = sum(error is not None for error in self.named.values())
        counts = {"found": found, "missing": len(self.named) - found - refused, "refused": refused}
        yield (
            f"lists are denied, so glue:GetTable asked for {plural(len(self.named), 'expected table')} by "
            f"name: {counted({outcome: count for outcome, count in counts.items() if count})}. Tables under "
            "other names are not seen: allow glue:GetDatabases and glue:GetTables to read the whole catalog"
        )


def scan_catalog(
    reader: GlueReader,
    *,
    keep: Callable[[GlueTable], bool] = lambda _table: True,
    expected: Iterable[GluePlace] = (),
    max_concurrency: int = 8,
) -> CatalogScan:
    """Read the tables of every database that can be read.

    Args:
        keep: the tables to keep. A catalog holds all tables of an account, at up to 100 kB each.
        expected: tables, in lower case, whose databases are scanned if listing the databases fails, and which
            are asked for by name if listing their database is denied.
        max_concurrency: databases, or tables, read at the same time.
    """
    scan = CatalogScan()
    places = sorted(set(expected), key=lambda place: place.dotted)
    try:
        listed = reader.databases()
    except CallError as error:
        scan.list_error = error
        scan.databases = sorted({place.database for place in places})
    else:
        scan.databases = [database.name for database in listed if not database.is_elsewhere]
        scan.elsewhere = {each.name.lower(): each for each in listed if each.is_elsewhere}

    def read(database: str) -> tuple[list[GlueTable], int, CallError | None]:
        tables: list[GlueTable] = []
        count = 0
        try:
            for page in reader.pages(database):
                tables += filter(keep, page)
                count += len(page)
        except NotFoundError as error:
            # The database does not exist, or was dropped since it was listed.
            scan.visible.discard(database)
            return tables, count, error if count else None
        except CallError as error:
            return tables, count, error
        return tables, count, None

    scan.visible = set(scan.databases)
    with ThreadPoolExecutor(max_workers=max_concurrency, thread_name_prefix="glue-read") as pool:
        results = zip(scan.databases, pool.map(read, scan.databases), strict=True)
        for database, (tables, count, failure) in results:
            scan.tables += tables
            scan.count += count
            if failure is not None:
                scan.unread[database] = failure
        _ask_by_name(scan, reader, keep, places, pool, max_concurrency)
    return scan


def _passed_over(database: GlueDatabase) -> CallError:
    """Why a database in which Tableflow's tables are expected was not read."""
    account = database.target.partition(".")[0]
    hint = (
        f"Read the catalog of the account that has them: LINEAGE_BRIDGE_AWS_CATALOG_ID={account}."
        if account.isdigit()
        else "Tables of other catalogs are neither read nor pushed: let the catalog integration sync to a "
        "database of this catalog."
    )
    return CallError(
        f"The Glue database {database.name}, in which Tableflow's tables are expected, is "
        f"{database.elsewhere}, so its tables were not read.",
        hint=hint,
    )


def _notes(databases: Iterable[GlueDatabase]) -> tuple[Note, ...]:
    """Notes on the databases whose tables are elsewhere: they make no scope incomplete."""
    found = sorted(databases, key=lambda database: database.name)
    linked = tuple(f"{each.name} (link to {each.target}{_reader(each)})" for each in found if each.target)
    federated = tuple(f"{each.name} ({each.federation}{_reader(each)})" for each in found if not each.target)
    notes = (Note(FEDERATED_DATABASES, federated), Note(LINKED_DATABASES, linked))
    return tuple(note for note in notes if note.names)


def _reader(database: GlueDatabase) -> str:
    """What to configure so that the tables of a database elsewhere are read."""
    if not database.warehouse:
        return ""
    return f"; to read it, add a rest catalog with the warehouse {database.warehouse} to catalogs"


def _ask_by_name(
    scan: CatalogScan,
    reader: GlueReader,
    keep: Callable[[GlueTable], bool],
    places: Sequence[GluePlace],
    pool: ThreadPoolExecutor,
    batch: int,
) -> None:
    """Read the expected tables of databases that the caller may not list, `batch` at the same time."""
    read = {table.place.folded for table in scan.tables}
    by_database: dict[str, list[GluePlace]] = {}
    for place in places:
        if _is_refusal(scan.unread.get(place.database)) and place not in read:
            by_database.setdefault(place.database, []).append(place)

    def ask(place: GluePlace) -> tuple[GlueTable | None, CallError | None]:
        try:
            return reader.table(place.database, place.table), None
        except CallError as error:
            return None, error

    for asked in by_database.values():
        answered = refused = 0
        for start in range(0, len(asked), batch):
            if not answered and refused >= _MAX_REFUSALS:
                # Nothing of this database may be read: its other tables would be refused as well.
                last = scan.named[asked[start - 1]]
                scan.named.update(dict.fromkeys(asked[start:], last))
                break
            some = asked[start : start + batch]
            for place, (table, error) in zip(some, pool.map(ask, some), strict=True):
                scan.named[place] = error
                answered += error is None
                refused += _is_refusal(error)
                if table is not None:
                    scan.count += 1
                    if keep(table):
                        scan.tables.append(table)


def _is_refusal(error: CallError | None) -> bool:
    """Whether a call was denied and another one may be allowed."""
    return isinstance(error, AccessDeniedError) and error.for_this_call
