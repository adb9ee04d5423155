"""One catalog configuration for every engine that reads or writes the Iceberg tables."""

from lineage_bridge_dagster.iceberg.catalog import CatalogConfig
from lineage_bridge_dagster.iceberg.names import quoted, spark_name

__all__ = ["CatalogConfig", "quoted", "spark_name"]
