"""Code that the server of a catalog names for Spark: Iceberg's Java library would load it.

Iceberg makes objects of the classes in a REST catalog's `/v1/config` when it opens the catalog. It cannot be
told not to, so such a catalog is left out of a session.
"""

from __future__ import annotations

import logging
import re
from typing import Any

from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError

#: What Iceberg's Java library does not read.
_PYTHONS = re.compile(r"py-|s3\.signer$|s3\.retry-strategy-impl$")
#: What each server named when it was asked.
_ASKED: dict[Any, tuple[str, ...]] = {}

_log = logging.getLogger(__name__)


def without_servers_code(catalogs: Catalogs) -> Catalogs:
    """The catalogs without those whose server names code, or sends clients and their credentials elsewhere.

    One that does not answer stays: Spark will say so.

    Raises:
        ConfigurationError: The default catalog, or that of the lineage tables, is such a one.
    """
    refused = []
    for name, catalog in catalogs.items():
        if not catalog.speaks_rest or not (named := _named_by_server(catalogs, name)):
            continue
        error = ConfigurationError(
            f"The server of catalog {name} names code, hosts or identities for Spark to use: "
            f"{', '.join(named)}.",
            hint="Have the server's owner remove them, or, if you want them, write the same into properties "
            "of the catalog.",
        )
        if catalog is catalogs.default or catalog is catalogs.lineage:
            raise error
        _log.warning("Spark goes without catalog %s: %s", name, error)
        refused.append(name)
    return catalogs.without(refused)


def _named_by_server(catalogs: Catalogs, name: str) -> tuple[str, ...]:
    """What `_ask` tells, asked for once in a process."""
    place = (catalogs[name].uri, catalogs[name].warehouse, tuple(catalogs[name].properties.items()))
    if place not in _ASKED and (found := _ask(catalogs, name)) is not None:
        _ASKED[place] = found
    return _ASKED.get(place, ())


def _ask(catalogs: Catalogs, name: str) -> tuple[str, ...] | None:
    """The properties that only our own configuration may set; None if the server did not answer."""
    from requests.exceptions import InvalidURL

    from lineage_bridge_dagster.catalogs.iceberg.open_catalog import open_catalog

    try:
        left_out: tuple[str, ...] = getattr(open_catalog(catalogs, name), "left_out", ())
    except LineageBridgeError as error:
        if isinstance(error.__cause__, InvalidURL):
            # It sends clients elsewhere, with their token: Spark would follow.
            return ("uri",)
        _log.info("The server of catalog %s was not asked what it names: %s", name, error)
        return None
    return tuple(key for key in left_out if not _PYTHONS.match(key))
