"""A Lake Formation whose answers are held to botocore's model of its API."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import botocore.session
from botocore.validate import ParamValidator

from lineage_bridge_dagster_tests.http_server import Answering, served

ACCOUNT = "123456789012"
#: An object by database, table and column; the last two are empty for what is above them.
Place = tuple[str, str, str]


class LakeFormation:
    """Tags of objects, as an administrator assigns them; an answer has `page_size` objects at most.

    Attributes:
        tags: The values of each key.
        assigned: Tags by object.
        fails: What an operation answers in place of its result: status, headers and body, for some calls.
    """

    def __init__(self) -> None:
        self.tags: dict[str, list[str]] = {}
        self.assigned: dict[Place, dict[str, str]] = {}
        self.page_size = 100
        self.calls: Counter[str] = Counter()
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.fails: dict[str, list[tuple[int, dict[str, str], bytes]]] = {}
        self._model = botocore.session.get_session().get_service_model("lakeformation")
        self._lock = threading.Lock()

    def fail(self, operation: str, code: str, *, status: int = 400, times: int = 1_000) -> None:
        body = json.dumps({"Message": f"{code} of a test"}).encode()
        self.fails[operation] = [(status, {"x-amzn-ErrorType": code}, body)] * times

    def answer(self, operation: str, request: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        with self._lock:
            self.calls[operation] += 1
            self.requests.append((operation, request))
            if failing := self.fails.get(operation):
                return failing.pop()
            found = getattr(self, f"_{operation}")(request)
        self._validate(operation, found)
        return 200, {}, json.dumps(found).encode()

    def _validate(self, operation: str, found: Mapping[str, Any]) -> None:
        shape = self._model.operation_model(operation).output_shape
        report = ParamValidator().validate(found, shape)
        assert not report.has_errors(), report.generate_report()

    def _ListLFTags(self, request: dict[str, Any]) -> dict[str, Any]:
        listed = [self._pair(key, values) for key, values in sorted(self.tags.items())]
        return self._page(request, "LFTags", listed)

    def _SearchDatabasesByLFTags(self, request: dict[str, Any]) -> dict[str, Any]:
        found = [
            {"Database": {"CatalogId": ACCOUNT, "Name": place[0]}, "LFTags": self._pairs(place)}
            for place in sorted(self.assigned)
            if not place[1] and self._matches(request, place)
        ]
        return self._page(request, "DatabaseList", found)

    def _SearchTablesByLFTags(self, request: dict[str, Any]) -> dict[str, Any]:
        found = []
        for database, table in sorted({place[:2] for place in self.assigned if place[1]}):
            columns = [place for place in self.assigned if place[:2] == (database, table) and place[2]]
            own: Place = (database, table, "")
            if not any(self._matches(request, place) for place in (own, *columns)):
                continue
            described: dict[str, Any] = {
                "Table": {"CatalogId": ACCOUNT, "DatabaseName": database, "Name": table},
                "LFTagsOnColumns": [
                    {"Name": place[2], "LFTags": self._pairs(place)} for place in sorted(columns)
                ],
            }
            if own in self.assigned:
                described["LFTagsOnTable"] = self._pairs(own)
            found.append(described)
        return self._page(request, "TableList", found)

    def _matches(self, request: dict[str, Any], place: Place) -> bool:
        assigned = self.assigned.get(place, {})
        return all(assigned.get(each["TagKey"]) in each["TagValues"] for each in request["Expression"])

    def _pairs(self, place: Place) -> list[dict[str, Any]]:
        return [self._pair(key, [value]) for key, value in sorted(self.assigned[place].items())]

    def _pair(self, key: str, values: list[str]) -> dict[str, Any]:
        return {"CatalogId": ACCOUNT, "TagKey": key, "TagValues": values}

    def _page(self, request: dict[str, Any], member: str, found: list[Any]) -> dict[str, Any]:
        size = min(self.page_size, request.get("MaxResults", 100))
        start = int(request.get("NextToken", "0"))
        page: dict[str, Any] = {member: found[start : start + size]} if found[start:] else {}
        if start + size < len(found):
            page["NextToken"] = str(start + size)
        return page


@contextmanager
def serving(lake: LakeFormation) -> Iterator[str]:
    """Serve it on a loopback port; yields its URL."""

    class Handler(Answering):
        def do_POST(self) -> None:
            status, headers, body = lake.answer(self.path.strip("/"), json.loads(self.body()))
            self.reply(status, body, {"Content-Type": "application/json", **headers})

    with served(Handler) as url:
        yield url
