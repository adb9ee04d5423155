"""Quoted table names for Spark SQL."""

from __future__ import annotations

from lineage_bridge_dagster.catalogs.iceberg.spark_names import quoted


def test_every_part_is_quoted() -> None:
    assert quoted("glue", "lkc-1", "o.v1") == "`glue`.`lkc-1`.`o.v1`"
    assert quoted("a`b") == "`a``b`"
