"""Failures of the REST catalogs on request: an outage, a refusal, a wrong clock or an expired token."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from starlette.responses import JSONResponse, Response

from lineage_bridge_dagster.embedded.faults import ScriptedFault
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


@dataclass
class CatalogFault(ScriptedFault):
    """A failure of an endpoint, one of its `STATUSES`.

    Raises:
        ValueError: there is no such endpoint, or it cannot fail so.
    """

    api: str
    status: str

    def __post_init__(self) -> None:
        if self.status not in STATUSES.get(self.api, ()):
            raise ValueError(f"{self.api} cannot fail with {self.status}")

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


def error(status: int, kind: str, message: str) -> JSONResponse:
    """An error in the shape of Iceberg's REST specification (`ErrorModel`)."""
    return JSONResponse({"error": {"message": message, "type": kind, "code": status}}, status)
