"""The sample world that the embedded stack shows, and what fills it.

One environment with two clusters in two regions. `topics`, `connectors` and `statements` say what is there;
`seed` puts topics, schemas and records on the brokers; `actions` is what a user does to it afterwards.
"""

from lineage_bridge_dagster.embedded.world.connectors import CONNECTORS
from lineage_bridge_dagster.embedded.world.model import (
    Cluster,
    ComputePool,
    Connector,
    ConsumerGroup,
    ServiceAccount,
    Statement,
    Topic,
)
from lineage_bridge_dagster.embedded.world.places import (
    ANALYTICS_EU,
    API_KEYS,
    CLUSTERS,
    ENVIRONMENT_ID,
    ENVIRONMENT_NAME,
    GLUE_REGION,
    ORDERS_PLATFORM,
    ORGANIZATION_ID,
    POOLS,
    SCHEMA_REGISTRY_ID,
    SERVICE_ACCOUNTS,
    ApiKey,
    api_key,
    cluster,
    credentials_env,
)
from lineage_bridge_dagster.embedded.world.statements import STATEMENTS
from lineage_bridge_dagster.embedded.world.topics import TABLEFLOW_ERRORS, TOPICS, TRICKLE_TOPIC, topic

__all__ = [
    "ANALYTICS_EU",
    "API_KEYS",
    "CLUSTERS",
    "CONNECTORS",
    "ENVIRONMENT_ID",
    "ENVIRONMENT_NAME",
    "GLUE_REGION",
    "ORDERS_PLATFORM",
    "ORGANIZATION_ID",
    "POOLS",
    "SCHEMA_REGISTRY_ID",
    "SERVICE_ACCOUNTS",
    "STATEMENTS",
    "TABLEFLOW_ERRORS",
    "TOPICS",
    "TRICKLE_TOPIC",
    "ApiKey",
    "Cluster",
    "ComputePool",
    "Connector",
    "ConsumerGroup",
    "ServiceAccount",
    "Statement",
    "Topic",
    "api_key",
    "cluster",
    "credentials_env",
    "topic",
]
