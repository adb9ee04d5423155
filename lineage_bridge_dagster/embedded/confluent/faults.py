"""Scripted failures, to test and show how the product handles them.

A fault selects requests by `api` and a substring of the path, and sets their outcome:

- `status`: an error with this status, in the API's own shape; `retry_after` (seconds) adds rate limit headers
- `delay`: the response is delayed by this many seconds
- `garbage`: 200 with a body that is not JSON
- `partial_page`: the first page succeeds, later ones fail with `status` (500 by default)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from lineage_bridge_dagster.embedded.faults import ScriptedFault

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
class ApiFault(ScriptedFault):
    """One scripted failure; the module's docstring describes its fields."""

    api: str
    path: str = ""
    status: int | None = None
    detail: str = ""
    retry_after: int | None = None
    delay: float = 0.0
    garbage: bool = False
    partial_page: bool = False

    @classmethod
    def parse(cls, body: Mapping[str, Any]) -> ApiFault:
        """Read a fault from JSON.

        Raises:
            ValueError: a field is unknown, or the fault has no effect.
        """
        unknown = set(body) - {f.name for f in fields(cls)}
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

    def matches(self, api: str, path: str, query: str) -> bool:
        """Whether the fault selects this request."""
        return (
            self.api in (api, "*")
            and api != "emulator"
            and self.path in path
            and (not self.partial_page or "page_token=" in query)
        )
