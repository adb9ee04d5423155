"""What every API's answers have in common: errors in their own shape, pages, references between objects."""

from __future__ import annotations

import base64
import binascii
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.state import State
from lineage_bridge_dagster.embedded.kafka.broker import Broker

Json = dict[str, Any]

#: `errors`: the control plane's list; `connect`: Connect's own; `code`: Kafka REST's and Schema Registry's;
#: `ksql`: ksqlDB's, whose codes have two digits more than the status.
ErrorShape = Literal["errors", "connect", "code", "ksql"]

DEFAULT_PAGE_SIZE = 10
MAX_PAGE_SIZE = 100


@dataclass
class Options:
    """What a test may change while the emulator runs.

    `next_style` is how a last page says so: the documents allow all three. `max_page_size` makes pages
    smaller than asked, as a server may. `rate_limit` is in requests a minute and API.
    """

    next_style: Literal["null", "empty", "absent"] = "empty"
    max_page_size: int = MAX_PAGE_SIZE
    rate_limit: int = 6000


@dataclass
class Context:
    """What the APIs stand on."""

    state: State
    brokers: Mapping[str, Broker]
    bootstrap: Mapping[str, str]
    options: Options = field(default_factory=Options)


class ApiError(Exception):
    """An answer that is an error; the gate gives it the shape of the API that was asked."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        parameter: str = "",
        pointer: str = "",
        code: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.parameter = parameter
        self.pointer = pointer
        self.code = code
        self.headers = dict(headers or {})


_TITLES = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    422: "Unprocessable Entity",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


def error_body(shape: ErrorShape, error: ApiError, request_id: str) -> Json:
    """The body of an error answer in an API's own shape."""
    if shape == "connect":
        return {"error": {"code": error.status, "message": error.detail}}
    if shape == "code":
        return {"error_code": error.code or error.status, "message": error.detail}
    if shape == "ksql":
        code = error.code or 100 * error.status
        return {"@type": "generic_error", "error_code": code, "message": error.detail}
    title = _TITLES.get(error.status, "Error")
    entry: Json = {
        "id": request_id,
        "status": str(error.status),
        "code": title.lower().replace(" ", "_"),
        "title": title,
        "detail": error.detail,
    }
    if error.parameter:
        entry["source"] = {"parameter": error.parameter}
    elif error.pointer:
        entry["source"] = {"pointer": error.pointer}
    return {"errors": [entry]}


def base_url(request: Request) -> str:
    """The emulator's own address as the client reached it, without a slash at its end."""
    return str(request.base_url).rstrip("/")


def required(request: Request, name: str) -> str:
    """A query parameter that the documents require.

    Raises:
        ApiError: 400, it is missing or empty.
    """
    value = request.query_params.get(name)
    if not value:
        raise ApiError(400, f"The query parameter {name} is required.", parameter=name)
    return value


def environment_of(request: Request) -> str:
    """The required `environment` filter.

    Raises:
        ApiError: 400 without it; 403 for an environment that isn't the caller's, as Confluent answers.
    """
    environment = required(request, "environment")
    if environment != world.ENVIRONMENT_ID:
        raise ApiError(403, f"Forbidden Access to environment {environment}.", parameter="environment")
    return environment


def cluster_of(cluster_id: str, *, parameter: str = "", status: int = 404) -> world.Cluster:
    """The cluster of this id.

    Raises:
        ApiError: there is none.
    """
    for cluster in world.CLUSTERS:
        if cluster.id == cluster_id:
            return cluster
    raise ApiError(status, f"Kafka cluster {cluster_id} not found.", parameter=parameter)


def page(
    request: Request,
    context: Context,
    items: Sequence[Json],
    *,
    api_version: str,
    kind: str,
    total: bool = True,
) -> Response:
    """One page of a list, by `page_size` and `page_token`.

    Raises:
        ApiError: 400, a size or token that isn't one.
    """
    size = _page_size(request, context.options)
    offset = _offset(request.query_params.get("page_token"))
    if offset > len(items):
        raise ApiError(400, "The page token is not valid.", parameter="page_token")
    url = f"{base_url(request)}{request.url.path}"
    filters = [(k, v) for k, v in request.query_params.multi_items() if k != "page_token"]
    metadata: Json = {"first": url}
    if total:
        metadata["total_size"] = len(items)
    if offset + size < len(items):
        metadata["next"] = f"{url}?{urlencode([*filters, ('page_token', _token(offset + size))])}"
    elif context.options.next_style != "absent":
        metadata["next"] = "" if context.options.next_style == "empty" else None
    data = items[offset : offset + size]
    return JSONResponse({"api_version": api_version, "kind": kind, "metadata": metadata, "data": data})


def _page_size(request: Request, options: Options) -> int:
    text = request.query_params.get("page_size", str(DEFAULT_PAGE_SIZE))
    if not text.isdecimal() or not 1 <= int(text) <= MAX_PAGE_SIZE:
        raise ApiError(400, f"page_size must be from 1 to {MAX_PAGE_SIZE}.", parameter="page_size")
    return min(int(text), options.max_page_size)


def _token(offset: int) -> str:
    return base64.urlsafe_b64encode(json.dumps({"o": offset}).encode()).decode()


def _offset(token: str | None) -> int:
    if not token:
        return 0
    try:
        offset = json.loads(base64.urlsafe_b64decode(token))["o"]
        return int(offset)
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise ApiError(400, "The page token is not valid.", parameter="page_token") from error


def crn(*path: str) -> str:
    """A Confluent resource name below the organization."""
    return "/".join((f"crn://confluent.cloud/organization={world.ORGANIZATION_ID}", *path))


def environment_crn(*path: str) -> str:
    return crn(f"environment={world.ENVIRONMENT_ID}", *path)


def cluster_crn(cluster_id: str, *path: str) -> str:
    return environment_crn(f"cloud-cluster={cluster_id}", f"kafka={cluster_id}", *path)


def environment_reference(base: str) -> Json:
    """How an object names the environment it is in."""
    return {
        "id": world.ENVIRONMENT_ID,
        "related": f"{base}/org/v2/environments/{world.ENVIRONMENT_ID}",
        "resource_name": environment_crn(),
    }


def cluster_reference(base: str, cluster_id: str) -> Json:
    """How an object names the Kafka cluster it is in."""
    return {
        "id": cluster_id,
        "environment": world.ENVIRONMENT_ID,
        "related": f"{base}/cmk/v2/clusters/{cluster_id}",
        "resource_name": cluster_crn(cluster_id),
    }


def metadata(url: str, resource_name: str, created_at: str, updated_at: str = "") -> Json:
    """An object's own metadata."""
    return {
        "self": url,
        "resource_name": resource_name,
        "created_at": created_at,
        "updated_at": updated_at or created_at,
    }


def request_id() -> str:
    """As Confluent's: 32 hexadecimal digits."""
    return secrets.token_hex(16)
