"""Reading Glue: its databases and tables, as frozen records, by pages of 100.

A list that could not be read to its end raises; it never ends early. `read_inventory` is for those who want
whatever can be had, and it says what could not.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.glue.client import UNKNOWN_FIELDS
from lineage_bridge_dagster.glue.errors import GlueError, Outcome, translate

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

_log = logging.getLogger(__name__)

#: The most that GetDatabases and GetTables give in one answer.
PAGE_SIZE = 100


@dataclass(frozen=True, slots=True)
class GlueTable:
    """One table as Glue answered; `raw` is the whole answer, and nobody changes it.

    `unknown_fields` names what Glue sent and botocore's model has no name for (dotted paths).
    """

    database: str
    name: str
    version_id: str | None
    parameters: Mapping[str, str]
    description: str
    location: str
    table_type: str
    catalog_id: str | None
    raw: Mapping[str, Any] = field(repr=False)
    unknown_fields: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.database}.{self.name}"

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any], database: str, unknown: Iterable[str] = ()) -> GlueTable:
        """Read one member of `TableList`.

        Raises:
            GlueError: the record has no name, or its parts are not of their kind.
        """
        name = raw.get("Name")
        parameters = raw.get("Parameters") or {}
        storage = raw.get("StorageDescriptor") or {}
        if not isinstance(name, str) or not name:
            raise _malformed(f"a table of {database} has no name")
        if not isinstance(parameters, Mapping) or not isinstance(storage, Mapping):
            raise _malformed(f"the parameters or the storage descriptor of {database}.{name} are no mapping")
        return cls(
            database=str(raw.get("DatabaseName") or database),
            name=name,
            version_id=str(raw["VersionId"]) if raw.get("VersionId") not in (None, "") else None,
            parameters=parameters,
            description=str(raw.get("Description") or ""),
            location=_location(storage, parameters),
            table_type=str(raw.get("TableType") or ""),
            catalog_id=str(raw["CatalogId"]) if raw.get("CatalogId") else None,
            raw=raw,
            unknown_fields=tuple(unknown),
        )

    def not_writable(self) -> str | None:
        """Why `UpdateTable` may not be called on this kind of table; None when it may."""
        if self.raw.get("TargetTable"):
            return "it is a resource link: lineage belongs on the table that it points to"
        if self.raw.get("FederatedTable"):
            return "it is a federated table, which takes no parameters from Glue"
        if self.raw.get("IsMultiDialectView") or self.raw.get("ViewDefinition"):
            return "it is a multi-dialect view"
        if self.raw.get("IsMaterializedView"):
            return "it is a materialized view"
        if self.table_type.upper() in ("VIRTUAL_VIEW", "MATERIALIZED_VIEW"):
            return "it is a view"
        return None


@dataclass(frozen=True, slots=True)
class GlueDatabase:
    """One database. A link's or a federated one's tables live elsewhere."""

    name: str
    elsewhere: bool = False


@dataclass(slots=True)
class Inventory:
    """What of a catalog could be read: `unread` has the databases that could not be read whole, and why.

    `list_error` is why the databases could not be listed; then only those asked for by name were read.
    `count` is how many tables were read; `tables` are those that were kept.
    """

    tables: list[GlueTable] = field(default_factory=list)
    count: int = 0
    databases: list[str] = field(default_factory=list)
    unread: dict[str, GlueError] = field(default_factory=dict)
    list_error: GlueError | None = None


class GlueReader:
    """Reads one catalog. `calls` counts the API calls made, by their operation; threads may share it.

    Args:
        client: a Glue client; see `client.glue_client`, which also binds it to another account's catalog.
    """

    def __init__(self, client: GlueClient) -> None:
        self._client = client
        self._lock = threading.Lock()
        self.calls: dict[str, int] = {}

    def databases(self) -> list[GlueDatabase]:
        """Every database of the catalog.

        Raises:
            GlueError: a page could not be read.
        """
        found = []
        for answer in self._pages("GetDatabases", "the Glue catalog", "DatabaseList", {}):
            for raw in answer["DatabaseList"]:
                if not isinstance(raw, Mapping) or not raw.get("Name"):
                    raise _malformed("a database has no name")
                elsewhere = bool(raw.get("TargetDatabase") or raw.get("FederatedDatabase"))
                found.append(GlueDatabase(str(raw["Name"]), elsewhere))
        return found

    def tables(self, database: str) -> Iterator[GlueTable]:
        """A database's tables, a page at a time as they are taken.

        Raises:
            GlueError: a page could not be read; `NOT_FOUND` when there is no such database.
        """
        for page in self.pages(database):
            yield from page

    def pages(self, database: str) -> Iterator[list[GlueTable]]:
        """As `tables`, by page."""
        where = f"the database {database}"
        for answer in self._pages("GetTables", where, "TableList", {"DatabaseName": database}):
            unknown = answer.get(UNKNOWN_FIELDS) or {}
            yield [
                GlueTable.from_raw(raw, database, unknown.get(raw.get("Name"), ()))
                for raw in answer["TableList"]
            ]

    def names(self, database: str) -> Iterator[str]:
        """The names of a database's tables and nothing else: no columns, parameters or descriptions.

        Raises:
            GlueError: as `tables`.
        """
        request = {"DatabaseName": database, "AttributesToGet": ["NAME"]}
        for answer in self._pages("GetTables", f"the database {database}", "TableList", request):
            for raw in answer["TableList"]:
                yield GlueTable.from_raw(raw, database).name

    def table(self, database: str, name: str) -> GlueTable | None:
        """One table as it is now; None when it isn't there.

        Raises:
            GlueError: it could not be read.
        """
        try:
            answer = self._call(
                "GetTable", f"the table {database}.{name}", {"DatabaseName": database, "Name": name}
            )
        except GlueError as error:
            if error.outcome is Outcome.NOT_FOUND:
                return None
            raise
        raw = answer.get("Table")
        if not isinstance(raw, Mapping):
            raise _malformed(f"GetTable on {database}.{name} answered without a table")
        unknown = answer.get(UNKNOWN_FIELDS) or {}
        return GlueTable.from_raw(raw, database, unknown.get(raw.get("Name"), ()))

    def _pages(
        self, operation: str, where: str, member: str, request: Mapping[str, Any]
    ) -> Iterator[dict[str, Any]]:
        token: str | None = None
        seen: set[str] = set()
        while True:
            paging = {"MaxResults": PAGE_SIZE, **({"NextToken": token} if token else {})}
            answer = self._call(operation, where, {**request, **paging})
            if not isinstance(answer.get(member), list):
                raise _malformed(f"{operation} on {where} answered without a {member}")
            yield answer
            token = answer.get("NextToken")
            if not token:
                return
            if token in seen:
                raise _malformed(f"{operation} on {where} gave the same page token twice")
            seen.add(token)

    def _call(self, operation: str, where: str, request: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            self.calls[operation] = self.calls.get(operation, 0) + 1
        method = {
            "GetDatabases": self._client.get_databases,
            "GetTables": self._client.get_tables,
            "GetTable": self._client.get_table,
        }[operation]
        try:
            answer: Any = method(**request)  # type: ignore[operator]
        except Exception as error:
            raise translate(error, action=f"glue:{operation}", where=where) from error
        if not isinstance(answer, dict):
            raise _malformed(f"{operation} on {where} gave no object")
        return answer


def read_inventory(
    reader: GlueReader,
    *,
    expected: Iterable[str] = (),
    only: Iterable[str] | None = None,
    keep: Callable[[GlueTable], bool] = lambda _table: True,
    max_concurrency: int = 8,
) -> Inventory:
    """Read as many tables as can be read, and say what could not.

    Args:
        keep: which tables to keep; a table's record may be 100 kB, and a catalog is all of an account's.
        expected: databases to read by name when the list of databases can't be had.
        only: read these databases and list none; one that isn't there is empty.
        max_concurrency: databases read at once.
    """
    inventory = Inventory()
    if only is not None:
        names = sorted({name.lower() for name in only})
    else:
        try:
            names = [database.name for database in reader.databases() if not database.elsewhere]
        except GlueError as error:
            inventory.list_error = error
            names = sorted({name.lower() for name in expected})
    inventory.databases = names

    def read(name: str) -> tuple[str, list[GlueTable], int, GlueError | None]:
        tables: list[GlueTable] = []
        count = 0
        try:
            for page in reader.pages(name):
                tables += filter(keep, page)
                count += len(page)
        except GlueError as error:
            # A database that isn't there (any more) has no tables.
            return name, tables, count, None if error.outcome is Outcome.NOT_FOUND and not count else error
        return name, tables, count, None

    with ThreadPoolExecutor(max_workers=max_concurrency, thread_name_prefix="glue-read") as pool:
        for name, tables, count, problem in pool.map(read, names):
            inventory.tables += tables
            inventory.count += count
            if problem is not None:
                inventory.unread[name] = problem
    return inventory


def read_some(
    reader: GlueReader, wanted: Mapping[str, Iterable[str]]
) -> Iterator[tuple[str, str, GlueTable | None]]:
    """Each wanted table as a page gave it, with its database and name, or None where it is to be read by
    itself.

    A database is paged through only while that costs no more calls than reading its tables one by one.

    Args:
        wanted: names of tables by database, folded as Glue does.
    """
    for database, names in wanted.items():
        left = dict.fromkeys(names)
        count = len(left)
        if count > 1:
            try:
                for pages, page in enumerate(reader.pages(database), start=1):
                    for table in page:
                        name = table.name.lower()
                        if name in left:
                            del left[name]
                            yield database, name, table
                    if len(left) <= 1 or pages >= count // 2:
                        break
            except GlueError as error:
                # Each table is asked for by itself then, and says for itself what is wrong.
                _log.info("Pages of %s could not be read: %s", database, error.message)
        for name in left:
            yield database, name, None


def normal_location(location: str | None) -> str:
    """A storage location to compare by: `s3a` and `s3n` are `s3`, and a trailing slash means nothing."""
    text = (location or "").strip()
    scheme, separator, rest = text.partition("://")
    if not separator:
        return text.rstrip("/")
    scheme = scheme.lower()
    return f"{'s3' if scheme in ('s3a', 's3n') else scheme}://{rest.rstrip('/')}"


def iso_time(value: object) -> str | None:
    """ISO 8601, in UTC where the zone is known; botocore gives Glue's times in this machine's zone."""
    if not isinstance(value, datetime):
        return None
    if value.tzinfo is not None:
        value = value.astimezone(UTC)
    return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _location(storage: Mapping[str, Any], parameters: Mapping[str, str]) -> str:
    """`StorageDescriptor.Location`; Iceberg writers that leave it out tell it by their metadata file."""
    location = storage.get("Location")
    if location:
        return str(location)
    metadata = str(parameters.get("metadata_location") or "")
    return metadata.rpartition("/metadata/")[0]


def _malformed(what: str) -> GlueError:
    return GlueError(
        f"Glue's answer is malformed: {what}.",
        hint="Check that LINEAGE_BRIDGE_AWS_ENDPOINT_URL or AWS_ENDPOINT_URL_GLUE is AWS Glue.",
        outcome=Outcome.REJECTED,
    )
