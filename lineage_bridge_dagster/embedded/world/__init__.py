"""The sample platform of the embedded stack.

One environment with two clusters in two regions. `topics`, `connectors`, `statements` and `ksqldb` define its
contents; `seed` creates the topics, schemas and records on the brokers; `enable_tableflow`,
`disable_tableflow` and `produce` change it afterwards.
"""

from lineage_bridge_dagster.embedded.world.actions import disable_tableflow, enable_tableflow, produce
from lineage_bridge_dagster.embedded.world.connectors import CONNECTORS, ICEBERG_SINK
from lineage_bridge_dagster.embedded.world.filling import SeedReport, StackRequestError, seed
from lineage_bridge_dagster.embedded.world.ksqldb import (
    KSQLDB_CLUSTERS,
    KsqldbCluster,
    SampleKsqlQuery,
    SampleKsqlSource,
)
from lineage_bridge_dagster.embedded.world.model import (
    MANAGED_STORAGE,
    Cluster,
    Connector,
    SampleComputePool,
    SampleConsumerGroup,
    ServiceAccount,
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
    SERVICE_ACCOUNTS,
    TABLE_BUCKET,
    TABLE_BUCKET_CATALOG,
    ApiKey,
    api_key,
    cluster,
    credentials_env,
)
from lineage_bridge_dagster.embedded.world.statements import STATEMENTS
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
    "SERVICE_ACCOUNTS",
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
    "ServiceAccount",
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
