"""Code that a table, or the server of a catalog, names for Spark: Iceberg's Java library would load it.

Iceberg makes an object of the class in a table's `write.location-provider.impl` whenever Spark scans or
writes the table, and of those in a REST catalog's `/v1/config` when it opens the catalog. It cannot be told
not to, so such a table is refused, and such a catalog left out. For PyIceberg, see `iceberg/guarded.py`.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.config.catalog_properties import CATALOG
from lineage_bridge_dagster.config.catalogs import Catalogs
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The one property of a table for which Iceberg's Java library loads a class (`TableProperties`).
PROVIDER = "write.location-provider.impl"

#: What Iceberg's Java library does not read.
_PYTHONS = re.compile(r"py-|s3\.signer$|s3\.retry-strategy-impl$")
#: What each server named when it was asked.
_ASKED: dict[Any, tuple[str, ...]] = {}

_log = logging.getLogger(__name__)


def refuse_code(spark: SparkSession, name: str, provider: str | None) -> None:
    """Refuse a table that names code, unless the configuration of its catalog names the same.

    Args:
        spark: The session.
        name: The table's quoted name, the catalog included.
        provider: The value of `PROVIDER`; None if the table has none.

    Raises:
        ConfigurationError: It does.
    """
    catalog = name.partition(".")[0].strip("`")
    if provider is None or spark.conf.get(f"{CATALOG}{catalog}.{PROVIDER}", None) == provider:
        return
    raise ConfigurationError(
        f"The table {name.replace('`', '')} has the property {PROVIDER}={provider}: whoever set it would "
        "have Spark load that class. The table was neither read nor written.",
        hint=f"Remove the property: ALTER TABLE {name} UNSET TBLPROPERTIES ('{PROVIDER}'). If the class is "
        f"yours, write the same into properties of the catalog {catalog} instead.",
    )


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

    from lineage_bridge_dagster.iceberg.catalogs import open_catalog

    try:
        left_out: tuple[str, ...] = getattr(open_catalog(catalogs, name), "left_out", ())
    except LineageBridgeError as error:
        if isinstance(error.__cause__, InvalidURL):
            # It sends clients elsewhere, with their token: Spark would follow.
            return ("uri",)
        _log.info("The server of catalog %s was not asked what it names: %s", name, error)
        return None
    return tuple(key for key in left_out if not _PYTHONS.match(key))
