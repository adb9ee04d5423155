"""Control plane: organizations, environments, clusters, compute pools, Schema Registries and accounts."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent import planes
from lineage_bridge_dagster.embedded.confluent.answers import (
    EmulatorContext,
    Json,
    base_url,
    cluster_crn,
    crn,
    environment_crn,
    environment_reference,
    page,
    require_environment,
    resource,
)
from lineage_bridge_dagster.embedded.confluent.state import stable_uuid


class ControlPlane:
    """The read-only parts of `api.confluent.cloud`."""

    def __init__(self, context: EmulatorContext) -> None:
        self.context = context

    @property
    def routes(self) -> list[Route]:
        return [
            Route("/org/v2/organizations", self.organizations),
            Route("/org/v2/environments", self.environments),
            Route("/cmk/v2/clusters", self.clusters),
            Route("/fcpm/v2/compute-pools", self.compute_pools),
            Route("/fcpm/v2/regions", self.regions),
            Route("/srcm/v3/clusters", self.registries),
            Route("/pim/v1/integrations", self.provider_integrations),
        ]

    def organizations(self, request: Request) -> Response:
        items = [_organization(base_url(request))]
        return page(request, self.context, items, api_version="org/v2", kind="OrganizationList")

    def environments(self, request: Request) -> Response:
        items = [_environment(base_url(request))]
        return page(request, self.context, items, api_version="org/v2", kind="EnvironmentList")

    def clusters(self, request: Request) -> Response:
        require_environment(request)
        items = [self._cluster(base_url(request), cluster) for cluster in world.CLUSTERS]
        return page(request, self.context, items, api_version="cmk/v2", kind="ClusterList")

    def _cluster(self, base: str, cluster: world.Cluster) -> Json:
        dedicated = cluster == world.ORDERS_PLATFORM
        spec = {
            "display_name": cluster.name,
            "availability": "SINGLE_ZONE",
            "cloud": cluster.cloud,
            "region": cluster.region,
            # Only dedicated clusters report consumer lag, so the sample has one cluster of each kind.
            "config": {"kind": "Dedicated", "cku": 1, "zones": ["use1-az1"]}
            if dedicated
            else {"kind": "Standard"},
            "kafka_bootstrap_endpoint": self.context.bootstrap[cluster.id],
            "http_endpoint": base + planes.kafka_prefix(cluster.id),
            "environment": environment_reference(base),
        }
        status = {"phase": "PROVISIONED", **({"cku": 1} if dedicated else {})}
        name = cluster_crn(cluster.id)
        return resource(base, "cmk/v2/clusters", "Cluster", cluster.id, name, spec=spec, status=status)

    def compute_pools(self, request: Request) -> Response:
        require_environment(request)
        items = [_compute_pool(base_url(request), pool) for pool in world.POOLS]
        return page(request, self.context, items, api_version="fcpm/v2", kind="ComputePoolList")

    def regions(self, request: Request) -> Response:
        items = [_region(base_url(request), pool) for pool in world.POOLS]
        return page(request, self.context, items, api_version="fcpm/v2", kind="RegionList")

    def registries(self, request: Request) -> Response:
        require_environment(request)
        items = [_registry(base_url(request))]
        return page(request, self.context, items, api_version="srcm/v3", kind="ClusterList")

    def provider_integrations(self, request: Request) -> Response:
        require_environment(request)
        items = [_provider_integration(base_url(request), cluster) for cluster in world.CLUSTERS]
        return page(request, self.context, items, api_version="pim/v1", kind="IntegrationList")


def _organization(base: str) -> Json:
    own = {"display_name": world.ORGANIZATION_NAME, "jit_enabled": False}
    return resource(base, "org/v2/organizations", "Organization", world.ORGANIZATION_ID, crn(), **own)


def _environment(base: str) -> Json:
    return resource(
        base,
        "org/v2/environments",
        "Environment",
        world.ENVIRONMENT_ID,
        environment_crn(),
        display_name=world.ENVIRONMENT_NAME,
        stream_governance_config={"package": "ESSENTIALS"},
    )


def _compute_pool(base: str, pool: world.SampleComputePool) -> Json:
    spec = {
        "display_name": pool.name,
        "cloud": pool.cloud,
        "region": pool.region,
        "max_cfu": 10,
        "default_pool": False,
        "environment": environment_reference(base),
    }
    status = {"phase": "PROVISIONED", "current_cfu": 4}
    name = environment_crn(f"flink-region={pool.region_id}", f"compute-pool={pool.id}")
    return resource(base, "fcpm/v2/compute-pools", "ComputePool", pool.id, name, spec=spec, status=status)


def _region(base: str, pool: world.SampleComputePool) -> Json:
    return resource(
        base,
        "fcpm/v2/regions",
        "Region",
        pool.region_id,
        crn(f"flink-region={pool.region_id}"),
        display_name=f"{pool.region} ({pool.cloud})",
        cloud=pool.cloud,
        region_name=pool.region,
        http_endpoint=base + planes.flink_prefix(pool.region_id),
    )


def _registry(base: str) -> Json:
    endpoint = base + planes.schema_registry_prefix()
    spec = {
        "display_name": "Stream Governance Package",
        "package": "ESSENTIALS",
        "http_endpoint": endpoint,
        "catalog_http_endpoint": endpoint,
        "cloud": "AWS",
        "region": world.ORDERS_PLATFORM.region,
        "environment": environment_reference(base),
    }
    own, name = world.SCHEMA_REGISTRY_ID, environment_crn(f"schema-registry={world.SCHEMA_REGISTRY_ID}")
    status = {"phase": "PROVISIONED"}
    return resource(base, "srcm/v3/clusters", "Cluster", own, name, spec=spec, status=status)


def _provider_integration(base: str, cluster: world.Cluster) -> Json:
    return {
        "api_version": "pim/v1",
        "kind": "Integration",
        "id": cluster.provider_integration_id,
        "display_name": f"{cluster.name}-aws",
        "provider": "AWS",
        "config": {
            "kind": "AwsIntegrationConfig",
            "iam_role_arn": f"arn:aws:iam::000000000000:role/confluent-{cluster.id}",
            "external_id": stable_uuid("external-id", cluster.id),
            "customer_iam_role_arn": f"arn:aws:iam::{world.AWS_ACCOUNT}:role/tableflow-{cluster.name}",
        },
        "usages": [cluster_crn(cluster.id, f"catalog-integration={cluster.integration_id}")],
        "environment": environment_reference(base),
    }
