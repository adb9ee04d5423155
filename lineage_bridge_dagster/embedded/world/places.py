"""The organization, its environment, clusters and compute pools, and their API keys."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from lineage_bridge_dagster.embedded.world.model import Cluster, SampleComputePool

ORGANIZATION_ID = "5b2c9a1e-7d43-4f0a-9e86-3c1d8f27b604"
ORGANIZATION_NAME = "Sample Retail"
ENVIRONMENT_ID = "env-7m3kq2"
ENVIRONMENT_NAME = "retail"
SCHEMA_REGISTRY_ID = "lsrc-9d4g2w"
#: Creation time of all sample resources.
CREATED_AT = "2026-01-05T08:00:00Z"
#: The account of the buckets and of the Glue catalog that both clusters publish to.
AWS_ACCOUNT = "123456789012"
GLUE_REGION = "us-east-1"
#: The S3 Tables bucket, whose tables are a catalog of their own below Glue's.
TABLE_BUCKET = "retail-lakehouse"
TABLE_BUCKET_CATALOG = f"{AWS_ACCOUNT}:s3tablescatalog/{TABLE_BUCKET}"
#: Glue's Iceberg REST endpoint; the stack serves it on a port of its own.
GLUE_ICEBERG_URL = f"https://glue.{GLUE_REGION}.amazonaws.com/iceberg"

ORDERS_PLATFORM = Cluster(
    id="lkc-7k2m9p",
    name="orders-platform",
    cloud="AWS",
    region="us-east-1",
    bucket="orders-platform-tableflow",
    integration_id="tci-4h8n2v",
    provider_integration_id="cspi-6b1q9",
)
ANALYTICS_EU = Cluster(
    id="lkc-4x8w1q",
    name="analytics-eu",
    cloud="AWS",
    region="eu-west-1",
    bucket="analytics-eu-tableflow",
    integration_id="tci-7t3c5z",
    provider_integration_id="cspi-2k7x4",
    glue_database="analytics_eu",
)
CLUSTERS = (ORDERS_PLATFORM, ANALYTICS_EU)
KSQLDB_CLUSTER_ID = "lksqlc-5j9x2q"

POOL_US = SampleComputePool("lfcp-8m2x5k", "us-etl", "AWS", "us-east-1")
POOL_EU = SampleComputePool("lfcp-3q7r1z", "eu-etl", "AWS", "eu-west-1")
POOLS = (POOL_US, POOL_EU)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """API key of a plane, optionally restricted to a `place`: a cluster, a registry or `{cloud}.{region}`.

    The keys are valid for the local emulator only, so they need no protection.
    """

    plane: Literal["confluent_cloud", "kafka", "schema_registry", "flink", "ksqldb", "tableflow"]
    key: str
    secret: str
    place: str = ""

    @property
    def variables(self) -> dict[str, str]:
        """The `LINEAGE_BRIDGE_*` variables that configure this key."""
        suffix = "_" + re.sub(r"[^A-Z0-9]+", "_", self.place.upper()) if self.place else ""
        name = f"LINEAGE_BRIDGE_{self.plane.upper()}_API_"
        return {f"{name}KEY{suffix}": self.key, f"{name}SECRET{suffix}": self.secret}


API_KEYS = (
    ApiKey("confluent_cloud", "LOCALCLOUD000001", "local-only-cloud-secret"),
    ApiKey("tableflow", "LOCALTABLEFLOW01", "local-only-tableflow-secret"),
    ApiKey("schema_registry", "LOCALREGISTRY001", "local-only-registry-secret"),
    *(
        ApiKey("kafka", f"LOCALKAFKA00000{n}", f"local-only-kafka-secret-{n}", c.id)
        for n, c in enumerate(CLUSTERS, 1)
    ),
    *(
        ApiKey("flink", f"LOCALFLINK00000{n}", f"local-only-flink-secret-{n}", p.region_id)
        for n, p in enumerate(POOLS, 1)
    ),
    ApiKey("ksqldb", "LOCALKSQLDB00001", "local-only-ksqldb-secret", KSQLDB_CLUSTER_ID),
)


def credentials_env(confluent_url: str | None = None) -> dict[str, str]:
    """Return the environment variables that configure all API keys, and the emulator's URL if given."""
    env = {name: value for key in API_KEYS for name, value in key.variables.items()}
    if confluent_url:
        env["LINEAGE_BRIDGE_CONFLUENT_API_URL"] = confluent_url
    return env


def api_key(plane: str, place: str = "") -> ApiKey:
    """Return the API key of a plane, and of a place if the plane has a key for each.

    Raises:
        KeyError: there is no such key.
    """
    for key in API_KEYS:
        if key.plane == plane and key.place in ("", place):
            return key
    raise KeyError((plane, place))


def cluster(cluster_id: str) -> Cluster:
    """Return the cluster with this id or name.

    Raises:
        KeyError: there is no such cluster.
    """
    for candidate in CLUSTERS:
        if cluster_id in (candidate.id, candidate.name):
            return candidate
    raise KeyError(cluster_id)
