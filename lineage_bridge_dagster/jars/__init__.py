"""Pinned Java archives (jars), downloaded into a local cache and verified.

`ensure("spark")` returns their paths. The first call on a machine downloads them from Maven Central with the
Ivy that PySpark ships, so Maven is not needed.
"""

from lineage_bridge_dagster.jars.checksums import Archive
from lineage_bridge_dagster.jars.fetch import NEEDS, Need, cache_root, ensure, is_cached, pyspark_jars
from lineage_bridge_dagster.jars.jvm import java

__all__ = ["NEEDS", "Archive", "Need", "cache_root", "ensure", "is_cached", "java", "pyspark_jars"]
