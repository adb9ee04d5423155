"""Where a Spark Connect server is: the URL of `spark.remote`, and the token, which is in no file.

The form of the URL is that of Spark's documentation ("Client Connection String"):
`sc://host:port/;name=value;...`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.errors import ConfigurationError

MASTER, REMOTE = "spark.master", "spark.remote"

#: The bearer token of the server, if it wants one.
TOKEN_VARIABLE = PREFIX + "SPARK_TOKEN"

#: The header that the server takes the token in, if not as a bearer token.
TOKEN_HEADER_VARIABLE = PREFIX + "SPARK_TOKEN_HEADER"

#: Pattern of the names of parameters and properties whose values are secrets.
SECRET_NAMES = (
    r"(?i)secret|passw|passphrase|token|credential|authorization|jaas|cookie|user[-_.]?info"  # noqa: S105
    r"|(?:api|access|account|private|encryption)[-_.]?key"
)

_PORT = 15002
_EXAMPLE = "sc://spark.internal:15002"


@dataclass(frozen=True, slots=True)
class SparkRemote:
    """A Spark Connect server. `url` holds no secret, and may be shown."""

    url: str
    host: str
    port: int
    uses_tls: bool = False

    @classmethod
    def parse(cls, url: str) -> SparkRemote:
        """Parse `sc://host:port`, with parameters such as `/;use_ssl=true;user_id=dagster`.

        Raises:
            ConfigurationError: it is not such a URL, or holds a secret.
        """
        address, *given = url.strip().split(";")
        parameters = {}
        for each in filter(None, given):
            name, equals, value = each.partition("=")
            if not equals:
                # Not shown: it may be part of a secret that has a semicolon.
                raise _malformed("one of its parameters is not name=value")
            if re.search(SECRET_NAMES, name):
                raise ConfigurationError(
                    f"spark.remote has the parameter {name}, which is a secret.",
                    hint=f"Take it out of the URL, and set a token in the variable {TOKEN_VARIABLE}.",
                )
            parameters[name] = unquote(value)
        try:
            parts = urlsplit(address)
            port = parts.port
        except ValueError as error:
            raise _malformed("its host or its port cannot be read") from error
        if "@" in parts.netloc:
            raise _malformed("it names a user before the host; write /;user_id=NAME behind it")
        if parts.scheme != "sc":
            raise _malformed("it does not begin with sc://")
        if not parts.hostname or parts.path not in ("", "/") or parts.query or parts.fragment:
            raise _malformed("it is not sc:// with a host, a port and parameters")
        return cls(
            url.strip(), parts.hostname, port or _PORT, parameters.get("use_ssl", "").lower() == "true"
        )

    @property
    def server(self) -> str:
        """The server's address, for messages."""
        return f"sc://{self.host}:{self.port}"


def remote_of(conf: Mapping[str, Any], variables: Mapping[str, str] | None = None) -> SparkRemote | None:
    """The Spark Connect server of a configuration by property name, None if it names none.

    Args:
        variables: the environment, whose SPARK_REMOTE counts if the configuration names no master.

    Raises:
        ConfigurationError: its URL is wrong, or the configuration names a master too.
    """
    url = str(conf.get(REMOTE) or "")
    if not url and not conf.get(MASTER):
        url = (variables or {}).get("SPARK_REMOTE", "")
    if not url:
        return None
    found = SparkRemote.parse(url)
    if master := conf.get(MASTER):
        raise ConfigurationError(
            f"Both spark.remote ({found.server}) and spark.master ({master}) are set.",
            hint="Keep spark.remote for a Spark Connect server that runs already, or spark.master for a "
            "session of each run's own.",
        )
    return found


def _malformed(why: str) -> ConfigurationError:
    return ConfigurationError(
        f"spark.remote is not the URL of a Spark Connect server: {why}.", hint=f"Write it as {_EXAMPLE}."
    )
