"""Flink: compute pools and regions (`fcpm/v2`), statements and materialized tables (`sql/v1`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

from pydantic import AliasPath, Field

from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.errors import UntrustedAddress
from lineage_bridge_dagster.confluent.api.paging import list_records
from lineage_bridge_dagster.confluent.api.records import ApiRecord
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.api.trusted_hosts import on_vendor_domain

R = TypeVar("R", bound=ApiRecord)


class ComputePoolSpec(ApiRecord):
    display_name: str = ""
    cloud: str
    region: str


class ComputePool(ApiRecord):
    """`fcpm/v2`."""

    list_path = "/fcpm/v2/compute-pools"

    id: str
    spec: ComputePoolSpec


class FlinkRegion(ApiRecord):
    """`fcpm/v2` Region: a cloud and region that offers Flink, with its endpoint."""

    list_path = "/fcpm/v2/regions"

    cloud: str
    region_name: str
    http_endpoint: str = ""
    private_http_endpoint: str = ""


class FlinkSpec(ApiRecord):
    statement: str = Field(repr=False)
    properties: dict[str, str] = Field(default_factory=dict)
    compute_pool_id: str = ""
    principal: str = ""


class FlinkTraits(ApiRecord):
    sql_kind: str = ""


class AffectedResource(ApiRecord):
    kind: str = ""
    database_id: str = ""
    resource_name: str = ""


class FlinkStatus(ApiRecord):
    phase: str = ""
    detail: str = Field("", repr=False)
    traits: FlinkTraits = Field(default_factory=FlinkTraits)
    latest_offsets: dict[str, str] = Field(default_factory=dict)
    affected_resource: AffectedResource = Field(default_factory=AffectedResource)


class FlinkStatement(ApiRecord):
    """`sql/v1` Statement."""

    list_path = "statements"

    name: str
    spec: FlinkSpec
    status: FlinkStatus = Field(default_factory=FlinkStatus)
    created_at: str = Field("", validation_alias=AliasPath("metadata", "created_at"))


class MaterializedTableSpec(ApiRecord):
    kafka_cluster_id: str
    query: str = Field(repr=False)
    compute_pool_id: str = ""
    principal: str = ""
    session_options: dict[str, str] = Field(default_factory=dict)


class MaterializedTable(ApiRecord):
    """`sql/v1` MaterializedTable: a topic that Flink maintains from a query, without a statement."""

    list_path = "materialized-tables"

    name: str
    spec: MaterializedTableSpec
    phase: str = Field("", validation_alias=AliasPath("status", "phase"))
    created_at: str = Field("", validation_alias=AliasPath("metadata", "created_at"))


@dataclass(frozen=True, slots=True, order=True)
class RegionKey:
    """A cloud and a region; the cloud in lower case, as in Flink's host names and in node ids."""

    cloud: str
    region: str

    @classmethod
    def of(cls, cloud: str, region: str) -> RegionKey:
        return cls(cloud.lower(), region)

    def __str__(self) -> str:
        return f"{self.cloud}.{self.region}"


def regions_of(pools: Iterable[ComputePool]) -> list[RegionKey]:
    """The distinct clouds and regions of compute pools, sorted."""
    return sorted({RegionKey.of(pool.spec.cloud, pool.spec.region) for pool in pools})


def endpoint_of(session: ConfluentSession, key: RegionKey, regions: Iterable[FlinkRegion]) -> str:
    """Return a region's endpoint from the regions list, else by the vendor's naming rule.

    Raises:
        UntrustedAddress: the list lacks the region, and the configured API is not the vendor's.
    """
    for region in regions:
        if RegionKey.of(region.cloud, region.region_name) == key:
            endpoint = region.http_endpoint or region.private_http_endpoint
            if endpoint:
                return endpoint
    if on_vendor_domain(session.base.host):
        return f"https://flink.{key.region}.{key.cloud}.confluent.cloud"
    raise UntrustedAddress(
        f"The regions list names no endpoint for Flink in {key}.",
        hint="See the compute_pools coverage: without that list the address is unknown.",
    )


def list_flink(
    session: ConfluentSession,
    record: type[R],
    endpoint: str,
    organization: str,
    environment: str,
    key: RegionKey,
) -> list[R]:
    """Read a list of one environment and region; raises as `list_records`."""
    access = Access(
        "flink", (f"{key.cloud}_{key.region}", f"{environment}_{key.cloud}_{key.region}", environment)
    )
    access.credential(session.settings)
    place = f"organizations/{quote(organization, safe='')}/environments/{quote(environment, safe='')}"
    path = f"/sql/v1/{place}/{record.list_path}"
    url = session.data_url(endpoint, path, field=f"http_endpoint of Flink in {key}")
    return list_records(session, record, url, access)
