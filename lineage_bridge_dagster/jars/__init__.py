"""The Java archives that the product runs on, pinned and checked, in a local cache.

`ensure("spark")` answers with the paths; the first call on a machine fetches them through the Ivy that
PySpark ships, which needs no Maven and knows where Maven Central is.
"""

from lineage_bridge_dagster.jars.checksums import Archive
from lineage_bridge_dagster.jars.fetch import NEEDS, Need, cache_root, ensure, is_cached, pyspark_jars
from lineage_bridge_dagster.jars.jvm import java

__all__ = ["NEEDS", "Archive", "Need", "cache_root", "ensure", "is_cached", "java", "pyspark_jars"]
