"""Writes the Lake Formation tags of the regions that were read, as rows, with a coverage of their own."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from lineage_bridge_dagster.collector.advice import advised
from lineage_bridge_dagster.collector.delta import ScopeRead
from lineage_bridge_dagster.collector.lake_formation import LakeFormationReader, TagOn
from lineage_bridge_dagster.collector.layout import COVERAGE, LF_TAGS, Kind
from lineage_bridge_dagster.collector.reading import status_of
from lineage_bridge_dagster.collector.rows import Row, Source
from lineage_bridge_dagster.collector.settings import CollectorSettings
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.coverage import Status


@dataclass(slots=True)
class TagsRead:
    """What came of the tags.

    Attributes:
        scopes: One a region; none if the tags are only wanted where they are allowed, and they are not.
        calls: API calls, by operation.
        tags: Rows that were written.
    """

    scopes: list[ScopeRead] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    tags: int = 0


def write_tags(
    settings: CollectorSettings, sources: Sequence[Source], write: Callable[[Kind, Row], None]
) -> TagsRead:
    """Write the tags of all regions, and how completely they were read. An error never ends an extract.

    Args:
        sources: Regions whose databases were listed.
        write: Writes a row; it is called by one thread at a time.
    """
    read = TagsRead()
    lock = threading.Lock()

    def read_region(source: Source) -> None:
        error: LineageBridgeError | None = None
        reader: LakeFormationReader | None = None
        count = 0
        try:
            reader = LakeFormationReader(settings, source.region)
            for tag in reader.tags():
                with lock:
                    write(LF_TAGS, _row(source, tag))
                count += 1
        except LineageBridgeError as failure:
            error = advised(failure, source.region, settings)
        status = status_of(error, count)
        reason = error.reason if error else ""
        scope = ScopeRead(source, "", status, reason, count, "", "lf_tags")
        with lock:
            write(COVERAGE, scope.row(source))
            read.tags += count
            read.calls.update(reader.calls if reader else {})
            if settings.lake_formation_tags != "auto" or status is not Status.DENIED:
                read.scopes.append(scope)

    if sources:
        with ThreadPoolExecutor(len(sources), thread_name_prefix="lake-formation") as pool:
            list(pool.map(read_region, sources))
    read.scopes.sort(key=lambda scope: scope.source.region)
    return read


def _row(source: Source, tag: TagOn) -> Row:
    kind = "column" if tag.column else "table" if tag.table else "database"
    place = Source(source.server, source.region, tag.catalog_id or source.catalog_id)
    return (
        *place.place(tag.database, tag.table),
        tag.column or None,
        kind,
        tag.key,
        json.dumps(tag.values, ensure_ascii=False),
        tag.tag_catalog_id or None,
    )
