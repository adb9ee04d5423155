"""The one place that has a code server load definitions from a newly stored state.

`ReloadCodeWithState` is a call of Dagster's own gRPC API that is not documented: it rebuilds the components
whose state changed, in about a second, while runs go on. Hence Dagster is pinned to a minor line, every
answer is checked, and there are two slower ways behind it: `ReloadCode`, which the server of `dagster dev`
and `dagster code-server start` follows, and the webserver's GraphQL.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
from dagster_shared.serdes import deserialize_value, serialize_value

from lineage_bridge_dagster.dagster_internals import CodeServer, code_server
from lineage_bridge_dagster.errors import LineageBridgeError

if TYPE_CHECKING:
    from dagster import DagsterInstance

#: Base URL of a webserver, for the last of the three ways.
GRAPHQL_URL_VARIABLE = "LINEAGE_BRIDGE_DAGSTER_URL"

_MUTATION = """
mutation($name: String!) {
  reloadRepositoryLocation(repositoryLocationName: $name) {
    __typename
    ... on PythonError { message }
    ... on WorkspaceLocationEntry { locationOrLoadError { __typename ... on PythonError { message } } }
  }
}
"""


class ReloadError(LineageBridgeError):
    """No way of reloading worked; the definitions stay as they were until the server is restarted."""


@dataclass(frozen=True)
class Reloaded:
    """How the definitions were reloaded, and in how many seconds."""

    how: str
    seconds: float
    #: What the faster ways answered, if they failed.
    tried: tuple[str, ...] = ()


def reload_code_location(
    origin: Any, instance: DagsterInstance, *, timeout_seconds: int = 60, graphql_url: str | None = None
) -> Reloaded:
    """Have the code server behind `origin` load the newest stored state.

    Args:
        origin: `context.code_location_origin` of a sensor, or a run's repository's origin.
        instance: tells which versions of the state are the newest.
        timeout_seconds: for each of the ways.
        graphql_url: a webserver's base URL; by default `LINEAGE_BRIDGE_DAGSTER_URL`.

    Raises:
        ReloadError: none of the three ways worked.
    """
    tried: list[str] = []
    began = time.monotonic()
    url = graphql_url or os.environ.get(GRAPHQL_URL_VARIABLE)
    ways: list[tuple[str, Callable[[], None]]] = [
        ("reload_code_with_state", lambda: _with_state(origin, instance, timeout_seconds)),
        ("reload_code", lambda: _whole_server(origin, timeout_seconds)),
        ("graphql", lambda: _by_webserver(url, origin, timeout_seconds)),
    ]
    for how, way in ways:
        try:
            way()
        except Exception as error:
            tried.append(f"{how}: {_first_line(error)}")
        else:
            return Reloaded(how, time.monotonic() - began, tuple(tried))
    raise ReloadError(
        "The definitions could not be reloaded: " + "; ".join(tried),
        hint="Run a code server that others reach (`dagster dev`, or a grpc_server entry in workspace.yaml), "
        f"or set {GRAPHQL_URL_VARIABLE} to the webserver's address; reloading in the UI works too.",
    )


def _client(origin: Any) -> CodeServer:
    client = code_server(origin)
    if client is None:
        raise ReloadError(f"{type(origin).__name__} is not a server that other processes can reach")
    return client


def _with_state(origin: Any, instance: DagsterInstance, timeout_seconds: int) -> None:
    storage = instance.defs_state_storage
    info = storage.get_latest_defs_state_info() if storage else None
    if info is None:
        raise ReloadError("no state is stored")
    reply = _client(origin).reload_code_with_state(serialize_value(info), timeout=timeout_seconds)
    if reply.serialized_error:
        # An error comes as a normal answer: unchecked, it would look like a reload.
        raise ReloadError(_error_text(reply.serialized_error))


def _whole_server(origin: Any, timeout_seconds: int) -> None:
    client = _client(origin)
    before = client.get_server_id(timeout=timeout_seconds)
    client.reload_code(timeout=timeout_seconds)
    # `dagster api grpc` answers and does nothing; only a new id proves that something was loaded.
    until = time.monotonic() + timeout_seconds
    while client.get_server_id(timeout=timeout_seconds) == before:
        if time.monotonic() > until:
            raise ReloadError("the server answered, but loaded nothing new")
        time.sleep(0.2)


def _by_webserver(url: str | None, origin: Any, timeout_seconds: int) -> None:
    if not url:
        raise ReloadError(f"{GRAPHQL_URL_VARIABLE} is not set")
    answer = httpx.post(
        f"{url.rstrip('/')}/graphql",
        json={"query": _MUTATION, "variables": {"name": getattr(origin, "location_name", "")}},
        timeout=timeout_seconds,
    )
    answer.raise_for_status()
    body = answer.json()
    result = (body.get("data") or {}).get("reloadRepositoryLocation") or {}
    inner = result.get("locationOrLoadError") or result
    if result.get("__typename") != "WorkspaceLocationEntry" or inner.get("__typename") == "PythonError":
        raise ReloadError(str(inner.get("message") or body.get("errors") or result))


def _error_text(serialized: str) -> str:
    error: Any = deserialize_value(serialized)
    # The first names the component alone; what was wrong, and where, is at the end of the chain.
    while getattr(error, "cause", None) is not None:
        error = error.cause
    return str(getattr(error, "message", error))


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
