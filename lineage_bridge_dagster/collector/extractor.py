"""One extract: reads Glue, writes the files, and leaves what the next extract compares with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.catalogs.glue.reader import GlueReader
from lineage_bridge_dagster.collector.advice import advised
from lineage_bridge_dagster.collector.delta import Delta, ScopeRead, SeenFile
from lineage_bridge_dagster.collector.files import ExtractFiles, WrittenFile
from lineage_bridge_dagster.collector.lake_formation import LakeFormationReader, TagsRead, write_tags
from lineage_bridge_dagster.collector.layout import KINDS, LF_TAGS, LINEAGE, SCHEMA_VERSION, Kind
from lineage_bridge_dagster.collector.mark_homes import marks_of
from lineage_bridge_dagster.collector.marks import BEGINNING, FORMAT, Marks, checked
from lineage_bridge_dagster.collector.masking import Masker
from lineage_bridge_dagster.collector.reading import (
    ConnectionCheck,
    ExtractProgress,
    Region,
    check_region,
    connection_error,
    list_databases,
    pages,
)
from lineage_bridge_dagster.collector.rows import Row, Source, lineage_rows
from lineage_bridge_dagster.collector.settings import CollectorSettings
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.extras import needs
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.times import iso, utc_now
from lineage_bridge_dagster.text import ReportLine, plural


@dataclass(frozen=True, slots=True)
class Extract:
    """What an extract wrote and read.

    Attributes:
        calls: API calls, by operation.
        changed: How many of them are in the extract.
        start: The mark from which changes count.
        end: The mark to publish when the files have arrived.
    """

    files: tuple[WrittenFile, ...]
    manifest: Path
    scopes: tuple[ScopeRead, ...]
    calls: Mapping[str, int]
    tables: int
    changed: int
    deleted: int
    start: str
    end: str

    @property
    def incomplete(self) -> list[ScopeRead]:
        return [scope for scope in self.scopes if scope.status is not Status.COMPLETE]

    @property
    def rows(self) -> dict[str, int]:
        """Rows by kind of file."""
        return {each.kind: each.rows for each in self.files}


class Extractor:
    """Extracts the inventory of Glue in some regions.

    Args:
        name: The first part of the names of files and of the mark.
        mark_path: Folder of the mark, by default the current one, or `s3://bucket/prefix`.
        home: The home of the mark for the settings, in place of `mark_path`.
        mask_key: Key of the tokens; by default that of `LINEAGE_BRIDGE_COLLECTOR_MASK_KEY`.
        clock: The time of the extract.
        config: The keys of `CollectorSettings`, as in the configuration file.

    Raises:
        ConfigurationError: A key is missing, malformed or unknown.
    """

    def __init__(
        self,
        *,
        name: str = "glue",
        mark_path: str | Path | None = None,
        home: Callable[[CollectorSettings], Marks] | None = None,
        mask_key: str = "",
        progress: ReportLine = lambda _line: None,
        clock: Callable[[], datetime] = utc_now,
        **config: Any,
    ) -> None:
        self.settings = CollectorSettings.of(config)
        self.marks = home(self.settings) if home else marks_of(name, mark_path, self.settings)
        self._progress = progress
        self._clock = clock
        classes = self.settings.mask_classes if self.settings.mask else ()
        self._masker = Masker(classes, mask_key or self.settings.mask_key)

    def test_connection(self) -> bool:
        """Try the two calls of an extract on each region, and that of Lake Formation tags if they are wanted.

        Returns:
            True.

        Raises:
            LineageBridgeError: A call failed; the error names each with its region and what to grant.
        """
        sources = self._sources()
        with ThreadPoolExecutor(len(sources), thread_name_prefix="glue-connection") as pool:
            checks = list(pool.map(self._check, sources))
        errors = self._advised({check.region: check.error for check in checks})
        if errors:
            raise connection_error(errors)
        return True

    def _check(self, source: Source) -> ConnectionCheck:
        found = check_region(source, self._reader)
        if found.error is None and self.settings.lake_formation_tags is True:
            try:
                LakeFormationReader(self.settings, source.region).check()
            except LineageBridgeError as error:
                return ConnectionCheck(source.region, error)
        return found

    def run(
        self,
        start_hwm: str | None = None,
        end_hwm: str | None = None,
        *,
        discovery: Discovery | None = None,
        observe: Callable[[Kind, Row], None] | None = None,
    ) -> Extract:
        """Extract what changed between two marks, and the identifiers of everything.

        Args:
            start_hwm: By default the published mark; without one, everything has changed.
            end_hwm: By default now. Publish it when the files have arrived.
            discovery: The lineage to extract; without it, no file of lineage is written.
            observe: Receives each row as it is written, masked.

        Raises:
            ConfigurationError: A mark is not a time, the folder cannot be written to, or the extra
                `collector` is missing. There are no files.
            LineageBridgeError: No region could be read. There are no files.
        """
        with needs("collector", "The inventory collector"):
            import sqlglot  # noqa: F401 - before the first call, not at the first view
        mark = self.marks.read()
        start = checked(start_hwm, "The start") if start_hwm else mark or BEGINNING
        end = checked(end_hwm, "The end") if end_hwm else self._clock().strftime(FORMAT)
        if end < start:
            raise ConfigurationError(
                f"The range of the extract ends at {end}, before it starts at {start} (UTC).",
                hint="Correct the mark, or the clock of this machine.",
            )
        started = self._clock()
        published, previous = mark, self.marks.state(mark) if mark else None
        if start != mark and (known := self.marks.state(start)) is not None:
            # A script that keeps its mark under another name says by it which extract was the last.
            mark, previous = start, known
        self._progress(f"Listing the databases of {plural(len(self.settings.regions), 'region')}")
        regions = list_databases(self._sources(), self._reader)
        errors = self._advised({region.source.region: region.error for region in regions})
        if len(errors) == len(regions):
            raise connection_error(errors)
        regions = [replace(region, error=errors.get(region.source.region)) for region in regions]
        kinds = [kind for kind in KINDS if kind is not LINEAGE or discovery is not None]
        if self.settings.lake_formation_tags is False:
            kinds.remove(LF_TAGS)
        with (
            SeenFile() as seen,
            ExtractFiles(
                self.settings.output_path,
                self.marks.prefix,
                started,
                format_=self.settings.format,
                compress=self.settings.compress,
                mask=self._masker.row_masker,
                observe=observe,
            ) as files,
        ):
            for kind in kinds:
                files.open(kind)
            overlap = timedelta(seconds=self.settings.overlap_seconds)
            delta = Delta(files, seen, previous, mark or "", start, end, overlap)
            self._read(delta, regions)
            tags = self._write_tags(files, delta, regions)
            if discovery is not None:
                for row in lineage_rows(discovery, self.settings.server):
                    files.write(LINEAGE, row)
            state = delta.finish(self.settings.regions)
            if not published or end > published:
                # The mark only moves forward, and what stands beside it changes only when it moves.
                self.marks.keep(end, state)
            if not published and mark:
                self.marks.remove_older(mark)
            extract = Extract(
                tuple(files.finish()),
                files.manifest,
                self._scopes([*delta.scopes, *tags.scopes]),
                dict(_calls(regions) | tags.calls),
                delta.tables,
                delta.changed,
                delta.deleted,
                start,
                end,
            )
            files.write_manifest(self._manifest(extract, iso(started), discovery))
        return extract

    def _advised(self, errors: Mapping[str, LineageBridgeError | None]) -> dict[str, LineageBridgeError]:
        """The errors by region, with what to do; masked, as they are shown."""
        working = [region for region, error in errors.items() if error is None]
        return {
            region: self._shown(advised(error, region, self.settings, working))
            for region, error in errors.items()
            if error is not None
        }

    def _shown(self, error: LineageBridgeError) -> LineageBridgeError:
        if self.settings.mask:
            error.message, error.hint = map(self._masker.location, (error.message, error.hint))
        return error

    def _sources(self) -> list[Source]:
        catalog_id = self.settings.catalog_id or ""
        regions = dict.fromkeys(self.settings.regions)
        return [Source(self.settings.server, region, catalog_id) for region in regions]

    def _reader(self, source: Source) -> GlueReader:
        settings = self.settings
        client = glue_client(
            settings.aws(source.region),
            keys=settings.keys,
            external_id=settings.external_id,
            unknown_fields=False,
        )
        return GlueReader(client)

    def _read(self, delta: Delta, regions: Sequence[Region]) -> None:
        """Write the rows of what Glue lists."""
        for region in regions:
            delta.add_region(region)
        read = [region for region in regions if region.error is None]
        progress = ExtractProgress(self._progress)
        progress.listed(regions)
        for page in pages(read, self.settings.max_concurrency):
            if page.error is not None:
                page = replace(page, error=advised(page.error, page.source.region, self.settings))
            delta.add_page(page)
            progress.add(page)
        self._progress(f"Read {plural(delta.tables, 'table')}, {delta.changed:,} of them changed")

    def _write_tags(self, files: ExtractFiles, delta: Delta, regions: Sequence[Region]) -> TagsRead:
        if self.settings.lake_formation_tags is False:
            return TagsRead()
        self._progress("Reading Lake Formation tags")
        sources = [delta.known(region.source) for region in regions if region.error is None]
        tags = write_tags(self.settings, sources, files.write)
        self._progress(f"Read {plural(tags.tags, 'Lake Formation tag')}")
        return tags

    def _scopes(self, scopes: Sequence[ScopeRead]) -> tuple[ScopeRead, ...]:
        """The scopes as they are shown and logged: errors of AWS name accounts."""
        if not self.settings.mask:
            return tuple(scopes)
        return tuple(replace(scope, reason=self._masker.location(scope.reason)) for scope in scopes)

    def _manifest(self, extract: Extract, started: str, discovery: Discovery | None) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "server": self.settings.server,
            "regions": list(self.settings.regions),
            "started": started,
            "finished": iso(self._clock()),
            "high_water_mark": {"start": extract.start, "end": extract.end},
            "overlap_seconds": self.settings.overlap_seconds,
            "masked": sorted(self._masker.classes),
            "tables": {"read": extract.tables, "changed": extract.changed, "deleted": extract.deleted},
            "coverage": {
                "complete": not extract.incomplete,
                "incomplete": [
                    {"scope": scope.name, "status": str(scope.status), "reason": scope.reason}
                    for scope in extract.incomplete
                ],
            },
            "lineage_discovered_at": discovery.discovered_at if discovery else None,
            "calls": dict(extract.calls),
            "files": [each.to_json() for each in extract.files],
        }


def _calls(regions: Sequence[Region]) -> Counter[str]:
    calls: Counter[str] = Counter()
    for region in regions:
        calls.update(region.reader.calls if region.reader else {})
    return calls
