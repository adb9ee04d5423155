"""Reloads a code server's definitions from a newly stored state.

`ReloadCodeWithState`, an undocumented call of Dagster's gRPC API, rebuilds the components whose state changed
in about a second, without interrupting runs. Hence Dagster is pinned to a minor version, every response is
checked, and there is a slower fallback: `ReloadCode`, which the servers of `dagster dev` and
`dagster code-server start` support.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dagster_shared.serdes import deserialize_value, serialize_value

from lineage_bridge_dagster.assets.stored_component import ReplacedStateError
from lineage_bridge_dagster.dagster_internals.definitions import CodeServer, code_server
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.text import first_line

if TYPE_CHECKING:
    from dagster import DagsterInstance


class ReloadError(LineageBridgeError):
    """Both ways to reload failed; the definitions stay the same until the server is restarted."""


class KeptDefinitionsError(ReloadError):
    """The newest state cannot be loaded, so the server goes on with the definitions that it has."""


@dataclass(frozen=True)
class Reloaded:
    """How the definitions were reloaded, and in how many seconds."""

    how: str
    seconds: float
    #: The error of the faster way that was tried first.
    tried: tuple[str, ...] = ()


def reload_code_location(origin: Any, instance: DagsterInstance, *, timeout_seconds: int = 60) -> Reloaded:
    """Make the code server behind `origin` load the newest stored state.

    Args:
        origin: `context.code_location_origin` of a sensor, or a run's repository's origin.
        instance: the instance that knows the newest versions of the state.
        timeout_seconds: the limit for each of the two ways.

    Raises:
        KeptDefinitionsError: the newest state cannot be loaded; the server keeps the definitions that it has.
        ReloadError: both ways failed.
    """
    tried: list[str] = []
    began = time.monotonic()
    ways: list[tuple[str, Callable[[], None]]] = [
        ("reload_code_with_state", lambda: _reload_with_state(origin, instance, timeout_seconds)),
        ("reload_code", lambda: _reload_server(origin, timeout_seconds)),
    ]
    for how, way in ways:
        try:
            way()
        except KeptDefinitionsError:
            # The slower way restarts the server, which would then have no assets at all.
            raise
        except Exception as error:
            tried.append(f"{how}: {first_line(error)}")
        else:
            return Reloaded(how, time.monotonic() - began, tuple(tried))
    raise ReloadError(
        "The definitions could not be reloaded: " + "; ".join(tried),
        hint="Run a code server that other processes can reach (`dagster dev`, or a grpc_server entry in "
        "workspace.yaml), or reload in the UI.",
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


def _causes(serialized: str) -> list[Any]:
    """An error, and what caused it, down to the first cause."""
    found: list[Any] = [deserialize_value(serialized)]
    while (cause := getattr(found[-1], "cause", None)) is not None:
        found.append(cause)
    return found
