"""The options of tables and connections, as far as they may be kept: where they lead, no secrets. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

_URL = re.compile(r"((?:jdbc:)?[A-Za-z][\w+.-]*:(?:[a-z]+:)?)//([^/?;#]*)([^?;#]*)(.*)", re.DOTALL)
_ORACLE = re.compile(r"(jdbc:oracle:\w+:).*@(?=[\w(/])([\w.:/()=, -]+)", re.DOTALL | re.IGNORECASE)
#: Hosts with their ports; SQL Server has the name of an instance after its host.
_HOSTS = re.compile(r"(?:[\w.-]+(?:\\[\w$-]+)?|\[[0-9A-Fa-f:.]+\])(?::\d+)?(?:,[\w.-]+(?::\d+)?)*")
_AZURE = re.compile(r"(?:abfs|wasb)s?:", re.IGNORECASE)
_CONTAINER = re.compile(r"[a-z0-9$-]{1,63}")
#: The first setting in the path of a JDBC URL: `/shop:user=me` of Db2, `/DATABASE=shop,USER=me` of Teradata.
_IN_PATH = re.compile(r"[/:,][\w. ]+=")
#: Settings of a JDBC URL that name something.
_NAMING = re.compile(
    r"(?:^|[?;&:,/])\s*((?:database(?:name)?|db|(?:current)?schema|catalog|servicename)=[\w$.-]+)",
    re.IGNORECASE,
)
_END = re.compile(r"[?;#]")


def kept_options(options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The options, with addresses as `kept_address`."""
    return tuple((key, kept_address(value)) for key, value in options.items())


def kept_address(text: str) -> str:
    """An address without user, password, query and fragment; empty where these cannot be told from the rest.

    >>> kept_address("mongodb+srv://me:secret@c1.example.net/?retryWrites=true")
    'mongodb+srv://c1.example.net/'
    >>> kept_address("jdbc:sqlserver://db:1433;user=me@db;password=p@ss;databaseName=shop")
    'jdbc:sqlserver://db:1433?databaseName=shop'
    >>> kept_address("orders")
    'orders'
    """
    text = text.strip()
    if (url := _URL.fullmatch(text)) is not None:
        scheme, authority, path, settings = url.groups()
        user, _, host = authority.rpartition("@")
        # In `abfss://container@account...`, it is a container.
        container = f"{user}@" if _AZURE.fullmatch(scheme) and _CONTAINER.fullmatch(user) else ""
        is_jdbc = scheme.startswith("jdbc:")
        if is_jdbc and (inner := _IN_PATH.search(path)):
            path, settings = path[: inner.start()], path[inner.start() :] + settings
        if not _HOSTS.fullmatch(host) or "@" in path or ("@" in settings and not is_jdbc):
            return ""
        named = "&".join(_NAMING.findall(settings)) if is_jdbc else ""
        return f"{scheme}//{container}{host}{path}{'?' if named else ''}{named}"
    if (oracle := _ORACLE.match(_END.split(text)[0])) is not None:
        return f"{oracle[1]}@{oracle[2]}"
    return "" if "@" in text else _END.split(text)[0]
