"""Single message transforms, as far as they change the topic of a record.

To add a transform that changes topics, add a builder to `routers.py`; one that does not, its class to
`neutral.py`.
"""

from lineage_bridge_dagster.confluent.connectors.transforms.routing import Routing, routing_of

__all__ = ["Routing", "routing_of"]
