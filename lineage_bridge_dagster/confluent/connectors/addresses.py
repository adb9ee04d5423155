"""Hosts and ports from the addresses in connector configurations, without user names and passwords."""

from __future__ import annotations

import re

from lineage_bridge_dagster.confluent.connectors.config import UNRESOLVED

_HOST = re.compile(rf"[\w.{UNRESOLVED}-]+|\[[0-9A-Fa-f]*:[0-9A-Fa-f:.]+\]")


def host_and_port(address: str, port: str = "") -> tuple[str, str]:
    """Return the first host of a URL, a list of hosts or a bare `host[:port]`, in lower case, and its port.

    Both are empty for a malformed address; the port is `port` where the address has none.
    """
    text = address.strip().partition("://")[2] or address.strip()
    authority = re.split(r"[/?#;]", text, maxsplit=1)[0].rpartition("@")[2].split(",")[0].strip()
    match = _HOST.match(authority)
    if match is None:
        return "", ""
    given = authority[match.end() :]
    if given and not re.fullmatch(rf":(\d+|{UNRESOLVED})?", given):
        return "", ""
    return match[0].lower().rstrip("."), given.removeprefix(":") or port


def authority(address: str) -> str:
    """Return `host[:port]` of an address; empty for a malformed one."""
    host, port = host_and_port(address)
    return f"{host}:{port}" if port else host
