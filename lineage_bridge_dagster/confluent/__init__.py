"""Discovery of Confluent: API clients, and the graph built from what they list."""

from lineage_bridge_dagster.confluent.discovery import discover, require_environments

__all__ = ["discover", "require_environments"]
