"""Failures on request, so that tests and people can see what the product makes of them.

A fault names the requests it meets (`api`, and part of the path) and what happens to them:

- `status`: this error, in the API's own shape; with `retry_after` (seconds) the headers of a rate limit
- `delay`: the answer comes that many seconds later
- `garbage`: 200 with a body that isn't JSON
- `partial_page`: pages past the first fail with `status` (500), the first one answers
- `after`: the first requests it lets through; `times`: how many it then meets, without it until cleared
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

APIS = (
    "org",
    "cmk",
    "fcpm",
    "srcm",
    "pim",
    "iam",
    "ksqldbcm",
    "connect",
    "tableflow",
    "kafka",
    "schema_registry",
    "flink",
    "ksqldb",
    "*",
)


@dataclass
class Fault:
    """One scripted failure; see the module for what its fields mean."""

    api: str
    path: str = ""
    method: str = ""
    status: int | None = None
    detail: str = ""
    retry_after: int | None = None
    delay: float = 0.0
    garbage: bool = False
    partial_page: bool = False
    after: int = 0
    times: int | None = None
    met: int = 0

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> Fault:
        """Read a fault from JSON.

        Raises:
            ValueError: a field is not one, or nothing would happen.
        """
        unknown = set(body) - {f.name for f in fields(cls)} - {"met"}
        if unknown:
            raise ValueError(f"unknown fields: {', '.join(sorted(unknown))}")
        if body.get("api") not in APIS:
            raise ValueError(f"api must be one of {', '.join(APIS)}")
        fault = cls(**body)
        if fault.partial_page and fault.status is None:
            fault.status = 500
        if fault.retry_after is not None and fault.status is None:
            fault.status = 429
        if fault.status is None and not fault.garbage and not fault.delay:
            raise ValueError("nothing would happen: give a status, a delay, garbage or partial_page")
        return fault

    def meets(self, api: str, method: str, path: str, query: str) -> bool:
        """Whether this request is one of those it is for."""
        return (
            self.api in (api, "*")
            and api != "emulator"
            and self.path in path
            and self.method.upper() in ("", method)
            and (not self.partial_page or "page_token=" in query)
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Faults:
    """The faults in force, in the order they were asked for; the first that meets a request wins."""

    _faults: list[Fault] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._faults.append(fault)

    def clear(self, api: str | None = None) -> int:
        """Forget those of one API, or all of them; returns how many there were."""
        with self._lock:
            before = len(self._faults)
            self._faults = [fault for fault in self._faults if api not in (None, fault.api)]
            return before - len(self._faults)

    def listed(self) -> list[dict[str, Any]]:
        with self._lock:
            return [fault.as_json() for fault in self._faults]

    def meeting(self, api: str, method: str, path: str, query: str) -> Fault | None:
        """The fault for this request, counted."""
        with self._lock:
            for fault in self._faults:
                if not fault.meets(api, method, path, query):
                    continue
                fault.met += 1
                if fault.met <= fault.after:
                    continue
                if fault.times is not None and fault.met > fault.after + fault.times:
                    continue
                return fault
        return None
