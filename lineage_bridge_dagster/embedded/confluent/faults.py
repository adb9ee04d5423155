"""Scripted failures, to test and show how the product handles them.

A fault selects requests by `api`, `method` and a substring of the path, and sets their outcome:

- `status`: an error with this status, in the API's own shape; `retry_after` (seconds) adds rate limit headers
- `delay`: the response is delayed by this many seconds
- `garbage`: 200 with a body that is not JSON
- `partial_page`: the first page succeeds, later ones fail with `status` (500 by default)
- `after`: number of matching requests that succeed first; `times`: number of requests that then fail (all by
  default, until the fault is cleared)

`met` counts the matching requests.
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
    "ksqldbcm",
    "connect",
    "connector_offsets",
    "tableflow",
    "kafka",
    "schema_registry",
    "flink",
    "ksqldb",
    "*",
)


@dataclass
class ApiFault:
    """One scripted failure; the module's docstring describes its fields."""

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
    def parse(cls, body: Mapping[str, Any]) -> ApiFault:
        """Read a fault from JSON.

        Raises:
            ValueError: a field is unknown, or the fault has no effect.
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
            raise ValueError("the fault has no effect: set status, delay, garbage or partial_page")
        return fault

    def matches(self, api: str, method: str, path: str, query: str) -> bool:
        """Whether the fault selects this request."""
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
class ApiFaults:
    """The active faults in order of creation; the first that matches a request applies."""

    _faults: list[ApiFault] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, fault: ApiFault) -> None:
        with self._lock:
            self._faults.append(fault)

    def clear(self, api: str | None = None) -> int:
        """Remove the faults of one API, or all; return how many were removed."""
        with self._lock:
            before = len(self._faults)
            self._faults = [fault for fault in self._faults if api not in (None, fault.api)]
            return before - len(self._faults)

    def as_json(self) -> list[dict[str, Any]]:
        with self._lock:
            return [fault.as_json() for fault in self._faults]

    def match(self, api: str, method: str, path: str, query: str) -> ApiFault | None:
        """Return the fault that applies to this request, and count the request."""
        with self._lock:
            for fault in self._faults:
                if not fault.matches(api, method, path, query):
                    continue
                fault.met += 1
                if fault.met <= fault.after:
                    continue
                if fault.times is not None and fault.met > fault.after + fault.times:
                    continue
                return fault
        return None
