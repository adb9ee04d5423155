"""From the names in statements to topics: first views are seen through, then names are looked up.

expansions = expand_views(texts, index)
index.resolve(expansions[0].reads[0])  # a canonical path needs no current catalog
"""

from lineage_bridge_dagster.sql.flink.names import (
    ClusterName,
    NameIndex,
    Resolution,
    TopicRef,
    quoted,
)
from lineage_bridge_dagster.sql.flink.views import Expansion, SourceText, expand_views

__all__ = [
    "ClusterName",
    "Expansion",
    "NameIndex",
    "Resolution",
    "SourceText",
    "TopicRef",
    "expand_views",
    "quoted",
]
