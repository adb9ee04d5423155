"""Reloads a code server's definitions from a newly stored state.

`ReloadCodeWithState`, an undocumented call of Dagster's gRPC API, rebuilds the components whose state changed
in about a second, without interrupting runs. Hence Dagster is pinned to a minor version, every response is
checked, and there are two slower fallbacks: `ReloadCode`, which the servers of `dagster dev` and
`dagster code-server start` support, and the webserver's GraphQL API.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
from dagster_shared.serdes import deserialize_value, serialize_value

from lineage_bridge_dagster.assets.stored_component import ReplacedStateError
from lineage_bridge_dagster.dagster_internals.definitions import CodeServer, code_server
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.text import first_line

if TYPE_CHECKING:
    from dagster import DagsterInstance

#: Base URL of a webserver, for the GraphQL fallback.
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
    """Every way to reload failed; the definitions stay the same until the server is restarted."""


class KeptDefinitionsError(ReloadError):
    """The newest state cannot be loaded, so the server goes on with the definitions that it has."""


@dataclass(frozen=True)
class Reloaded:
    """How the definitions were reloaded, and in how many seconds."""

    how: str
    seconds: float
    #: Errors of the faster ways that were tried first.
    tried: tuple[str, ...] = ()


def reload_code_location(
    origin: Any, instance: DagsterInstance, *, timeout_seconds: int = 60, graphql_url: str | None = None
) -> Reloaded:
    """Make the code server behind `origin` load the newest stored state.

    Args:
        origin: `context.code_location_origin` of a sensor, or a run's repository's origin.
        instance: the instance that knows the newest versions of the state.
        timeout_seconds: the limit for each of the three ways.
        graphql_url: a webserver's base URL; `LINEAGE_BRIDGE_DAGSTER_URL` by default.

    Raises:
        KeptDefinitionsError: the newest state cannot be loaded; the server keeps the definitions that it has.
        ReloadError: all three ways failed.
    """
    tried: list[str] = []
    began = time.monotonic()
    url = graphql_url or os.environ.get(GRAPHQL_URL_VARIABLE)
    ways: list[tuple[str, Callable[[], None]]] = [
        ("reload_code_with_state", lambda: _reload_with_state(origin, instance, timeout_seconds)),
        ("reload_code", lambda: _reload_server(origin, timeout_seconds)),
        ("graphql", lambda: _reload_by_webserver(url, origin, timeout_seconds)),
    ]
    for how, way in ways:
        try:
            way()
        except KeptDefinitionsError:
            # Each slower way restarts the server, which would then have no assets at all.
            raise
        except Exception as error:
            tried.append(f"{how}: {first_line(error)}")
        else:
            return Reloaded(how, time.monotonic() - began, tuple(tried))
    raise ReloadError(
        "The definitions could not be reloaded: " + "; ".join(tried),
        hint="Run a code server that other processes can reach (`dagster dev`, or a grpc_server entry in "
        f"workspace.yaml), or set {GRAPHQL_URL_VARIABLE} to the webserver's address. Reloading in the UI "
        "works too.",
    )


def _client(origin: Any) -> CodeServer:
    client = code_server(origin)
    if client is None:
        raise ReloadError(f"{type(origin).__name__} is not a server that other processes can reach")
    return client


def _reload_with_state(origin: Any, instance: DagsterInstance, timeout_seconds: int) -> None:
    storage = instance.defs_state_storage
    info = storage.get_latest_defs_state_info() if storage else None
    if info is None:
        raise ReloadError("no state is stored")
    reply = _client(origin).reload_code_with_state(serialize_value(info), timeout=timeout_seconds)
    if reply.serialized_error:
        # The server reports an error in a successful response.
        causes = _causes(reply.serialized_error)
        for each in causes:
            if getattr(each, "cls_name", None) == ReplacedStateError.__name__:
                raise KeptDefinitionsError(str(each.message))
        # The first error only names the component; the last cause describes what is wrong and where.
        raise ReloadError(str(getattr(causes[-1], "message", causes[-1])))


def _reload_server(origin: Any, timeout_seconds: int) -> None:
    client = _client(origin)
    before = client.get_server_id(timeout=timeout_seconds)
    client.reload_code(timeout=timeout_seconds)
    # `dagster api grpc` responds but does nothing; only a new id proves that it loaded the definitions.
    deadline = time.monotonic() + timeout_seconds
    while client.get_server_id(timeout=timeout_seconds) == before:
        if time.monotonic() > deadline:
            raise ReloadError("the server responded but loaded nothing")
        time.sleep(0.2)


def _reload_by_webserver(url: str | None, origin: Any, timeout_seconds: int) -> None:
    if not url:
        raise ReloadError(f"{GRAPHQL_URL_VARIABLE} is not set")
    response = httpx.post(
        f"{url.rstrip('/')}/graphql",
        json={"query": _MUTATION, "variables": {"name": getattr(origin, "location_name", "")}},
        timeout=timeout_seconds,
    )
    response.raise_for_status()
    body = response.json()
    result = (body.get("data") or {}).get("reloadRepositoryLocation") or {}
    inner = result.get("locationOrLoadError") or result
    if result.get("__typename") != "WorkspaceLocationEntry" or inner.get("__typename") == "PythonError":
        raise ReloadError(str(inner.get("message") or body.get("errors") or result))


def _causes(serialized: str) -> list[Any]:
    """An error, and what caused it, down to the first cause."""
    found: list[Any] = [deserialize_value(serialized)]
    while (cause := getattr(found[-1], "cause", None)) is not None:
        found.append(cause)
    return found
