"""Emulator paths for parametrized tests."""

from __future__ import annotations

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent import planes

ENV = f"environment={world.ENVIRONMENT_ID}"
US, EU = (cluster.id for cluster in world.CLUSTERS)
KAFKA_US = f"{planes.kafka_prefix(US)}/kafka/v3/clusters/{US}"
KAFKA_EU = f"{planes.kafka_prefix(EU)}/kafka/v3/clusters/{EU}"
REGISTRY = planes.schema_registry_prefix()
CONNECT = f"/connect/v1/environments/{world.ENVIRONMENT_ID}/clusters"
_SQL = f"sql/v1/organizations/{world.ORGANIZATION_ID}/environments/{world.ENVIRONMENT_ID}"
FLINK_US = f"{planes.flink_prefix('aws.us-east-1')}/{_SQL}"
FLINK_EU = f"{planes.flink_prefix('aws.eu-west-1')}/{_SQL}"
TABLEFLOW = "/tableflow/v1"
TOPICS_US = f"{TABLEFLOW}/tableflow-topics?{ENV}&spec.kafka_cluster={US}"
TOPICS_EU = f"{TABLEFLOW}/tableflow-topics?{ENV}&spec.kafka_cluster={EU}"

#: Paginated lists, with their required filters.
PAGED = (
    "/org/v2/organizations",
    "/org/v2/environments",
    f"/cmk/v2/clusters?{ENV}",
    f"/fcpm/v2/compute-pools?{ENV}",
    "/fcpm/v2/regions",
    f"/srcm/v3/clusters?{ENV}",
    f"/ksqldbcm/v2/clusters?{ENV}",
    f"/pim/v1/integrations?{ENV}",
    TOPICS_US,
    TOPICS_EU,
    f"{TABLEFLOW}/catalog-integrations?{ENV}&spec.kafka_cluster={US}",
    f"{TABLEFLOW}/catalog-integrations?{ENV}&spec.kafka_cluster={EU}",
    f"{FLINK_US}/statements",
    f"{FLINK_EU}/statements",
    f"{FLINK_US}/materialized-tables",
)

#: All other readable paths.
UNPAGED = (
    f"{TABLEFLOW}/tableflow-topics/orders.v1?{ENV}&spec.kafka_cluster={EU}",
    f"{CONNECT}/{US}/connectors",
    f"{CONNECT}/{US}/connectors?expand=info,status,id",
    f"{CONNECT}/{EU}/connectors?expand=info,status,id",
    f"{CONNECT}/{US}/connectors/postgres-shop-cdc/offsets",
    f"{CONNECT}/{US}/connectors/orders-archive-s3/offsets",
    f"{KAFKA_US}/topics",
    f"{KAFKA_US}/topics/-/configs",
    f"{KAFKA_US}/consumer-groups",
    f"{KAFKA_US}/consumer-groups/orders-dashboard/lags",
    f"{KAFKA_US}/links",
    f"{KAFKA_US}/links/-/mirrors",
    f"{KAFKA_EU}/topics",
    f"{REGISTRY}/subjects/orders.v1-value/versions",
    f"{REGISTRY}/subjects/orders.v1-value/versions/latest",
    f"{REGISTRY}/schemas?latestOnly=true",
    f"{REGISTRY}/schemas?subjectPrefix=orders&offset=0&limit=2",
    f"{REGISTRY}/schemas/ids/100001",
    f"{REGISTRY}/config",
)

#: Paths without a required filter, and the missing filter.
INCOMPLETE = (
    ("/cmk/v2/clusters", "environment"),
    ("/fcpm/v2/compute-pools", "environment"),
    ("/srcm/v3/clusters", "environment"),
    ("/ksqldbcm/v2/clusters", "environment"),
    ("/pim/v1/integrations", "environment"),
    (f"{TABLEFLOW}/tableflow-topics", "environment"),
    (f"{TABLEFLOW}/tableflow-topics?{ENV}", "spec.kafka_cluster"),
    (f"{TABLEFLOW}/catalog-integrations?{ENV}", "spec.kafka_cluster"),
)
