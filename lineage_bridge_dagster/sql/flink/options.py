"""The options of tables and connections, as far as they may be kept: where they lead, no secrets. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

_URL = re.compile(r"((?:jdbc:)?[A-Za-z][\w+.-]*:(?:[a-z]+:)?)//([^/?;#]*)([^?;#]*)(.*)", re.DOTALL)
_ORACLE = re.compile(r"(jdbc:oracle:\w+:).*@(?=[\w(/])([\w.:/()=, -]+)", re.DOTALL | re.IGNORECASE)
_HOSTS = re.compile(r"(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d+)?(?:,[\w.-]+(?::\d+)?)*")
#: Settings of a JDBC URL that name something.
_NAMING = re.compile(
    r"(?:^|[?;&])\s*((?:database(?:name)?|db|(?:current)?schema|catalog|servicename)=[\w$.-]+)", re.IGNORECASE
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
        host = authority.rpartition("@")[2]
        is_jdbc = scheme.startswith("jdbc:")
        if not _HOSTS.fullmatch(host) or "@" in path or ("@" in settings and not is_jdbc):
            return ""
        named = "&".join(_NAMING.findall(settings)) if is_jdbc else ""
        return f"{scheme}//{host}{path}{'?' if named else ''}{named}"
    if (oracle := _ORACLE.match(_END.split(text)[0])) is not None:
        return f"{oracle[1]}@{oracle[2]}"
    return "" if "@" in text else _END.split(text)[0]
