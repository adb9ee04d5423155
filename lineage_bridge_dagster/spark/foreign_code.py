"""Code that a table names for Spark: Iceberg's Java library would load it.

Iceberg makes an object of the class in a table's `write.location-provider.impl` whenever Spark scans or
writes the table. No setting prevents that, so such a table is refused. For what servers name, see
`foreign_catalogs.py`; for PyIceberg, `catalogs/iceberg/guarded.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineage_bridge_dagster.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The one property of a table for which Iceberg's Java library loads a class (`TableProperties`).
PROVIDER = "write.location-provider.impl"


def refuse_code(spark: SparkSession, name: str, provider: str | None) -> None:
    """Refuse a table that names code, unless the configuration of its catalog names the same.

    Args:
        name: The table's quoted name, the catalog included.
        provider: The value of `PROVIDER`; None if the table has none.

    Raises:
        ConfigurationError: It does.
    """
    catalog = name.partition(".")[0].strip("`")
    if provider is None or spark.conf.get(f"spark.sql.catalog.{catalog}.{PROVIDER}", None) == provider:
        return
    raise ConfigurationError(
        f"The table {name.replace('`', '')} has the property {PROVIDER}={provider}: whoever set it would "
        "have Spark load that class. The table was neither read nor written.",
        hint=f"Remove the property: ALTER TABLE {name} UNSET TBLPROPERTIES ('{PROVIDER}'). If the class is "
        f"yours, set it in properties of the catalog {catalog} instead.",
    )
