"""Ports on the loopback interface: which are free, who uses the others, and clients of servers there."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import ssl
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import httpx
import psutil

from lineage_bridge_dagster.errors import ConfigurationError

HOST = "127.0.0.1"
PORT_BASE_VARIABLE = "LINEAGE_BRIDGE_LOCAL_PORT_BASE"

#: Below the ephemeral range of common systems, so that a stack finds its ports free after a `down`.
_FIRST, _LAST = 20000, 29999

#: Seconds to wait until a previous port is free.
_RELEASE_SECONDS = 2.0


def is_free(port: int) -> bool:
    """Whether a server could listen on the port now, with SO_REUSEADDR as servers set it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
    return True


def user_of(port: int) -> str:
    """The process that listens on a port, for a message, as far as the system shows it."""
    try:
        for connection in psutil.net_connections(kind="tcp"):
            if (
                connection.status == psutil.CONN_LISTEN
                and connection.laddr
                and connection.laddr.port == port
                and connection.pid
            ):
                command = " ".join(psutil.Process(connection.pid).cmdline())[:120]
                return f"pid {connection.pid} ({command})"
    except psutil.Error:
        pass
    return "another program"


def assign(
    names: Sequence[str],
    *,
    before: Mapping[str, int],
    base: int | None,
    seed: str,
    running: Collection[str] = (),
) -> dict[str, int]:
    """Assign a port to each listener.

    Args:
        names: The listeners, in a fixed order.
        before: The ports of the last start; reused while they are free.
        base: The first of a range of ports that the user chose; None for any free ports.
        seed: Lets two homes start their searches at different ports.
        running: Listeners that are running on their previous port.

    Raises:
        ConfigurationError: a chosen port is in use or out of range.
    """
    if base is not None:
        return _range(names, before, base, running)
    ports: dict[str, int] = {}
    search = _search(seed)
    for name in names:
        port = before.get(name)
        if port is None or not (name in running or _becomes_free(port)):
            used = {*ports.values(), *before.values()}
            port = next((p for p in search if p not in used and is_free(p)), None)
            if port is None:
                raise ConfigurationError(f"No port between {_FIRST} and {_LAST} is free on {HOST}.")
        ports[name] = port
    return ports


def _becomes_free(port: int) -> bool:
    """Wait for a port that a process killed a moment ago may still hold."""
    deadline = time.monotonic() + _RELEASE_SECONDS
    while not is_free(port):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _range(
    names: Sequence[str], before: Mapping[str, int], base: int, running: Collection[str]
) -> dict[str, int]:
    if not 1024 <= base <= 65535 - len(names):
        raise ConfigurationError(
            f"Port base {base} is out of range.", hint=f"Choose one from 1024 to {65535 - len(names)}."
        )
    ports = {name: base + index for index, name in enumerate(names)}
    for name, port in ports.items():
        if not (name in running and before.get(name) == port) and not _becomes_free(port):
            raise ConfigurationError(
                f"Port {port}, which {name} needs, is in use by {user_of(port)}.",
                hint=f"Stop that process, or choose another --port-base (or {PORT_BASE_VARIABLE}).",
            )
    return ports


def base_from_env() -> int | None:
    """The port base set in the environment, if any.

    Raises:
        ConfigurationError: it is not a number.
    """
    text = os.environ.get(PORT_BASE_VARIABLE)
    if not text:
        return None
    if not text.isdecimal():
        raise ConfigurationError(
            f"{PORT_BASE_VARIABLE} is {text!r}, not a port.", hint="Set it to a number such as 21000."
        )
    return int(text)


def _search(seed: str) -> Iterator[int]:
    start = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4], "big")
    count = _LAST - _FIRST + 1
    return iter(_FIRST + (start + step) % count for step in range(count))


#: Trusts nobody. To load the certificates that httpx trusts by default takes 25 ms of CPU time a client.
_NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def local_client(**options: Any) -> httpx.Client:
    """A client that ignores the proxies of the environment; the options are those of `httpx.Client`."""
    return httpx.Client(trust_env=False, verify=_NO_CERTIFICATES, **options)
