"""Credentials for the files of a table, as Tableflow's catalog hands them out for Confluent's storage."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

_TABLE = re.compile(r"/v1/(?:[^/]+/)?namespaces/[^/]+/tables/[^/]+")


def with_credentials(request: Request, path: str, answer: Response, vended: Mapping[str, str]) -> Response:
    """The answer, with properties for files if it is a table and the client asks for them.

    Args:
        path: Below the catalog's base URL.
        vended: Properties of Iceberg's clients. Nothing for a bucket of the customer's own.
    """
    asked = "vended-credentials" in request.headers.get("x-iceberg-access-delegation", "")
    if not vended or not asked or answer.status_code != 200 or not _TABLE.fullmatch(path):
        return answer
    table = json.loads(bytes(answer.body))
    return JSONResponse({**table, "config": {**table.get("config", {}), **vended}})
