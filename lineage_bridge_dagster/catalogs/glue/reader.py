"""Reading databases and tables from Glue, in pages of 100.

A list that cannot be read to its end raises an error; it never ends early.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from lineage_bridge_dagster.catalogs.errors import AmbiguousError, CallError, NotFoundError
from lineage_bridge_dagster.catalogs.glue.aws_errors import malformed_response, translate
from lineage_bridge_dagster.catalogs.glue.fields import UNKNOWN_FIELDS
from lineage_bridge_dagster.catalogs.glue.glue_table import GlueTable
from lineage_bridge_dagster.catalogs.glue.page_tokens import PageTokens
from lineage_bridge_dagster.lineage.glue_names import GluePlace

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

logger = logging.getLogger(__name__)

#: The most entries that GetDatabases and GetTables return in one response.
PAGE_SIZE = 100

#: What a federated database of S3 Tables refers to: the ARN of the table bucket, or of a namespace in it.
_TABLE_BUCKET = re.compile(
    r"arn:aws[a-z-]*:s3tables:[a-z0-9-]+:(?P<account>\d{12}):bucket/(?P<bucket>[^/\s]+)"
)


@dataclass(frozen=True, slots=True)
class GlueDatabase:
    """A database.

    Attributes:
        target: of a resource link, the `catalog.database` with the tables.
        federation: of a federated database, such as one of an S3 Tables or Hive catalog, what it refers to.
        raw: the whole record; treated as immutable.
    """

    name: str
    target: str = ""
    federation: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any]) -> Self:
        """Read a `Database` of Glue's API, where `TargetDatabase` marks a resource link."""
        target, federation = raw.get("TargetDatabase"), raw.get("FederatedDatabase")
        return cls(
            raw["Name"],
            _target(target) if target else "",
            _source(federation) if federation else "",
            raw,
        )

    @property
    def warehouse(self) -> str:
        """The catalog of Glue that has its tables, as Glue's Iceberg endpoint names it; empty if unknown."""
        target, federated = self.raw.get("TargetDatabase"), self.raw.get("FederatedDatabase")
        if isinstance(target, Mapping) and ":" in (catalog := str(target.get("CatalogId") or "")):
            return catalog
        if isinstance(federated, Mapping) and (
            found := _TABLE_BUCKET.match(str(federated.get("Identifier") or ""))
        ):
            return f"{found['account']}:s3tablescatalog/{found['bucket']}"
        return ""

    @property
    def is_elsewhere(self) -> bool:
        """Whether its tables are in another catalog, which is not read."""
        return bool(self.target or self.federation)

    @property
    def elsewhere(self) -> str:
        """Where its tables are, as a phrase; empty if they are in this catalog."""
        if self.target:
            return f"a resource link to {self.target}"
        return f"federated through {self.federation}" if self.federation else ""


class GlueReader:
    """Reads one catalog. Thread-safe.

    Args:
        client: a Glue client; `client.glue_client` can bind it to the catalog of another account.
    """

    def __init__(self, client: GlueClient) -> None:
        self._client = client
        self._lock = threading.Lock()
        self.calls: dict[str, int] = {}

    def databases(self) -> list[GlueDatabase]:
        """List every database of the catalog.

        Raises:
            CallError: a page could not be read.
        """
        databases = []
        for response in self._pages("GetDatabases", "the Glue catalog", "DatabaseList", {}):
            for raw in response["DatabaseList"]:
                name = raw.get("Name") if isinstance(raw, Mapping) else None
                if not name or not isinstance(name, str):
                    raise malformed_response("a database has no name")
                databases.append(GlueDatabase.from_raw(raw))
        return databases

    def pages(self, database: str) -> Iterator[list[GlueTable]]:
        """Yield the tables of a database, page by page.

        Raises:
            NotFoundError: the database does not exist.
            CallError: a page could not be read.
        """
        request = {"DatabaseName": database}
        for response in self._pages("GetTables", f"the database {database}", "TableList", request):
            yield [_table(raw, database, response) for raw in response["TableList"]]

    def page(self, database: str, token: str | None) -> tuple[list[GlueTable], str | None]:
        """Read one page of a database's tables, and the token of the next one; None after the last.

        Raises:
            CallError: as for `pages`.
        """
        request = {"DatabaseName": database}
        response = next(self._pages("GetTables", f"the database {database}", "TableList", request, token))
        tables = [_table(raw, database, response) for raw in response["TableList"]]
        return tables, response.get("NextToken") or None

    def names(self, database: str) -> Iterator[str]:
        """Yield the names of a database's tables, without requesting anything else of them.

        Raises:
            CallError: as for `pages`.
        """
        request = {"DatabaseName": database, "AttributesToGet": ["NAME"]}
        for response in self._pages("GetTables", f"the database {database}", "TableList", request):
            for raw in response["TableList"]:
                yield _table(raw, database, response).name

    def table(self, database: str, name: str) -> GlueTable | None:
        """Read one table; None if it does not exist.

        Raises:
            CallError: the table could not be read.
        """
        request = {"DatabaseName": database, "Name": name}
        try:
            response = self._call("GetTable", f"the table {database}.{name}", request)
        except NotFoundError:
            return None
        raw = response.get("Table")
        if not isinstance(raw, Mapping):
            raise malformed_response(f"GetTable on {database}.{name} returned no table")
        found = _table(raw, database, response)
        if found.name.lower() != name.lower():
            raise malformed_response(f"GetTable on {database}.{name} returned {found.name}")
        return found

    def _pages(
        self, operation: str, where: str, member: str, request: Mapping[str, Any], token: str | None = None
    ) -> Iterator[dict[str, Any]]:
        tokens = PageTokens(f"{operation} on {where}", first=token)
        while True:
            paging = {"MaxResults": PAGE_SIZE, **({"NextToken": token} if token else {})}
            response = self._call(operation, where, {**request, **paging})
            if not isinstance(response.get(member), list):
                raise malformed_response(f"{operation} on {where} returned no {member}")
            token = tokens.after(response)
            yield response
            if token is None:
                return

    def _call(self, operation: str, where: str, request: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            self.calls[operation] = self.calls.get(operation, 0) + 1
        method = {
            "GetDatabases": self._client.get_databases,
            "GetTables": self._client.get_tables,
            "GetTable": self._client.get_table,
        }[operation]
        try:
            response: Any = method(**request)  # type: ignore[operator]
        except Exception as error:
            region = self._client.meta.region_name
            raise translate(error, action=f"glue:{operation}", where=where, region=region) from error
        if not isinstance(response, dict):
            raise malformed_response(f"{operation} on {where} returned no object")
        return response


def read_pages(
    reader: GlueReader, places: Iterable[GluePlace]
) -> Iterator[tuple[GluePlace, GlueTable | None]]:
    """Yield each place with its table as a page returned it, or None if it has to be read on its own.

    Places are in lower case, without repetitions. The pages of a database are read only while that takes
    fewer calls than reading its tables one by one.
    """
    by_database: dict[str, dict[str, GluePlace]] = {}
    for place in places:
        by_database.setdefault(place.database, {})[place.table] = place
    for database, remaining in by_database.items():
        max_pages = len(remaining) // 2
        if len(remaining) > 1:
            try:
                for count, page in enumerate(reader.pages(database), start=1):
                    for table in page:
                        name = table.name.lower()
                        if name in remaining:
                            yield remaining.pop(name), table
                    if len(remaining) <= 1 or count >= max_pages:
                        break
            except CallError as error:
                # Each table is read on its own then, and reports its own error.
                logger.info("The tables of %s could not be listed: %s", database, error.message)
        for place in remaining.values():
            yield place, None


def _target(raw: object) -> str:
    """The target of a resource link as `catalog.database`, with the region if it names one."""
    fields = raw if isinstance(raw, Mapping) else {}
    names = (fields.get(name) for name in ("CatalogId", "Region", "DatabaseName"))
    return ".".join(str(name) for name in names if name) or "an unknown database"


def _source(raw: object) -> str:
    """What a federated database refers to: its connection, or the entity outside Glue."""
    fields = raw if isinstance(raw, Mapping) else {}
    if connection := fields.get("ConnectionName"):
        return f"connection {connection}"
    return str(fields.get("Identifier") or fields.get("ConnectionType") or "an unknown connection")


def _table(raw: object, database: str, response: Mapping[str, Any]) -> GlueTable:
    if not isinstance(raw, Mapping):
        raise malformed_response(f"a table of {database} is not an object")
    named = raw.get("DatabaseName") or database
    if str(named).lower() != database.lower() and not raw.get("TargetTable"):
        raise AmbiguousError(
            f"Glue answered for the database {database} with a table of {named}.",
            hint=f"If {database} is a resource link, read the catalog that it links to: "
            "LINEAGE_BRIDGE_AWS_CATALOG_ID. Otherwise look for a proxy in between.",
        )
    unknown = response.get(UNKNOWN_FIELDS) or {}
    return GlueTable.from_raw(raw, database, unknown.get(str(raw.get("Name")), ()))
