"""Iceberg tables: their names in Spark SQL and their last commits."""

from lineage_bridge_dagster.catalogs.iceberg.names import quoted, string_literal

__all__ = ["quoted", "string_literal"]
