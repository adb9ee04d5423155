"""Hosts and ports from the addresses in connector configurations, without user names and passwords."""

from __future__ import annotations

import re
from ipaddress import IPv6Address

from lineage_bridge_dagster.confluent.connectors.config import UNRESOLVED

#: `{cluster}.{account's hash}.{region}.redshift.amazonaws.com`, also of China.
_REDSHIFT = re.compile(r"([\w-]+)\.[\w-]+\.([\w-]+)\.redshift\.amazonaws\.com(?:\.cn)?")
_SNOWFLAKE = re.compile(r"(?:\.privatelink)?\.snowflakecomputing\.(?:com|cn)$")

#: The limit of a domain name, with room for brackets.
_LONGEST = 255
#: A named instance of SQL Server, which the port implies.
_INSTANCE = re.compile(r"\\[\w$#-]+")
_HOST = re.compile(rf"[\w.{UNRESOLVED}-]+|\[[0-9A-Fa-f]*:[0-9A-Fa-f:.]+\]")


def host_and_port(address: str, port: str = "") -> tuple[str, str]:
    """Return the first host of a URL, a list of hosts or a bare `host[:port]`, in lower case, and its port.

    Both are empty for a malformed address; the port is `port` where the address has none.
    """
    text = address.strip().partition("://")[2] or address.strip()
    authority = re.split(r"[/?#;]", text, maxsplit=1)[0].rpartition("@")[2].split(",")[0].strip()
    if _is_ipv6(authority):
        authority = f"[{authority}]"
    match = _HOST.match(authority)
    if match is None:
        return "", ""
    if match.end() > _LONGEST:
        return "", ""
    given = _INSTANCE.sub("", authority[match.end() :], count=1)
    if given and not re.fullmatch(rf":(\d+|{UNRESOLVED})?", given):
        return "", ""
    return match[0].lower().rstrip("."), given.removeprefix(":") or port


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def authority(address: str) -> str:
    """Return `host[:port]` of an address; empty for a malformed one."""
    host, port = host_and_port(address)
    return f"{host}:{port}" if port else host


def redshift_cluster(domain: str) -> str:
    """Return `{cluster}.{region}` of a cluster's domain, as the OpenLineage spec; any other host as it is."""
    host = host_and_port(domain)[0]
    match = _REDSHIFT.fullmatch(host)
    return f"{match[1]}.{match[2]}" if match else host


def snowflake_account(url: str) -> str:
    """Return `{organization}-{account}` or `{locator}[.{region}[.{cloud}]]` of a Snowflake address.

    A private link leads to the same account as the public address.
    """
    host = host_and_port(url.strip().removeprefix("jdbc:snowflake://"))[0]
    return _SNOWFLAKE.sub("", host)
