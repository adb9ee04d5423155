"""Ports of the loopback: which are free, and who has the others."""

from __future__ import annotations

import errno
import hashlib
import os
import socket
import time
from collections.abc import Iterable, Mapping, Sequence

import psutil

from lineage_bridge_dagster.errors import ConfigurationError

HOST = "127.0.0.1"
PORT_BASE_VARIABLE = "LINEAGE_BRIDGE_LOCAL_PORT_BASE"

#: Below what systems hand out to outgoing connections, so that a stack finds its ports again after a `down`.
_FIRST, _LAST = 20000, 29999

#: Seconds that a port of the last time gets to come free.
_MOMENT = 2.0


def is_free(port: int) -> bool:
    """Whether a server could listen there now, as servers do: with SO_REUSEADDR."""
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
    """Who listens on a port, for a message: the program and its pid where the system tells."""
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
    names: Sequence[str], *, before: Mapping[str, int], base: int | None, seed: str, taken: Iterable[str] = ()
) -> dict[str, int]:
    """A port for each name.

    Args:
        names: of what listens, in a fixed order.
        before: the ports of the last time; kept while free.
        base: the first of a row of ports that the user chose; None for any that are free.
        seed: makes two homes begin their search at different places.
        taken: names whose port of the last time is in use by the very component it is for.

    Raises:
        ConfigurationError: a chosen port is in use or out of range.
    """
    kept = set(taken)
    if base is not None:
        return _row(names, before, base, kept)
    ports: dict[str, int] = {}
    search = _search(seed)
    for name in names:
        port = before.get(name)
        if port is None or not (name in kept or _comes_free(port)):
            used = {*ports.values(), *before.values()}
            port = next((p for p in search if p not in used and is_free(p)), None)
            if port is None:
                raise ConfigurationError(f"No port between {_FIRST} and {_LAST} is free on {HOST}.")
        ports[name] = port
    return ports


def _comes_free(port: int) -> bool:
    """A process that was just killed has its port until the system has taken it apart."""
    until = time.monotonic() + _MOMENT
    while not is_free(port):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def _row(names: Sequence[str], before: Mapping[str, int], base: int, kept: set[str]) -> dict[str, int]:
    if not 1024 <= base <= 65535 - len(names):
        raise ConfigurationError(
            f"Port base {base} is out of range.", hint=f"Give one from 1024 to {65535 - len(names)}."
        )
    ports = {name: base + index for index, name in enumerate(names)}
    for name, port in ports.items():
        if not (name in kept and before.get(name) == port) and not _comes_free(port):
            raise ConfigurationError(
                f"Port {port}, which {name} would listen on, is in use by {user_of(port)}.",
                hint=f"End it, or choose another --port-base (or {PORT_BASE_VARIABLE}).",
            )
    return ports


def base_from_env() -> int | None:
    """The port base that the environment sets.

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


def _search(seed: str) -> Iterable[int]:
    start = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:4], "big")
    count = _LAST - _FIRST + 1
    return iter(_FIRST + (start + step) % count for step in range(count))
