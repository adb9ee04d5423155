"""A REST catalog in memory behind PyIceberg's own client: it loads tables, takes properties, has a limit."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from typing import Any

import requests
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import SortOrder
from pyiceberg.types import LongType, NestedField, StringType
from requests.adapters import BaseAdapter

from lineage_bridge_dagster_tests.catalogs.glue.light_glue import Limit, Traffic

URL = "http://catalog.example.com"
NAMESPACE = "shop"

Json = dict[str, Any]


class LightRest(BaseAdapter):
    """The tables of one namespace, and the answers to requests for them.

    Args:
        latency: Seconds from a request to its response.
        clock: The time in seconds.
        sleep: Waits, in seconds.
    """

    def __init__(
        self,
        latency: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__()
        self.tables: dict[str, Json] = {}
        self.traffic = Traffic()
        self.limit = Limit()
        self.commits: dict[str, int] = {}
        self._latency, self._clock, self._sleep = latency, clock, sleep

    def add(self, name: str, columns: int = 12) -> None:
        """Create a table with the properties of another writer."""
        fields = [NestedField(1, "id", LongType(), required=True)]
        fields += [NestedField(number, f"field_{number}", StringType()) for number in range(2, columns + 1)]
        metadata = new_table_metadata(
            Schema(*fields),
            PartitionSpec(),
            SortOrder(),
            f"s3://bucket/{name}",
            {"owner": "theirs"},
            uuid.uuid4(),
        )
        self.tables[name] = json.loads(metadata.model_dump_json(by_alias=True))
        self.commits[name] = 0

    def open(self) -> RestCatalog:
        adapter = self

        class Catalog(RestCatalog):
            def _create_session(self) -> requests.Session:
                session = super()._create_session()
                session.mount(URL, adapter)
                return session

        return Catalog("light", uri=URL)

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        url = str(request.url)
        if "/tables/" not in url:
            return self._respond(request, 200, {"defaults": {}, "overrides": {}})
        name = url.partition("/tables/")[2].partition("?")[0]
        operation = "LoadTable" if request.method == "GET" else "CommitTable"
        self.traffic.count(operation, self._clock(), served := self.limit.serves())
        if not served:
            error = {"message": "Rate exceeded", "type": "TooManyRequestsException", "code": 429}
            return self._respond(request, 429, {"error": error})
        if operation == "CommitTable":
            body: Any = request.body
            self._commit(name, json.loads(body))
        number = self.commits[name]
        location = f"s3://bucket/{name}/metadata/{number:05d}-{uuid.UUID(int=number)}.metadata.json"
        return self._respond(request, 200, {"metadata-location": location, "metadata": self.tables[name]})

    def close(self) -> None:
        pass

    def _commit(self, name: str, commit: Json) -> None:
        metadata = self.tables[name]
        for requirement in commit["requirements"]:
            assert requirement == {"type": "assert-table-uuid", "uuid": metadata["table-uuid"]}
        properties = dict(metadata["properties"])
        for update in commit["updates"]:
            if update["action"] == "set-properties":
                properties |= update["updates"]
            else:
                assert update["action"] == "remove-properties"
                properties = {key: properties[key] for key in properties.keys() - set(update["removals"])}
        self.tables[name] = {**metadata, "properties": properties}
        self.commits[name] += 1

    def _respond(self, request: requests.PreparedRequest, status: int, answer: Json) -> requests.Response:
        response = requests.Response()
        response.status_code, response.url, response.request = status, str(request.url), request
        response.encoding = "utf-8"
        response._content = json.dumps(answer).encode()
        self._sleep(self._latency)
        return response
