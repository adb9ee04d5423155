"""Addresses of servers without user names and passwords, and JDBC URLs, different from driver to driver."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from urllib.parse import unquote

from lineage_bridge_dagster.confluent.connectors.config import UNRESOLVED

#: `{cluster}.{account's hash}.{region}.redshift.amazonaws.com`, also of China.
_REDSHIFT = re.compile(r"([\w-]+)\.[\w-]+\.([\w-]+)\.redshift\.amazonaws\.com(?:\.cn)?")
_SNOWFLAKE = re.compile(r"(?:\.privatelink)?\.snowflakecomputing\.(?:com|cn)$")

#: The limit of a domain name, with room for brackets.
_LONGEST = 255
#: A named instance of SQL Server, which the port implies.
_INSTANCE = re.compile(r"\\[\w$#-]+")
_HOST = re.compile(rf"[\w.{UNRESOLVED}-]+|\[[0-9A-Fa-f]*:[0-9A-Fa-f:.]+\]")


def host_and_port(address: str) -> tuple[str, str]:
    """Return the first host of a URL, a list of hosts or a bare `host[:port]`, in lower case, and its port.

    Both are empty for a malformed address.
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
    return match[0].lower().rstrip("."), given.removeprefix(":")


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


#: Drivers that wrap another one, and stand before its kind.
_WRAPPERS = re.compile(r"(?:aws-wrapper|p6spy|log4jdbc|otel|tracing|tc|pgbouncer|secretsmanager):", re.I)
_KIND = re.compile(r"([a-z][a-z0-9+.-]*):", re.I)
#: What stands between a kind and `//`: `jdbc:mysql:loadbalance://`, `jdbc:redshift:iam://`.
_VARIANT = re.compile(r"([a-z][a-z0-9+_-]*):(?=//)", re.I)
#: Redshift's `jdbc:redshift:iam://cluster:region/database`.
_IAM = re.compile(r"^//([\w-]+):([a-z]+-[a-z]+-\d+)(?=[/?;]|$)", re.I)
#: Drivers that name the database as their variant.
_DRIVERS = ("datadirect", "jtds", "microsoft")
_SETTING = re.compile(r"(?:^|[?;:&,])\s*([A-Za-z_][\w. ]*?)\s*=\s*(\{[^{}]*\}|[^?;&,]*)")
#: `address=(host=db)(port=3306)`, and Oracle's `(ADDRESS=(PROTOCOL=TCP)(HOST=db)(PORT=1521))`.
_ATTRIBUTE = r"[(,]\s*{}\s*=\s*[\"']?([^(),\s\"']+)"
#: An Oracle address in parentheses, in which an at sign may be part of a certificate's name.
_DESCRIPTOR = re.compile(r"@\s*\(")
#: Settings that name something; others may be secret.
_KEPT = re.compile(
    r"database|databasename|db|schema|currentschema|catalog|conncatalog|connschema|searchpath|options|"
    r"servername|portnumber|dbs_port|libraries|user|username|uid|defaultschema|instancename|"
    r"awsregion|region|projectid|defaultdataset"
)
_NEXT = re.compile(r",\s*(?=jdbc:)")
_LONGEST_URL = 20_000


@dataclass(frozen=True, slots=True)
class JdbcUrl:
    """The parts of a JDBC URL that tell where tables are; no user, password or key.

    Attributes:
        kind: The kind of database or driver: `postgresql`, `sqlserver`, `oracle`, in lower case.
        host: The first host with its port, empty if the URL names none (files, aliases of a client's setup).
        database: Path of the URL or its setting, empty if it has none.
        settings: By their name in lower case, as far as they name catalogs, schemas and the like.
        user: The user, whose name is the schema of unqualified tables in some databases.
    """

    kind: str
    host: str = ""
    database: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    user: str = ""

    def setting(self, *names: str) -> str:
        """The value of the first of these settings that has one."""
        return next((value for name in names if (value := self.settings.get(name.lower(), ""))), "")


def parse_jdbc_url(url: str) -> JdbcUrl | None:
    """Parse a JDBC URL, or the first of several; None for anything else."""
    text = _NEXT.split(url.strip()[:_LONGEST_URL], maxsplit=1)[0]
    match = re.match(r"jdbc[:-]", text, re.I)
    if match is None:
        return None
    text = text[match.end() :]
    while wrapper := _WRAPPERS.match(text):
        text = text[wrapper.end() :].removeprefix("wrapper:")
    kind_match = _KIND.match(text)
    if kind_match is None:
        return None
    kind, text = kind_match[1].lower(), text[kind_match.end() :]
    if kind == "oracle":
        return _oracle(text)
    if kind == "sybase" and text[:4].lower() == "tds:":
        text = f"//{text[4:]}"
    elif variant := _VARIANT.match(text):
        text = text[variant.end() :]
        if kind in _DRIVERS:
            kind = variant[1].lower()
        text = _IAM.sub(r"//\1.x.\2.redshift.amazonaws.com", text) if variant[1].lower() == "iam" else text
    return _generic(kind, text)


def _generic(kind: str, text: str) -> JdbcUrl:
    """`//user:password@host:port,host:port/database?setting=value`, with any of `?;:&,` before settings."""
    if not text.startswith("//"):
        # A file of the Connect worker, or a database at localhost.
        return JdbcUrl(kind)
    text = text[2:]
    if match := re.match(r"(?:address\s*=\s*)?\(", text, re.I):
        end = text.find("/", match.end())
        head, rest = (text, "") if end < 0 else (text[:end], text[end:])
        host, port = _attribute("host", head), _attribute("port", head)
        head = f"{host}:{port}" if port else host
    else:
        end = next((at for at, char in enumerate(text) if char in "/?;#"), len(text))
        head, rest = text[:end], text[end:]
    if "=" in head:
        # Athena's settings are the address.
        head, rest = "", f";{head}{rest}"
    path, rest = _cut(rest.removeprefix("/"), "?;:&#")
    settings = _settings(rest)
    # Teradata's settings are the path.
    if "=" in path:
        settings, path = _settings(f"{path},{rest}"), ""
    host, port = host_and_port(head)
    host = host or host_and_port(settings.get("servername", ""))[0]
    port = port or settings.get("portnumber", "") or settings.get("dbs_port", "")
    name = unquote(path).strip("/") or next(
        (settings[key] for key in ("databasename", "database", "db") if settings.get(key)), ""
    )
    user = settings.get("user", "") or settings.get("username", "") or settings.get("uid", "")
    return JdbcUrl(kind, f"{host}:{port}" if host and port else host, name, settings, user)


def _oracle(text: str) -> JdbcUrl:
    """`thin:user/password@` and a descriptor, `host:port:sid`, `//host:port/service` or an alias."""
    before = _cut(text, "?")[0]
    descriptor = _DESCRIPTOR.search(text)
    at = descriptor.start() if descriptor else before.rfind("@") if "@" in before else text.rfind("@")
    address = text[at + 1 :].strip()
    user = text[:at].partition(":")[2].partition("/")[0] if at > 0 else ""
    user = user.strip('"')
    if descriptor:
        # The port belongs to its address: that of another one is no default.
        one = [*re.split(r"\(\s*ADDRESS\s*=", address, maxsplit=2, flags=re.I), address][1]
        host, port = _attribute("host", one), _attribute("port", one)
        service = _attribute("service_name", address) or _attribute("sid", address)
        return JdbcUrl("oracle", f"{host}:{port}" if port else host, service, user=user)
    address = _cut(address, "?")[0]
    protocol, separator, rest = address.partition("//")
    if separator:
        if protocol.lower().startswith("ldap"):
            return JdbcUrl("oracle", user=user)
        address = rest
    hosts, slash, service = address.partition("/")
    first = hosts.split(",")[0].strip()
    if slash:
        # /service:server/instance; the port may follow only the last of several hosts.
        service = _cut(service, ":/")[0]
        if ":" not in first and (match := re.search(r":(\d+)$", hosts)):
            first = f"{first}:{match[1]}"
    elif match := re.fullmatch(r"(.+):(\d+):([^:]+)", hosts):
        first, service = f"{match[1]}:{match[2]}", match[3]
    elif not separator:
        # An alias, which the client's own setup resolves.
        return JdbcUrl("oracle", user=user)
    host, port = host_and_port(first)
    return JdbcUrl("oracle", f"{host}:{port}" if host and port else host, service.strip(), user=user)


def _cut(text: str, ends: str) -> tuple[str, str]:
    """Split before the first of some characters."""
    end = next((at for at, char in enumerate(text) if char in ends), len(text))
    return text[:end], text[end:]


def _attribute(name: str, text: str) -> str:
    match = re.search(_ATTRIBUTE.format(name), text, re.I)
    return match[1] if match else ""


def _settings(text: str) -> dict[str, str]:
    """The settings that name something, by their names in lower case."""
    found: dict[str, str] = {}
    for key, value in _SETTING.findall(text):
        if _KEPT.fullmatch(name := key.strip().lower()):
            found.setdefault(name, unquote(value.strip().strip("{}")))
    return found
