"""What Confluent says: a session, one client per API, and the discovery over them."""

from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.discovery import discover, discover_with, raise_if_hopeless

__all__ = ["ConfluentSession", "discover", "discover_with", "raise_if_hopeless"]
