"""What changed in Glue since a mark, as rows: changes, identifiers, deletions and coverage."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from lineage_bridge_dagster.collector.files import ExtractFiles
from lineage_bridge_dagster.collector.layout import COVERAGE, DELETIONS, IDENTIFIERS
from lineage_bridge_dagster.collector.marks import BEGINNING, Identifier, MarkState, time_of
from lineage_bridge_dagster.collector.reading import Page, Region, status_of
from lineage_bridge_dagster.collector.rows import (
    Row,
    Source,
    database_rows,
    object_type,
    table_rows,
    update_time,
)
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.times import iso

#: Digits of a digest that are shown: enough to tell two catalogs apart, too few to identify an account.
_CATALOG_DIGITS = 4


class LastIdentifiers:
    """The identifiers of the last extract. What is seen again is taken out, which leaves the rest."""

    def __init__(self, identifiers: Iterable[Identifier]) -> None:
        self._left: dict[tuple[str, str], dict[str, Identifier]] = {}
        for each in identifiers:
            self._left.setdefault((each.region, each.database), {})[each.table] = each

    def take(self, region: str, database: str, table: str = "") -> Identifier | None:
        """The identifier of a database or a table, which is taken out; None for a new one."""
        return self._left.get((region, database), {}).pop(table, None)

    def forget(self, region: str) -> None:
        """Drop the identifiers of a region."""
        for scope in [scope for scope in self._left if scope[0] == region]:
            del self._left[scope]

    def left(self) -> Iterator[Identifier]:
        for tables in self._left.values():
            yield from tables.values()


class SeenFile:
    """The identifiers that this extract sees, in a temporary file. Add all of them before iterating."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed on exit

    def __enter__(self) -> SeenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, identifier: Identifier) -> None:
        self._file.write(json.dumps(identifier.fields()) + "\n")

    def __iter__(self) -> Iterator[Identifier]:
        self._file.seek(0)
        for line in self._file:
            yield Identifier.of(json.loads(line))


@dataclass(frozen=True, slots=True)
class ScopeRead:
    """How completely a region, with an empty database, or a database was read.

    Attributes:
        since: The mark from which its changes count; empty if all are in the extract.
        part: What of it: `glue`, or `lf_tags` for Lake Formation's tags.
    """

    source: Source
    database: str
    status: Status
    reason: str
    tables: int
    since: str
    part: str = "glue"

    @property
    def name(self) -> str:
        region = self.source.region
        if self.part != "glue":
            return f"{region} ({self.part})"
        return f"{region}/{self.database}" if self.database else region

    def row(self, source: Source) -> Row:
        """The row of coverage; the source may have the catalog's id by now."""
        return (
            source.server,
            source.region,
            source.catalog_id or None,
            self.database or None,
            self.part,
            str(self.status),
            self.reason or None,
            self.tables if self.database or self.part != "glue" else None,
            iso(time_of(self.since)) if self.since else None,
        )


@dataclass(slots=True)
class Delta:
    """Writes the rows of what Glue lists, and compares it with what was there at the last mark.

    A table changed if Glue says so for the range, if its time of change is another than at the mark, or if it
    was not there then: it may be older and have become visible, or be of a region that was not read.

    Attributes:
        seen: Takes what this extract sees.
        previous: What was there at the published mark, `mark`, which is empty before the first one. None if
            that is not known: then Glue's times alone count.
        start: The mark from which changes count. Those before it do not, if it is after `mark`.
        end: The mark up to which they count.
        overlap: How far beyond both they count as well.
        tables: Tables listed so far, `changed` of them within the range.
        deleted: Databases and tables that are gone.
    """

    files: ExtractFiles = field(repr=False)
    seen: SeenFile = field(repr=False)
    previous: MarkState | None = field(repr=False)
    mark: str
    start: str
    end: str
    overlap: timedelta
    scopes: list[ScopeRead] = field(default_factory=list)
    tables: int = 0
    changed: int = 0
    deleted: int = 0
    _before: MarkState = field(init=False, repr=False)
    _known: LastIdentifiers = field(init=False, repr=False)
    _catalogs: dict[str, str] = field(init=False)
    _sources: dict[str, Source] = field(default_factory=dict)
    #: The names of the tables of the databases that are being read.
    _listed: dict[tuple[str, str], set[str]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._before = self.previous or MarkState()
        self._known = LastIdentifiers(self._before.identifiers)
        self._catalogs = dict(self._before.catalogs)

    def add_region(self, region: Region) -> None:
        """Write the databases of a region; what it lists after an error is not known."""
        source = region.source
        told = (str(each.raw["CatalogId"]) for each in region.databases if each.raw.get("CatalogId"))
        if catalog_id := source.catalog_id or next(told, ""):
            # The state holds no account: it may be masked in the files.
            catalog_id = hashlib.sha256(catalog_id.encode()).hexdigest()[:_CATALOG_DIGITS]
            if self._catalogs.get(source.region, catalog_id) != catalog_id:
                # What was in another catalog was not dropped.
                self._known.forget(source.region)
            self._catalogs[source.region] = catalog_id
        for database in region.databases:
            source = self._source(source, str(database.raw.get("CatalogId") or ""))
            for kind, row in database_rows(source, database):
                self.files.write(kind, row)
            self._known.take(source.region, database.name)
            self._see(source, Identifier(source.region, database.name, object_type="database"))
        self._read(source, "", region.error, len(region.databases))

    def add_page(self, page: Page) -> None:
        """Write the tables of a page."""
        region, database = page.source.region, page.database.name
        since = self._before.since(region, database, self.start)
        after, until = time_of(since) - self.overlap, time_of(self.end) + self.overlap
        listed = self._listed.setdefault((region, database), set())
        for table in page.tables:
            if table.name in listed:
                # Glue may list a table twice that is created again while its database is read.
                continue
            listed.add(table.name)
            source = self._source(page.source, table.catalog_id)
            updated = update_time(table)
            identifier = Identifier(
                region, database, table.name, object_type(table), iso(updated) if updated else ""
            )
            before = self._known.take(region, database, table.name)
            self._see(source, identifier)
            self.tables += 1
            if updated is None or after <= updated <= until or self._differs(identifier, before):
                self.changed += 1
                for kind, row in table_rows(source, table):
                    self.files.write(kind, row)
        if page.last:
            self._read(page.source, database, page.error, len(self._listed.pop((region, database))))

    def finish(self, regions: Sequence[str]) -> MarkState:
        """Write what is gone, what could not be listed and is carried, and the coverage.

        Args:
            regions: The regions of this extract. What is known of others stays as it is.

        Returns:
            What the next extract compares with.
        """
        status = {scope.name: scope.status for scope in self.scopes}
        behind = {scope.name: scope.since for scope in self.scopes if scope.status is not Status.COMPLETE}
        behind |= {
            name: mark for name, mark in self._before.behind.items() if name.partition("/")[0] not in regions
        }
        for identifier in self._known.left():
            if identifier.region not in regions:
                behind.setdefault(identifier.region, self.mark)
                self.seen.add(identifier)
                continue
            listed = status.get(identifier.region)
            of_tables = status.get(f"{identifier.region}/{identifier.database}", listed)
            gone = listed is Status.COMPLETE and (not identifier.table or of_tables is Status.COMPLETE)
            source = self._sources[identifier.region]
            if gone:
                self.deleted += 1
                place = source.place(identifier.database, identifier.table)
                since = self._before.since(identifier.region, identifier.database, self.mark)
                last_seen = iso(time_of(since)) if since > BEGINNING else None
                self.files.write(DELETIONS, (*place, identifier.object_type, last_seen))
            else:
                self._see(source, identifier, "carried")
        for scope in self.scopes:
            self.files.write(COVERAGE, scope.row(self.known(scope.source)))
        return MarkState(behind, self.seen, self._catalogs)

    def _differs(self, identifier: Identifier, before: Identifier | None) -> bool:
        """Whether a table is another than at the mark, where that is known and in the range."""
        if self.previous is None or self.start > self.mark:
            return False
        return before is None or before.update_time != identifier.update_time

    def _see(self, source: Source, identifier: Identifier, seen: str = "read") -> None:
        self.seen.add(identifier)
        place = source.place(identifier.database, identifier.table)
        self.files.write(IDENTIFIERS, (*place, identifier.object_type, identifier.update_time or None, seen))

    def known(self, source: Source) -> Source:
        """The source with the catalog's id, which is the same in all regions, if one of them told it."""
        found = self._source(source, None)
        told = (each.catalog_id for each in self._sources.values() if each.catalog_id)
        return found if found.catalog_id else replace(found, catalog_id=next(told, ""))

    def _source(self, source: Source, catalog_id: str | None) -> Source:
        """The source with the catalog's id, once Glue has told it."""
        known = self._sources.get(source.region, source)
        if catalog_id and catalog_id != known.catalog_id:
            known = Source(source.server, source.region, catalog_id)
        self._sources[source.region] = known
        return known

    def _read(self, source: Source, database: str, error: LineageBridgeError | None, count: int) -> None:
        source = self._source(source, None)
        reason = error.reason if error else ""
        since = self._before.since(source.region, database, self.start)
        self.scopes.append(ScopeRead(source, database, status_of(error, count), reason, count, since))
