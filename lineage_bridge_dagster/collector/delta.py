"""What changed in Glue since a mark, as rows: changes, identifiers, deletions and coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from lineage_bridge_dagster.collector.files import ExtractFiles
from lineage_bridge_dagster.collector.layout import COVERAGE, DELETIONS, IDENTIFIERS
from lineage_bridge_dagster.collector.marks import Identifier, State, time_of
from lineage_bridge_dagster.collector.reading import Page, Region, status_of
from lineage_bridge_dagster.collector.rows import Source, database_rows, object_type, table_rows, update_time
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.times import iso


@dataclass(frozen=True, slots=True)
class ScopeRead:
    """How completely a region, with an empty database, or a database was read.

    Attributes:
        since: The mark from which its changes count.
    """

    source: Source
    database: str
    status: Status
    reason: str
    tables: int
    since: str

    @property
    def name(self) -> str:
        region = self.source.region
        return f"{region}/{self.database}" if self.database else region


@dataclass(slots=True)
class Delta:
    """Writes the rows of what Glue lists, and compares it with what was there at the last mark.

    Attributes:
        previous: What was there at the published mark, `mark`, which is empty before the first one.
        start: The mark from which changes count.
        end: The mark up to which they count.
        overlap: How far beyond both they count as well.
        tables: Tables listed so far, `changed` of them within the range.
        deleted: Databases and tables that are gone.
    """

    files: ExtractFiles = field(repr=False)
    previous: State = field(repr=False)
    mark: str
    start: str
    end: str
    overlap: timedelta
    scopes: list[ScopeRead] = field(default_factory=list)
    tables: int = 0
    changed: int = 0
    deleted: int = 0
    _seen: dict[tuple[str, str, str], Identifier] = field(default_factory=dict, repr=False)
    _sources: dict[str, Source] = field(default_factory=dict)
    _counts: Counter[tuple[str, str]] = field(default_factory=Counter, repr=False)

    def add_region(self, region: Region) -> None:
        """Write the databases of a region; what it lists after an error is not known."""
        source = region.source
        for database in region.databases:
            catalog_id = database.raw.get("CatalogId")
            source = self._source(source, str(catalog_id) if catalog_id else None)
            for kind, row in database_rows(source, database):
                self.files.write(kind, row)
            self._see(source, Identifier(source.region, database.name, object_type="database"))
        self._read(source, "", region.error, len(region.databases))

    def add_page(self, page: Page) -> None:
        """Write the tables of a page."""
        since = self.previous.since(page.source.region, page.database.name, self.start)
        after, until = time_of(since) - self.overlap, time_of(self.end) + self.overlap
        source = self._source(page.source, None)
        for table in page.tables:
            source = self._source(source, table.catalog_id)
            updated = update_time(table)
            changed_at = iso(updated) if updated else ""
            self._see(
                source, Identifier(source.region, table.database, table.name, object_type(table), changed_at)
            )
            self.tables += 1
            self._counts[source.region, page.database.name] += 1
            if updated is None or after <= updated <= until:
                self.changed += 1
                for kind, row in table_rows(source, table):
                    self.files.write(kind, row)
        if page.last:
            count = self._counts[source.region, page.database.name]
            self._read(source, page.database.name, page.error, count)

    def finish(self, regions: Sequence[str]) -> State:
        """Write what is gone, what could not be listed and is carried, and the coverage.

        Args:
            regions: The regions of this extract. What is known of others stays as it is.

        Returns:
            What the next extract compares with.
        """
        status = {scope.name: scope.status for scope in self.scopes}
        others = []
        for identifier in self.previous.identifiers:
            if identifier.region not in regions:
                others.append(identifier)
            elif identifier.name not in self._seen:
                listed = status.get(identifier.region)
                of_tables = status.get(f"{identifier.region}/{identifier.database}", listed)
                gone = listed is Status.COMPLETE and (not identifier.table or of_tables is Status.COMPLETE)
                source = self._sources[identifier.region]
                if gone:
                    self.deleted += 1
                    place = source.place(identifier.database, identifier.table)
                    self.files.write(
                        DELETIONS,
                        (*place, identifier.object_type, iso(time_of(self.mark)) if self.mark else None),
                    )
                else:
                    self._see(source, identifier, "carried")
        for scope in self.scopes:
            self._write_coverage(scope)
        return State(self._behind(regions), (*self._seen.values(), *others))

    def _behind(self, regions: Sequence[str]) -> dict[str, str]:
        """The marks of what was not fully read, and of the regions that were not asked for."""
        behind = {scope.name: scope.since for scope in self.scopes if scope.status is not Status.COMPLETE}
        behind |= {
            name: mark for name, mark in self.previous.behind.items() if name.partition("/")[0] not in regions
        }
        for region in {each.region for each in self.previous.identifiers} - set(regions):
            behind.setdefault(region, self.mark)
        return behind

    def _see(self, source: Source, identifier: Identifier, seen: str = "read") -> None:
        self._seen[identifier.name] = identifier
        place = source.place(identifier.database, identifier.table)
        self.files.write(IDENTIFIERS, (*place, identifier.object_type, identifier.update_time or None, seen))

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
        since = self.previous.since(source.region, database, self.start)
        self.scopes.append(ScopeRead(source, database, status_of(error, count), reason, count, since))

    def _write_coverage(self, scope: ScopeRead) -> None:
        source = self._source(scope.source, None)
        row = (
            source.server,
            source.region,
            source.catalog_id or None,
            scope.database or None,
            str(scope.status),
            scope.reason or None,
            scope.tables if scope.database else None,
            iso(time_of(scope.since)),
        )
        self.files.write(COVERAGE, row)
