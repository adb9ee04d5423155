"""Whether an asset's table may be written: decided before Spark starts, by the settings and the definitions.

Tableflow's tables are read-only for everyone else: Tableflow does not know of another writer's commit, and
goes on from its own metadata (Confluent's documentation of Tableflow's catalog integrations).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.catalogs.iceberg.own_folders import is_tableflow_location
from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted
from lineage_bridge_dagster.catalogs.iceberg.table_errors import hint_of
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.spark.iceberg_tables import TableName
from lineage_bridge_dagster.spark.io.source import AssetSource, database_and_table, plain
from lineage_bridge_dagster.spark.java_errors import root_cause
from lineage_bridge_dagster.specs.metadata import LineageMetadata

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def output_table(
    metadata: Mapping[str, Any], key: tuple[str, ...], catalogs: Catalogs, *, by_spark: bool = True
) -> TableName:
    """The table that an asset is written to, by Spark or by PyIceberg.

    Raises:
        ConfigurationError: its metadata names no database or an unknown catalog, or the catalog is read-only
            or Spark, which is to write, does not know it.
    """
    database, table = database_and_table(metadata, key)
    if not database or not table:
        raise ConfigurationError(
            f"{'/'.join(key) or 'The output'} names no database to write to.",
            hint="Set dagster/table_name to database.table in its metadata, or set the IO manager's "
            "database.",
        )
    named = _value(metadata, "catalog")
    catalog = catalogs.writable(str(named or catalogs.default.name))
    if by_spark:
        catalogs.spark_conf_of(catalog.name)
    return TableName(catalog.name, database, table)


def refuse_tableflows(table: TableName, catalogs: Catalogs, definitions: Iterable[Mapping[str, Any]]) -> None:
    """Refuse a table that an asset of the graph shows to be Tableflow's.

    Args:
        definitions: the metadata of each asset in the code location.

    Raises:
        ConfigurationError: Tableflow writes it.
    """
    wanted = (table.database.lower(), table.table.lower())
    for metadata in definitions:
        if not _value(metadata, "written_by_tableflow"):
            continue
        database, name = database_and_table(metadata)
        if (database.lower(), name.lower()) == wanted and _same(
            catalogs[table.catalog], AssetSource.from_metadata(metadata).catalog_in(catalogs)
        ):
            raise tableflows(table, str(_value(metadata, "written_by")))


def refuse_tableflows_location(location: str, table: TableName) -> None:
    """Refuse a table whose files are where Tableflow keeps those of a topic.

    Raises:
        ConfigurationError: they are.
    """
    if is_tableflow_location(location):
        raise tableflows(table)


def require_namespace(spark: SparkSession, table: TableName) -> None:
    """Check that a catalog can be reached and has the namespace of a table.

    Raises:
        ConfigurationError: it has not.
        LineageBridgeError: the catalog cannot be reached, or refuses the caller.
    """
    try:
        if spark.catalog.databaseExists(quoted(table.catalog, table.database)):
            return
        rows = spark.sql(f"SHOW NAMESPACES IN {quoted(table.catalog)}").collect()
    except Exception as error:
        cause = root_cause(error)
        raise LineageBridgeError(
            f"Catalog {table.catalog} did not answer, so {table} was not written: {cause}",
            hint=hint_of(f"{cause}\n{error}"),
        ) from error
    raise no_namespace(table, [str(row[0]) for row in rows])


def no_namespace(table: TableName, names: list[str]) -> ConfigurationError:
    """The error of a table whose catalog has other namespaces."""
    shown = difflib.get_close_matches(table.database, names, 3) or names[:10]
    return ConfigurationError(
        f"Catalog {table.catalog} has no namespace {table.database}"
        + (f"; it has {', '.join(shown)}." if shown else "."),
        hint="Correct dagster/table_name in the asset's metadata, or create the namespace: "
        f"CREATE NAMESPACE {quoted(table.catalog, table.database)} in Spark SQL.",
    )


def _same(one: CatalogSettings, other: CatalogSettings) -> bool:
    """Whether two catalogs have the same tables: by name, or as ways to the Glue tables of one account."""
    if one.name == other.name:
        return True
    accounts = (one.glue_account, other.glue_account)
    if None in accounts or (one.region and other.region and one.region != other.region):
        return False
    return "" in accounts or accounts[0] == accounts[1]


def tableflows(table: TableName, writer: str = "Confluent Tableflow") -> ConfigurationError:
    """The error of a table that Tableflow writes."""
    return ConfigurationError(
        f"{writer} writes {table}, and another writer's commit would corrupt it. No write_mode changes that, "
        "and nothing was written.",
        hint="Give the asset a table of its own (dagster/table_name in its metadata), and read this one as "
        "an input.",
    )


def _value(metadata: Mapping[str, Any], field: str) -> Any:
    return plain(metadata.get(LineageMetadata.key(field)))
