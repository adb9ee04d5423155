"""An Iceberg REST catalog that answers what a test says, whatever a real one would refuse to."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import SortOrder
from pyiceberg.types import LongType, NestedField

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster_tests.http_server import Answering, served

Json = dict[str, Any]
TOKEN = {"access_token": "token", "token_type": "bearer", "expires_in": 3600}
#: The separator of a namespace's levels in paths.
_SEPARATOR = "\x1f"


def metadata(
    properties: Mapping[str, str] | None = None, location: str = "s3://bucket/t", **changes: Any
) -> Json:
    """The metadata of a table with one column; the changes are fields of it."""
    made = new_table_metadata(
        Schema(NestedField(1, "id", LongType())),
        PartitionSpec(),
        SortOrder(),
        location,
        dict(properties or {}),
        uuid.uuid4(),
    )
    return {**json.loads(made.model_dump_json(by_alias=True)), **changes}


def with_type(kind: str) -> Json:
    """The metadata of a table with a column of a type of format version 3."""
    found = metadata(**{"format-version": 3, "next-row-id": 0})
    found["schemas"][0]["fields"].append({"id": 2, "name": "v", "type": kind, "required": False})
    return found


@dataclass(frozen=True)
class Alien:
    """An answer that is not the catalog's: that of a proxy or a gateway in between."""

    status: int
    body: str


@dataclass
class RestServer:
    """A catalog.

    Attributes:
        config: The answer of `/v1/config`: `defaults`, `overrides`.
        tables: By the levels of the namespace and the name: the answer of LoadTable, a status, or an `Alien`.
        namespaces: By a namespace's levels, a status or an `Alien` in place of the list of those within it.
        flat: Whether it ignores which namespaces it is asked about.
        answers: By the end of a path, the status, headers and JSON in place of its answer.
        received: The path, `Authorization` and body of each request.
    """

    config: Json = field(default_factory=lambda: {"defaults": {}, "overrides": {}})
    tables: dict[tuple[str, ...], Json | int | Alien] = field(default_factory=dict)
    namespaces: dict[tuple[str, ...], int | Alien] = field(default_factory=dict)
    flat: bool = False
    answers: dict[str, tuple[int, dict[str, str], Json]] = field(default_factory=dict)
    received: list[str] = field(default_factory=list)
    url: str = ""

    def add(self, *name: str, config: Json | None = None, credentials: Any = (), **fields: Any) -> None:
        """Add a table; the fields are those of `metadata`."""
        self.tables[name] = loaded(metadata(**fields), config, credentials)

    def answer(
        self, method: str, path: str, query: Mapping[str, list[str]], body: str
    ) -> tuple[int, Json | str]:
        if path.endswith("/oauth/tokens"):
            return 200, TOKEN
        if path.endswith("/config"):
            return 200, self.config
        parts = [tuple(unquote(each).split(_SEPARATOR)) for each in path.partition("/v1/")[2].split("/")]
        if len(parts) == 1:
            return self._within(tuple(filter(None, query.get("parent", [""])[0].split(_SEPARATOR))))
        namespace = parts[1]
        if len(parts) == 3:
            named = [name for name in self.tables if name[:-1] == namespace]
            found = [{"namespace": list(name[:-1]), "name": name[-1]} for name in named]
            return 200, {"identifiers": found}
        table = self.tables.get((*namespace, *parts[3]), 404)
        if isinstance(table, Alien):
            return table.status, table.body
        if isinstance(table, int):
            error = {"message": f"refused by the server: {table}", "type": "Refused", "code": table}
            return table, {"error": error}
        if method == "POST":
            properties = table["metadata"]["properties"]
            for update in json.loads(body)["updates"]:
                properties |= update.get("updates", {})
                for key in update.get("removals", ()):
                    properties.pop(key, None)
        return 200, table

    def _within(self, parent: tuple[str, ...]) -> tuple[int, Json | str]:
        status = self.namespaces.get(parent)
        if isinstance(status, Alien):
            return status.status, status.body
        if status:
            error = {"message": f"refused by the server: {status}", "type": "Refused", "code": status}
            return status, {"error": error}
        depth = 0 if self.flat else len(parent)
        found = {
            name[: depth + 1]
            for name in self.tables
            if len(name) > depth + 1 and (self.flat or name[:depth] == parent)
        }
        return 200, {"namespaces": [list(each) for each in sorted(found)]}

    def catalogs(
        self, name: str = "lake", variables: Mapping[str, str] | None = None, **fields: Any
    ) -> Catalogs:
        """This catalog beside the default one, with a credential."""
        settings = CatalogSettings.model_validate({"name": name, "type": "rest", "uri": self.url, **fields})
        own = {"LINEAGE_BRIDGE_CATALOG_CREDENTIAL": "client:hunter2", **(variables or {})}
        return Catalogs(CatalogSettings(), {name: settings}, variables=own)


def loaded(found: Json, config: Json | None = None, credentials: Any = ()) -> Json:
    """The answer of LoadTable."""
    return {
        "metadata-location": f"{found['location']}/metadata/00000-{uuid.uuid4()}.metadata.json",
        "metadata": found,
        "config": config or {},
        "storage-credentials": list(credentials),
    }


@contextmanager
def running(server: RestServer) -> Iterator[RestServer]:
    """Serve a catalog on a free port."""

    class Handler(Answering):
        def _answer(self) -> None:
            body = self.body().decode()
            server.received.append(f"{self.path} {self.headers.get('Authorization', '')} {body}")
            url = urlsplit(self.path)
            given = (answer for end, answer in server.answers.items() if url.path.endswith(end))
            status, headers, answer = next(given, (0, {}, {}))
            if not status:
                status, answer = server.answer(self.command, url.path, parse_qs(url.query), body)
            text = answer if isinstance(answer, str) else json.dumps(answer)
            self.reply(status, text.encode(), headers)

        do_GET = do_POST = _answer

    with served(Handler) as server.url:
        yield server
