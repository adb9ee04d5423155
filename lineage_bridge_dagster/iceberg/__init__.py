"""The Iceberg tables: names as engines quote them, and snapshots."""

from lineage_bridge_dagster.iceberg.names import quoted, spark_name

__all__ = ["quoted", "spark_name"]
