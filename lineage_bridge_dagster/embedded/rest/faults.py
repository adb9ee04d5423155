"""Failures of the REST catalogs on request: an outage, a refusal, a wrong clock or an expired token."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any

from starlette.responses import JSONResponse, Response

from lineage_bridge_dagster.embedded.rest.names import S3_TABLES_ENDPOINT, STATUSES

#: How far the clock of a broken endpoint is off; AWS accepts five minutes.
SKEW = timedelta(minutes=10)
#: Delay in seconds of `timeout`; PyIceberg's sessions here wait for 60 s.
TOO_LATE = 75.0

_MESSAGE = "Broken on request."

#: HTTP status and name of each error, as AWS sends them.
_AWS: Mapping[str, tuple[int, str]] = {
    "401": (403, "UnrecognizedClientException"),
    "403": (403, "AccessDeniedException"),
    "404": (404, "EntityNotFoundException"),
    "429": (429, "ThrottlingException"),
    "500": (500, "InternalServiceException"),
    "503": (503, "ServiceUnavailableException"),
}
#: The same as Iceberg's specification names them.
_ICEBERG: Mapping[str, tuple[int, str]] = {
    "401": (401, "NotAuthorizedException"),
    "403": (403, "ForbiddenException"),
    "404": (404, "NoSuchWarehouseException"),
    "429": (429, "TooManyRequestsException"),
    "500": (500, "InternalServerError"),
    "503": (503, "ServiceUnavailableException"),
}


@dataclass(frozen=True, slots=True)
class CatalogFault:
    """A failure of an endpoint, one of its `STATUSES`, for all requests or the next `times`."""

    api: str
    status: str
    times: int | None = None

    async def answer(self) -> Response | None:
        """The response in place of the endpoint's own; None if the endpoint responds, by a wrong clock."""
        if self.status == "timeout":
            await asyncio.sleep(TOO_LATE)
            return Response(status_code=504)
        if self.status == "garbage":
            return Response("<html><body>Bad gateway</body></html>", media_type="text/html")
        if self.api == S3_TABLES_ENDPOINT and self.status in _AWS:
            status, name = _AWS[self.status]
            return JSONResponse({"message": _MESSAGE}, status, {"x-amzn-ErrorType": name})
        if self.status in _ICEBERG:
            status, name = _ICEBERG[self.status]
            return error(status, name, _MESSAGE)
        return None


class CatalogFaults:
    """The active fault of each endpoint; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active: dict[str, CatalogFault] = {}

    def set(self, fault: CatalogFault) -> None:
        """Make an endpoint fail; replaces its earlier fault.

        Raises:
            ValueError: there is no such endpoint, or it cannot fail so.
        """
        if fault.status not in STATUSES.get(fault.api, ()):
            raise ValueError(f"{fault.api} cannot fail with {fault.status}")
        with self._lock:
            self._active[fault.api] = fault

    def clear(self, api: str | None = None) -> None:
        """Heal an endpoint, or all."""
        with self._lock:
            for name in [api] if api else list(self._active):
                self._active.pop(name, None)

    def meet(self, api: str, applies: Callable[[CatalogFault], bool] = lambda _: True) -> CatalogFault | None:
        """The fault that a request meets, which is counted."""
        with self._lock:
            fault = self._active.get(api)
            if fault is None or not applies(fault):
                return None
            if fault.times is not None:
                if fault.times <= 1:
                    del self._active[api]
                else:
                    self._active[api] = replace(fault, times=fault.times - 1)
            return fault

    def as_json(self) -> list[dict[str, Any]]:
        """The active faults."""
        with self._lock:
            return [asdict(fault) for fault in self._active.values()]


def error(status: int, kind: str, message: str) -> JSONResponse:
    """An error in the shape of Iceberg's REST specification (`ErrorModel`)."""
    return JSONResponse({"error": {"message": message, "type": kind, "code": status}}, status)
