"""Names of external datasets, by the OpenLineage spec, so that all connectors to one table share a node.

Source: OpenLineage spec, "Naming": `{namespace}/{name}`, where the namespace is scheme and authority.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from lineage_bridge_dagster.confluent.connectors.addresses import authority, host_and_port

DEFAULT_PORTS = {
    "postgres": "5432",
    "mysql": "3306",
    "mssql": "1433",
    "oracle": "1521",
    "db2": "50000",
    "redshift": "5439",
    "mongodb": "27017",
    "clickhouse": "8123",
}

#: JDBC subprotocol -> OpenLineage scheme.
_JDBC_SCHEMES = {
    "postgresql": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlserver": "mssql",
    "jtds:sqlserver": "mssql",
    "oracle:thin": "oracle",
    "db2": "db2",
    "redshift": "redshift",
    "snowflake": "snowflake",
}
_JDBC = re.compile(
    r"jdbc:(?P<kind>jtds:sqlserver|oracle:thin|[a-z0-9]+):(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)


def database(scheme: str, host: str, port: str, *name: str) -> str:
    """`{scheme}://{host}:{port}/{a.b.c}`, without empty name parts."""
    host, port = host_and_port(host, port or DEFAULT_PORTS.get(scheme, ""))
    address = f"{host}:{port}" if port else host
    return f"{scheme}://{address}/{'.'.join(part for part in name if part)}" if host else ""


def host_of(url: str) -> str:
    """The host (and port, if present) of an address; see `addresses.authority`."""
    return authority(url)


def jdbc(url: str) -> tuple[str, str, str, str] | None:
    """`(scheme, host, port, database)` of a JDBC URL, None for one of an unknown kind.

    Omits user names and passwords in all of their spellings.
    """
    match = _JDBC.fullmatch(url.strip())
    if match is None:
        return None
    scheme = _JDBC_SCHEMES.get(match["kind"].lower())
    rest = match["rest"]
    if scheme is None:
        return None
    if scheme == "mssql":
        head, *options = rest.removeprefix("//").split(";")
        settings = {key.strip().lower(): value for key, _, value in (item.partition("=") for item in options)}
        address, _, path = head.partition("/")
        name = path or settings.get("databasename") or settings.get("database") or ""
    elif scheme == "oracle":
        # user/password@//host:port/service, @host:port:sid
        address, _, name = rest.rpartition("@")[2].removeprefix("//").partition("/")
        if not name and address.count(":") == 2:
            address, _, name = address.rpartition(":")
    else:
        address, _, path = rest.removeprefix("//").partition("/")
        name = re.split(r"[?;:&]", path, maxsplit=1)[0]
        address = re.split(r"[?;]", address, maxsplit=1)[0]
    host, _, port = address.rpartition("@")[2].split(",")[0].partition(":")
    return scheme, host.lower(), port or DEFAULT_PORTS.get(scheme, ""), unquote(name)


def snowflake_account(url: str) -> str:
    """`https://ACCOUNT.snowflakecomputing.com:443` -> `account`."""
    host = host_of(url.removeprefix("jdbc:snowflake:").removeprefix("jdbc:")).partition(":")[0]
    return host.removesuffix(".snowflakecomputing.com")


def formatted(template: str, topic: str) -> str:
    """A value such as `table.name.format`, with `${topic}` replaced."""
    return template.replace("${topic}", topic)
