"""Lake Formation tags as rows: the tags of a catalog, then what each of them is on, 100 objects a call.

`GetResourceLFTags` would take a call for each table. A search for a tag's key with its values returns the
tables that have it, with those of their columns, so the calls grow with the tagged tables alone.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, cast

from botocore.config import Config

from lineage_bridge_dagster.catalogs.errors import NotFoundError
from lineage_bridge_dagster.catalogs.glue.aws_errors import malformed_response, translate
from lineage_bridge_dagster.catalogs.glue.page_tokens import PageTokens
from lineage_bridge_dagster.collector.advice import advised
from lineage_bridge_dagster.collector.delta import ScopeRead
from lineage_bridge_dagster.collector.layout import COVERAGE, LF_TAGS, Kind
from lineage_bridge_dagster.collector.reading import status_of
from lineage_bridge_dagster.collector.rows import Row, Source
from lineage_bridge_dagster.collector.settings import CollectorSettings
from lineage_bridge_dagster.config.aws import aws_session, client_config, named_client
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.lineage.coverage import Status

#: The most tags and objects of a page, and values of an expression (API reference: PageSize, SearchPageSize,
#: TagValueList).
_TAGS_PAGE = 1_000
_SEARCH_PAGE = 100
_VALUES = 50
#: Attempts of a call, with botocore's pauses of up to 20 seconds: AWS publishes no rate of these calls.
_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class TagOn:
    """A tag with its values on a database, a table or a column.

    Attributes:
        catalog_id: The object's catalog; empty if the answer names none.
        table: Empty for a database.
        column: Empty for a database or a table.
        tag_catalog_id: The catalog of the account that owns the tag.
    """

    catalog_id: str
    database: str
    table: str
    column: str
    key: str
    values: tuple[str, ...]
    tag_catalog_id: str


class LakeFormationReader:
    """Reads the tags of one catalog that the caller may see.

    Raises:
        ConfigurationError: No client can be made.
    """

    def __init__(self, settings: CollectorSettings, region: str) -> None:
        retries = Config(retries={"mode": "standard", "total_max_attempts": _ATTEMPTS})
        session = aws_session(settings.aws(region), settings.keys, settings.external_id)
        self._client: Any = named_client(
            session,
            "Lake Formation",
            client_config(1).merge(retries),
            check="regions and AWS_ENDPOINT_URL_LAKEFORMATION",
        )
        self._region = region
        self._catalog = {"CatalogId": settings.catalog_id} if settings.catalog_id else {}
        self.calls: Counter[str] = Counter()

    def check(self) -> None:
        """Make the first call.

        Raises:
            CallError: It failed.
        """
        next(self._pages("ListLFTags", "LFTags", {"MaxResults": 1}), None)

    def tags(self) -> Iterator[TagOn]:
        """Yield each tag of each database, table and column, once.

        Raises:
            CallError: A call failed. What it would have returned is not known.
        """
        # A tag that others share has the catalog that it belongs to; its key may be that of one of ours.
        found: dict[str, set[str]] = {}
        for tag in self._pages(
            "ListLFTags", "LFTags", {"MaxResults": _TAGS_PAGE, "ResourceShareType": "ALL"}
        ):
            found.setdefault(_text(tag, "TagKey"), set()).update(_texts(tag, "TagValues"))
        for key in sorted(found):
            values = sorted(found[key])
            for start in range(0, len(values), _VALUES):
                some = values[start : start + _VALUES]
                yield from self._databases(key, some)
                yield from self._tables(key, some)

    def _databases(self, key: str, values: list[str]) -> Iterator[TagOn]:
        for each in self._search("SearchDatabasesByLFTags", "DatabaseList", key, values):
            database = _object(each, "Database")
            catalog_id, name = _text(database, "CatalogId", ""), _text(database, "Name")
            yield from _matching(each, "LFTags", (catalog_id, name, "", ""), key, values)

    def _tables(self, key: str, values: list[str]) -> Iterator[TagOn]:
        for each in self._search("SearchTablesByLFTags", "TableList", key, values):
            table = _object(each, "Table")
            catalog_id = _text(table, "CatalogId", "")
            database, name = _text(table, "DatabaseName"), _text(table, "Name")
            yield from _matching(each, "LFTagsOnTable", (catalog_id, database, name, ""), key, values)
            for column in _list(each, "LFTagsOnColumns"):
                place = (catalog_id, database, name, _text(column, "Name"))
                yield from _matching(column, "LFTags", place, key, values)

    def _search(
        self, operation: str, member: str, key: str, values: list[str]
    ) -> Iterator[Mapping[str, Any]]:
        expression = [{"TagKey": key, "TagValues": values}]
        try:
            yield from self._pages(operation, member, {"MaxResults": _SEARCH_PAGE, "Expression": expression})
        except NotFoundError:
            return  # The tag was removed since it was listed.

    def _pages(self, operation: str, member: str, request: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        token: str | None = None
        tokens = PageTokens(operation, "Lake Formation")
        while True:
            answer = self._call(
                operation, {**request, **self._catalog, **({"NextToken": token} if token else {})}
            )
            token = tokens.after(answer)
            # Lake Formation may leave out a list that is empty.
            yield from _list(answer, member)
            if token is None:
                return

    def _call(self, operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        self.calls[operation] += 1
        method = {
            "ListLFTags": self._client.list_lf_tags,
            "SearchDatabasesByLFTags": self._client.search_databases_by_lf_tags,
            "SearchTablesByLFTags": self._client.search_tables_by_lf_tags,
        }[operation]
        try:
            answer: Any = method(**request)
        except Exception as error:
            action = f"lakeformation:{operation}"
            raise translate(error, action=action, where="the catalog", region=self._region) from error
        kind = answer["ResponseMetadata"]["HTTPHeaders"].get("content-type", "json")
        if "json" not in kind:
            # botocore passes on what it cannot parse as an answer without lists.
            raise malformed_response(f"{operation} returned {kind}", "Lake Formation")
        return cast(Mapping[str, Any], answer)


def _matching(
    raw: Mapping[str, Any], member: str, place: tuple[str, str, str, str], key: str, values: list[str]
) -> Iterator[TagOn]:
    """The tags of an object that were searched for: others come with their own search."""
    for tag in _list(raw, member):
        found = tuple(value for value in _texts(tag, "TagValues") if value in values)
        if _text(tag, "TagKey") == key and found:
            yield TagOn(*place, key, found, _text(tag, "CatalogId", ""))


def _list(raw: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value = raw.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        raise malformed_response(f"{name} is not a list of objects", "Lake Formation")
    return value


def _object(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = raw.get(name)
    if not isinstance(value, Mapping):
        raise malformed_response(f"an object has no {name}", "Lake Formation")
    return value


def _text(raw: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = raw.get(name, default)
    if not isinstance(value, str) or (not value and default is None):
        raise malformed_response(f"an object has no {name}", "Lake Formation")
    return value


def _texts(raw: Mapping[str, Any], name: str) -> list[str]:
    value = raw.get(name)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise malformed_response(f"a tag has no {name}", "Lake Formation")
    return value


@dataclass(slots=True)
class TagsRead:
    """What came of the tags.

    Attributes:
        scopes: One a region; none if the tags are only wanted where they are allowed, and they are not.
        calls: API calls, by operation.
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
