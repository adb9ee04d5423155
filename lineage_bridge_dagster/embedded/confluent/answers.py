"""Response parts shared by all APIs: error bodies, pages, and references between objects."""

from __future__ import annotations

import base64
import binascii
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.state import Document, EmulatorState
from lineage_bridge_dagster.embedded.kafka.broker import Broker

Json = dict[str, Any]

#: `errors`: the control plane's list; `connect`: Connect's own; `code`: Kafka REST's and Schema Registry's;
#: `ksql`: ksqlDB's, whose codes are the status followed by two digits.
ErrorShape = Literal["errors", "connect", "code", "ksql"]

DEFAULT_PAGE_SIZE = 10
MAX_PAGE_SIZE = 100


@dataclass
class EmulatorContext:
    """What all APIs share: the state, and the brokers by cluster id."""

    state: EmulatorState
    brokers: Mapping[str, Broker]
    bootstrap: Mapping[str, str]
    #: Upper bound on the page size, which may be below the requested one.
    max_page_size: int = MAX_PAGE_SIZE
    #: Where the stack serves Glue's Iceberg endpoint; empty if it does not.
    iceberg_url: str = ""

    def localized(self, connector: Document) -> Document:
        """A connector with the addresses of this machine."""
        if not self.iceberg_url:
            return connector
        config = {
            name: self.iceberg_url if value == world.GLUE_ICEBERG_URL else value
            for name, value in connector["config"].items()
        }
        return {**connector, "config": config}


class ApiError(Exception):
    """An error response; `gate.on_error` renders it in the shape of the requested API."""

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
    """Return the body of an error response in the given shape."""
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
    """Return the emulator's URL as the client used it, without a trailing slash."""
    return str(request.base_url).rstrip("/")


def require_parameter(request: Request, name: str) -> str:
    """Return a query parameter that the OpenAPI document requires.

    Raises:
        ApiError: 400 if it is missing or empty.
    """
    value = request.query_params.get(name)
    if not value:
        raise ApiError(400, f"The query parameter {name} is required.", parameter=name)
    return value


def require_environment(request: Request) -> None:
    """Check the required `environment` filter.

    Raises:
        ApiError: 400 if it is missing; 403 for an unknown environment, as Confluent responds.
    """
    environment = require_parameter(request, "environment")
    if environment != world.ENVIRONMENT_ID:
        raise ApiError(403, f"Forbidden Access to environment {environment}.", parameter="environment")


def find_cluster(cluster_id: str, *, parameter: str = "") -> world.Cluster:
    """Return the cluster with this id.

    Raises:
        ApiError: 404 if there is none.
    """
    for cluster in world.CLUSTERS:
        if cluster.id == cluster_id:
            return cluster
    raise ApiError(404, f"Kafka cluster {cluster_id} not found.", parameter=parameter)


def page(
    request: Request,
    context: EmulatorContext,
    items: Sequence[Json],
    *,
    api_version: str,
    kind: str,
    total: bool = True,
) -> Response:
    """Return the page of a list that `page_size` and `page_token` select.

    Raises:
        ApiError: 400 for an invalid size or token.
    """
    size = _page_size(request, context.max_page_size)
    offset = _offset(request.query_params.get("page_token"))
    if offset > len(items):
        raise ApiError(400, "The page token is not valid.", parameter="page_token")
    url = f"{base_url(request)}{request.url.path}"
    filters = [(k, v) for k, v in request.query_params.multi_items() if k != "page_token"]
    metadata: Json = {"first": url, "next": ""}
    if total:
        metadata["total_size"] = len(items)
    if offset + size < len(items):
        metadata["next"] = f"{url}?{urlencode([*filters, ('page_token', _token(offset + size))])}"
    data = items[offset : offset + size]
    return JSONResponse({"api_version": api_version, "kind": kind, "metadata": metadata, "data": data})


def _page_size(request: Request, most: int) -> int:
    text = request.query_params.get("page_size", str(DEFAULT_PAGE_SIZE))
    if not text.isdecimal() or not 1 <= int(text) <= MAX_PAGE_SIZE:
        raise ApiError(400, f"page_size must be from 1 to {MAX_PAGE_SIZE}.", parameter="page_size")
    return min(int(text), most)


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
    """Return a Confluent resource name (CRN) within the organization."""
    return "/".join((f"crn://confluent.cloud/organization={world.ORGANIZATION_ID}", *path))


def environment_crn(*path: str) -> str:
    return crn(f"environment={world.ENVIRONMENT_ID}", *path)


def cluster_crn(cluster_id: str, *path: str) -> str:
    return environment_crn(f"cloud-cluster={cluster_id}", f"kafka={cluster_id}", *path)


def environment_reference(base: str) -> Json:
    """Return the reference from an object to its environment."""
    return {
        "id": world.ENVIRONMENT_ID,
        "related": f"{base}/org/v2/environments/{world.ENVIRONMENT_ID}",
        "resource_name": environment_crn(),
    }


def cluster_reference(base: str, cluster_id: str) -> Json:
    """Return the reference from an object to its Kafka cluster."""
    return {
        "id": cluster_id,
        "environment": world.ENVIRONMENT_ID,
        "related": f"{base}/cmk/v2/clusters/{cluster_id}",
        "resource_name": cluster_crn(cluster_id),
    }


def metadata(url: str, resource_name: str, created_at: str, updated_at: str = "") -> Json:
    """Return the `metadata` of an object."""
    return {
        "self": url,
        "resource_name": resource_name,
        "created_at": created_at,
        "updated_at": updated_at or created_at,
    }


def resource(
    base: str, collection: str, kind: str, identifier: str, resource_name: str, **fields: object
) -> Json:
    """Return an object of a collection such as `cmk/v2/clusters`."""
    return {
        "api_version": collection.rpartition("/")[0],
        "kind": kind,
        "id": identifier,
        "metadata": metadata(f"{base}/{collection}/{identifier}", resource_name, world.CREATED_AT),
        **fields,
    }


def request_id() -> str:
    """Return a request id as Confluent's: 32 hexadecimal digits."""
    return secrets.token_hex(16)
