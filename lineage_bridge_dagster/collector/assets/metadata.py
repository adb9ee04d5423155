"""The metadata of the collector's assets: Dagster's standard keys, and our own as `collector/...`."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dagster import (
    JsonMetadataValue,
    MarkdownMetadataValue,
    MetadataValue,
    PathMetadataValue,
    TableColumn,
    TableMetadataValue,
    TableSchema,
)

from lineage_bridge_dagster.collector.delta import ScopeRead
from lineage_bridge_dagster.collector.extractor import Extract
from lineage_bridge_dagster.collector.files import WrittenFile
from lineage_bridge_dagster.collector.layout import LINEAGE, Kind
from lineage_bridge_dagster.collector.manifests import Manifest
from lineage_bridge_dagster.collector.rows import Row
from lineage_bridge_dagster.dagster_internals.definitions import NamespacedMetadataSet
from lineage_bridge_dagster.lineage.coverage import Status
from lineage_bridge_dagster.specs.markdown import markdown_table
from lineage_bridge_dagster.specs.metadata import StandardMetadata, table
from lineage_bridge_dagster.text import byte_size

#: Characters of a value in a preview: an event is kept forever.
_PREVIEW_CHARACTERS = 60
#: Columns that are the same in all rows of a preview.
_SAME_IN_ALL = ("server", "region", "catalog_id")
#: Characters of a manifest that is shown whole.
_MANIFEST_CHARACTERS = 100_000


class CollectorMetadata(NamespacedMetadataSet):
    """Our own metadata of the collector's assets, `collector/...`, in the order in which the UI shows it."""

    rows: MarkdownMetadataValue | None = None
    preview: TableMetadataValue | None = None
    deletions: int | None = None
    tables_read: int | None = None
    range_start: str | None = None
    range_end: str | None = None
    mark: str | None = None
    mark_before: str | None = None
    mark_after: str | None = None
    mark_location: str | None = None
    coverage: str | None = None
    unread: MarkdownMetadataValue | None = None
    masked: str | None = None
    file: str | None = None
    size: str | None = None
    files: MarkdownMetadataValue | None = None
    path: PathMetadataValue | None = None
    manifest_sha256: str | None = None
    sha256: str | None = None
    manifest: JsonMetadataValue | None = None
    calls: JsonMetadataValue | None = None
    approved_by: str | None = None
    note: str | None = None
    landed: MarkdownMetadataValue | None = None

    @classmethod
    def namespace(cls) -> str:
        return "collector"


def key(field: str) -> str:
    """The metadata key of a field, to read it back.

    >>> key("mark")
    'collector/mark'
    """
    return f"{CollectorMetadata.namespace()}/{field}"


MARK = key("mark")


class RowsSeen:
    """Counts rows as they are written, masked, and keeps the first `preview_rows` of each kind and region."""

    def __init__(self, preview_rows: int) -> None:
        self._preview_rows = preview_rows
        self._counts: Counter[tuple[str, str]] = Counter()
        self._first: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)

    def __call__(self, kind: Kind, row: Row) -> None:
        at = (kind.name, row[kind.header.index("region")] if "region" in kind.header else "")
        self._counts[at] += 1
        if self._counts[at] <= self._preview_rows:
            self._first[at].append(row)

    def count(self, kind: Kind, region: str = "") -> int:
        return self._counts[kind.name, region]

    def first(self, kind: Kind, region: str = "") -> list[Row]:
        return self._first[kind.name, region]


def kind_definition(kind: Kind) -> dict[str, Any]:
    """The metadata of the definition of a kind's asset: its columns."""
    columns = [
        TableColumn(
            column.name,
            str(column.type),
            description=column.description
            + (f". Masked as {column.sensitivity}" if column.sensitivity else ""),
        )
        for column in kind.columns
    ]
    return {**StandardMetadata(column_schema=MetadataValue.table_schema(TableSchema(columns)))}


def kind_metadata(extract: Extract, kind: Kind, region: str, seen: RowsSeen) -> dict[str, Any]:
    """The metadata of the rows of a kind and region."""
    file = next(each for each in extract.files if each.kind == kind.name)
    scopes = [scope for scope in extract.incomplete if scope.source.region == region]
    return {
        **StandardMetadata(row_count=seen.count(kind, region)),
        **CollectorMetadata(
            preview=preview(kind, seen.first(kind, region)),
            range_start=extract.start,
            range_end=extract.end,
            coverage=f"{len(scopes)} not fully read: see the manifest" if scopes else "complete",
            file=file.path.name,
            size=byte_size(file.size),
            path=MetadataValue.path(str(file.path)),
            sha256=file.sha256,
        ),
    }


def manifest_metadata(
    extract: Extract,
    manifest: Manifest,
    kinds: Sequence[Kind],
    regions: Sequence[str],
    seen: RowsSeen,
    **marks: str | None,
) -> dict[str, Any]:
    """The metadata of an extract's manifest; `marks` are further values: of the mark."""
    rows = [
        [kind.name, *(f"{seen.count(kind, region):,}" for region in regions), f"{extract.rows[kind.name]:,}"]
        for kind in kinds
    ]
    if LINEAGE.name in extract.rows:
        rows.append([LINEAGE.name, *("" for _ in regions), f"{extract.rows[LINEAGE.name]:,}"])
    content = dict(manifest.content)
    shown = len(str(content)) <= _MANIFEST_CHARACTERS
    unread = extract.incomplete
    return {
        **StandardMetadata(row_count=sum(extract.rows.values())),
        **CollectorMetadata(
            rows=MetadataValue.md(markdown_table(["", *regions, "all"], rows)),
            deletions=extract.deleted,
            tables_read=extract.tables,
            range_start=extract.start,
            range_end=extract.end,
            **marks,
            coverage=f"{len(unread)} not fully read" if unread else "complete",
            unread=MetadataValue.md(unread_table(unread)) if unread else None,
            masked=", ".join(content["masked"]) or "nothing",
            size=byte_size(sum(file.size for file in extract.files)),
            files=MetadataValue.md(files_table(extract.files)),
            path=MetadataValue.path(str(manifest.path)),
            manifest_sha256=manifest.sha256,
            manifest=MetadataValue.json(content) if shown else None,
            calls=MetadataValue.json(dict(extract.calls)),
        ),
    }


def preview(kind: Kind, rows: Sequence[Row]) -> TableMetadataValue | None:
    """The first rows as a table, without the columns that are empty or the same in all."""
    columns = [
        (index, name)
        for index, name in enumerate(kind.header)
        if name not in _SAME_IN_ALL and any(row[index] is not None for row in rows)
    ]
    return table([{name: _short(row[index]) for index, name in columns} for row in rows])


def files_table(files: Iterable[WrittenFile]) -> str:
    rows = [[each.path.name, f"{each.rows:,}", byte_size(each.size), each.sha256] for each in files]
    return markdown_table(["file", "rows", "size", "SHA-256"], rows)


def unread_table(scopes: Iterable[ScopeRead]) -> str:
    rows = [[scope.name, str(scope.status), scope.reason] for scope in scopes]
    return markdown_table(["region or database", "status", "why, and what to do"], rows)


def unread_sentence(scopes: Sequence[ScopeRead], regions: Sequence[str]) -> str:
    """Which regions were not fully read, and why."""
    lines: Mapping[str, list[ScopeRead]] = {
        region: [scope for scope in scopes if scope.source.region == region] for region in regions
    }
    parts = []
    for region, found in lines.items():
        whole = next((scope for scope in found if not scope.database), None)
        if whole and whole.status is not Status.COMPLETE:
            parts.append(f"{region}: {whole.reason}")
        elif found:
            more = f" (and {len(found) - 1:,} more databases)" if len(found) > 1 else ""
            parts.append(f"{found[0].name}: {found[0].reason}{more}")
    return " ".join(parts)


def _short(value: Any) -> str | int | float | bool | None:
    if isinstance(value, str) and len(value) > _PREVIEW_CHARACTERS:
        return value[: _PREVIEW_CHARACTERS - 1] + "…"
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
