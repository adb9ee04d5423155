"""The sample platform of the embedded stack.

One environment with two clusters in two regions. `topics`, `connectors` and `statements` define its
contents; `seed` creates the topics, schemas and records on the brokers; `enable_tableflow`,
`disable_tableflow` and `produce` change it afterwards.
"""

from lineage_bridge_dagster.embedded.world.actions import disable_tableflow, enable_tableflow, produce
from lineage_bridge_dagster.embedded.world.connectors import CONNECTORS, ICEBERG_SINK
from lineage_bridge_dagster.embedded.world.filling import SeedReport, StackRequestError, seed
from lineage_bridge_dagster.embedded.world.model import (
    MANAGED_STORAGE,
    Cluster,
    Connector,
    SampleComputePool,
    SampleConsumerGroup,
    Statement,
    Topic,
)
from lineage_bridge_dagster.embedded.world.places import (
    ANALYTICS_EU,
    API_KEYS,
    AWS_ACCOUNT,
    CLUSTERS,
    CREATED_AT,
    ENVIRONMENT_ID,
    ENVIRONMENT_NAME,
    GLUE_ICEBERG_URL,
    GLUE_REGION,
    ORDERS_PLATFORM,
    ORGANIZATION_ID,
    ORGANIZATION_NAME,
    POOLS,
    SCHEMA_REGISTRY_ID,
    TABLE_BUCKET,
    TABLE_BUCKET_CATALOG,
    ApiKey,
    api_key,
    cluster,
    credentials_env,
)
from lineage_bridge_dagster.embedded.world.statements import (
    KSQLDB_CLUSTERS,
    STATEMENTS,
    KsqldbCluster,
    SampleKsqlQuery,
    SampleKsqlSource,
)
from lineage_bridge_dagster.embedded.world.topics import (
    GROUPS,
    TABLEFLOW_ERRORS,
    TOPICS,
    TRICKLE_TOPIC,
    topic,
)

__all__ = [
    "ANALYTICS_EU",
    "API_KEYS",
    "AWS_ACCOUNT",
    "CLUSTERS",
    "CONNECTORS",
    "CREATED_AT",
    "ENVIRONMENT_ID",
    "ENVIRONMENT_NAME",
    "GLUE_ICEBERG_URL",
    "GLUE_REGION",
    "GROUPS",
    "ICEBERG_SINK",
    "KSQLDB_CLUSTERS",
    "MANAGED_STORAGE",
    "ORDERS_PLATFORM",
    "ORGANIZATION_ID",
    "ORGANIZATION_NAME",
    "POOLS",
    "SCHEMA_REGISTRY_ID",
    "STATEMENTS",
    "TABLEFLOW_ERRORS",
    "TABLE_BUCKET",
    "TABLE_BUCKET_CATALOG",
    "TOPICS",
    "TRICKLE_TOPIC",
    "ApiKey",
    "Cluster",
    "Connector",
    "KsqldbCluster",
    "SampleComputePool",
    "SampleConsumerGroup",
    "SampleKsqlQuery",
    "SampleKsqlSource",
    "SeedReport",
    "StackRequestError",
    "Statement",
    "Topic",
    "api_key",
    "cluster",
    "credentials_env",
    "disable_tableflow",
    "enable_tableflow",
    "produce",
    "seed",
    "topic",
]
