"""A Glue that answers in microseconds: tables in memory, a latency, and a limit of calls a second.

It is for measuring a client at sizes and rates that moto does not reach, in Glue's wire shape but without its
validation. The strict Glue of `embedded.aws` is the one to test the meaning of a push against.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.awsrequest import AWSResponse

from lineage_bridge_dagster_tests.catalogs.glue.catalog import GlueClient

PAGE_SIZE = 100
ACCOUNT = "123456789012"
CREATED = 1_777_550_400.0
_STORAGE_DEFAULTS = {
    "Compressed": False,
    "NumberOfBuckets": 0,
    "SortColumns": [],
    "StoredAsSubDirectories": False,
}

Json = dict[str, Any]


class GlueRefusal(Exception):
    """An error response of Glue."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


@dataclass
class Traffic:
    """The calls that arrived.

    Attributes:
        calls: By operation, those that were refused as well.
        throttled: How many were refused.
        by_second: How many arrived in each second.
    """

    calls: Counter[str] = field(default_factory=Counter)
    throttled: int = 0
    by_second: Counter[int] = field(default_factory=Counter)

    def count(self, operation: str, now: float, served: bool) -> None:
        self.calls[operation] += 1
        self.by_second[int(now)] += 1
        self.throttled += not served

    @property
    def total(self) -> int:
        return self.calls.total()

    @property
    def refused_share(self) -> float:
        return self.throttled / self.total if self.total else 0.0


class Limit:
    """A token bucket: what is left of it says whether a call is served.

    Args:
        rate: Calls a second; None for no limit.
        burst: Calls at once after a pause; by default those of one second.
        clock: The time in seconds.
    """

    def __init__(
        self,
        rate: float | None = None,
        burst: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate = rate
        self._burst = self._tokens = (rate or 0.0) if burst is None else burst
        self._clock = clock
        self._filled_at = clock()

    def serves(self) -> bool:
        if self._rate is None:
            return True
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._rate)
        self._filled_at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class LightGlue:
    """One catalog. Thread-safe.

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
        self.latency = latency
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._databases: dict[str, dict[str, Json]] = {}
        self._traffic = Traffic()
        self._limit = Limit()
        self._operations: dict[str, Callable[[Json], Json]] = {
            "GetDatabases": self._get_databases,
            "GetTables": self._get_tables,
            "GetTable": self._get_table,
            "UpdateTable": self._update_table,
        }

    def add_table(self, database: str, table_input: Mapping[str, Any]) -> None:
        """Put a table into the catalog, and its database."""
        with self._lock:
            self._databases.setdefault(database, {})[table_input["Name"]] = self._table(
                database, table_input, 0
            )

    def remove_table(self, database: str, name: str) -> None:
        """Take a table out of the catalog."""
        with self._lock:
            del self._databases[database][name]

    def throttle(self, rate: float | None, burst: float | None = None) -> None:
        """Refuse what exceeds this many calls a second; None serves all.

        Args:
            rate: Calls a second.
            burst: Calls at once after a pause; by default those of one second.
        """
        with self._lock:
            self._limit = Limit(rate, burst, self._clock)

    def traffic(self) -> Traffic:
        """The calls since the last time that this was asked."""
        with self._lock:
            traffic, self._traffic = self._traffic, Traffic()
        return traffic

    def versions(self) -> dict[tuple[str, str], int]:
        """The version of each table, which is the number of its updates."""
        return {
            (database, name): int(table["VersionId"])
            for database, tables in self._databases.items()
            for name, table in tables.items()
        }

    def answer(self, operation: str, body: bytes) -> tuple[int, bytes]:
        """Handle a request: the HTTP status and the body of its response, after the latency."""
        try:
            with self._lock:
                self._admit(operation)
                answer = self._operations[operation](json.loads(body))
            status = 200
        except GlueRefusal as refusal:
            # The front end of Glue, which throttles, writes `message`; Glue itself `Message`.
            member = "message" if refusal.code == "ThrottlingException" else "Message"
            status, answer = 400, {"__type": refusal.code, member: refusal.message}
        content = json.dumps(answer).encode()
        self._sleep(self.latency)
        return status, content

    def attach(self, client: GlueClient) -> None:
        """Answer the requests of this client in the place of the network."""

        def respond(request: Any, **_: Any) -> Any:
            target = request.headers["X-Amz-Target"]
            name = target.decode() if isinstance(target, bytes) else target
            status, content = self.answer(name.partition(".")[2], request.body)
            response: Any = AWSResponse(request.url, status, {"x-amzn-RequestId": "local"}, None)  # type: ignore[arg-type]
            response._content = content
            return response

        handler: Any = respond
        client.meta.events.register_last("before-send.glue", handler)

    def _admit(self, operation: str) -> None:
        self._traffic.count(operation, self._clock(), served := self._limit.serves())
        if not served:
            raise GlueRefusal("ThrottlingException", "Rate exceeded")

    def _get_databases(self, request: Json) -> Json:
        described = {name: {"Name": name, "CreateTime": CREATED} for name in self._databases}
        return _page(request, "DatabaseList", described)

    def _get_tables(self, request: Json) -> Json:
        return _page(request, "TableList", self._database(request))

    def _get_table(self, request: Json) -> Json:
        return {"Table": self._existing(request, request["Name"])}

    def _update_table(self, request: Json) -> Json:
        table_input = request["TableInput"]
        table = self._existing(request, table_input["Name"])
        if request.get("VersionId", table["VersionId"]) != table["VersionId"]:
            raise GlueRefusal(
                "ConcurrentModificationException", "Update table failed due to concurrent modifications."
            )
        self._database(request)[table["Name"]] = self._table(
            table["DatabaseName"], table_input, int(table["VersionId"]) + 1
        )
        return {}

    def _database(self, request: Json) -> dict[str, Json]:
        name = request["DatabaseName"]
        if name not in self._databases:
            raise GlueRefusal("EntityNotFoundException", f"Database {name} not found.")
        return self._databases[name]

    def _existing(self, request: Json, name: str) -> Json:
        table = self._database(request).get(name)
        if table is None:
            raise GlueRefusal("EntityNotFoundException", f"Entity Not Found: {name}")
        return table

    def _table(self, database: str, table_input: Mapping[str, Any], version: int) -> Json:
        return {
            "Retention": 0,
            "PartitionKeys": [],
            **table_input,
            "StorageDescriptor": {**_STORAGE_DEFAULTS, **table_input.get("StorageDescriptor", {})},
            "DatabaseName": database,
            "CatalogId": ACCOUNT,
            "VersionId": str(version),
            "CreateTime": CREATED,
            "UpdateTime": CREATED + version,
            "CreatedBy": f"arn:aws:sts::{ACCOUNT}:assumed-role/tableflow/session",
            "IsRegisteredWithLakeFormation": False,
            "IsMultiDialectView": False,
            "IsMaterializedView": False,
        }


def _page(request: Json, member: str, described: Mapping[str, Json]) -> Json:
    after, size = request.get("NextToken", ""), request.get("MaxResults", PAGE_SIZE)
    names = sorted(name for name in described if name > after)
    more = {"NextToken": names[size - 1]} if len(names) > size else {}
    return {member: [described[name] for name in names[:size]], **more}
