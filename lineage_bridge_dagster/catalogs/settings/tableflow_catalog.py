"""Tableflow's Iceberg REST catalogs: one for each environment and region.

Their address is documented by Confluent ("Integrate Catalogs with Tableflow in Confluent Cloud"): the host is
`tableflow.{region}.{cloud}.confluent.cloud`, and the path names organization and environment. A namespace is
a Kafka cluster's id, a table a topic. Clients get tokens of scope `catalog` for a Tableflow API key as client
credentials, and may only read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from lineage_bridge_dagster.config.addresses import is_in_clear
from lineage_bridge_dagster.config.credentials import read_credentials, slot_of, variable_of
from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.errors import ConfigurationError

#: The type of these catalogs, and the name of the one that a variable defines.
TABLEFLOW = "tableflow"

#: `true`, or the address in place of Confluent's: defines the catalog without YAML.
VARIABLE = PREFIX + "TABLEFLOW_CATALOG"

#: The variables with the key that opens these catalogs.
KEY_VARIABLES = " and ".join(variable_of("tableflow", half) for half in ("key", "secret"))

_HOST = "https://tableflow.{region}.{cloud}.confluent.cloud"
_PATH = "/iceberg/catalog/organizations/{organization}/environments/{environment}"
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_VENDOR_HOST = re.compile(r"tableflow\.(?P<region>[a-z0-9-]+)\.[a-z]+\.confluent\.cloud")
_CATALOG_PATH = re.compile(
    r".*/organizations/(?P<organization>[^/{}]+)/environments/(?P<environment>[^/{}]+)/?"
)
#: What the parts of an address may be: an answer of an API must not be able to name another host.
_PART = re.compile(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*")
_ON, _OFF = frozenset({"true", "on", "yes", "1"}), frozenset({"false", "off", "no", "0"})


class TableflowPlace(NamedTuple):
    """An environment and a region of a cloud, which have one catalog."""

    organization: str
    environment: str
    cloud: str
    region: str

    @property
    def is_known(self) -> bool:
        """Whether every part is known, and is what Confluent's ids are made of."""
        return all(map(_PART.fullmatch, self))


def variables(found: Mapping[str, str]) -> dict[str, dict[str, object]]:
    """The fields of the catalog that a variable defines, by its name; nothing if it is not set or off."""
    text = found.get(VARIABLE, "").strip()
    if not text or text.lower() in _OFF:
        return {}
    uri: dict[str, object] = {} if text.lower() in _ON else {"uri": text}
    return {TABLEFLOW: {"type": TABLEFLOW, **uri}}


def check(name: str, uri: str | None) -> None:
    """Check the address of a catalog of Tableflow.

    Raises:
        ConfigurationError: it is not a URL, has placeholders of other names, or is not encrypted.
    """
    text = uri or _HOST
    unknown = set(_PLACEHOLDER.findall(text)) - set(TableflowPlace._fields)
    url = urlsplit(_PLACEHOLDER.sub("x", text))
    if unknown or url.scheme not in ("http", "https") or not url.hostname or url.username is not None:
        raise ConfigurationError(
            f"The uri of Tableflow's catalog {name!r} is not a URL of its form: {text}",
            hint="Leave it out, or write that of the Tableflow page in Confluent's console, or one with "
            f"placeholders, as in {_HOST}.",
        )
    if is_in_clear(url.geturl()):
        raise ConfigurationError(
            f"The uri of Tableflow's catalog {name!r} is not encrypted: {text}",
            hint="Write it with https: an API key is sent there.",
        )


def is_one_catalog(uri: str | None) -> bool:
    """Whether an address is that of one catalog, without placeholders."""
    return bool(uri) and bool(_CATALOG_PATH.fullmatch(urlsplit(uri or "").path)) and "{" not in (uri or "")


def address(uri: str | None, place: TableflowPlace) -> str:
    """The address of the catalog of a place.

    >>> address(None, TableflowPlace("org-1", "env-2", "AWS", "us-east-1"))
    'https://tableflow.us-east-1.aws.confluent.cloud/iceberg/catalog/organizations/org-1/environments/env-2'
    """
    text = (uri or _HOST).rstrip("/")
    if "/environments/" not in text:
        text += _PATH
    return text.format_map({**place._asdict(), "cloud": place.cloud.lower()})


def covers(uri: str, place: TableflowPlace) -> bool:
    """Whether the catalog at an address is that of a place."""
    url = urlsplit(uri)
    path = _CATALOG_PATH.fullmatch(url.path)
    host = _VENDOR_HOST.fullmatch(url.hostname or "")
    return (
        path is not None
        and (path["organization"], path["environment"]) == (place.organization, place.environment)
        and (host is None or host["region"] == place.region)
    )


def name_of(prefix: str, place: TableflowPlace) -> str:
    """The name of the catalog of a place: it stays when other environments and regions come and go.

    >>> name_of("tableflow", TableflowPlace("org-1", "env-2", "AWS", "us-east-1"))
    'tableflow_env_2_us_east_1'
    """
    return re.sub(r"[^A-Za-z0-9]+", "_", f"{prefix}_{place.environment}_{place.region}")


def credential(name: str, uri: str, variables: Mapping[str, str]) -> str:
    """The Tableflow API key for the catalog at an address, as `id:secret`: that of its environment, else the
    one for all.

    Raises:
        ConfigurationError: there is none.
    """
    keys = read_credentials(variables)
    path = _CATALOG_PATH.fullmatch(urlsplit(uri).path)
    slots = [*([slot_of("tableflow", path["environment"])] if path else ()), slot_of("tableflow")]
    for slot in slots:
        found = keys.get(slot)
        if isinstance(found, Mapping) and found.get("key") and found.get("secret"):
            return f"{found['key']}:{found['secret']}"
    raise ConfigurationError(
        f"Tableflow's catalog {name!r} takes a Tableflow API key, and none is set.",
        hint=f"Set {KEY_VARIABLES}. A Cloud key does not open this catalog.",
    )
