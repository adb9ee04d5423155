"""Flink: compute pools and regions (`fcpm/v2`), statements and materialized tables (`sql/v1`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote

from lineage_bridge_dagster.confluent.api.errors import UntrustedAddress
from lineage_bridge_dagster.confluent.api.http_errors import Access
from lineage_bridge_dagster.confluent.api.listing import list_records
from lineage_bridge_dagster.confluent.api.records import (
    ComputePool,
    FlinkRegion,
    FlinkStatement,
    MaterializedTable,
    Record,
)
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.api.trusted_hosts import on_vendor_domain

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True, order=True)
class RegionKey:
    """A cloud and a region; the cloud in lower case, as in Flink's hosts and in node ids."""

    cloud: str
    region: str

    @classmethod
    def of(cls, cloud: str, region: str) -> RegionKey:
        return cls(cloud.lower(), region)

    def __str__(self) -> str:
        return f"{self.cloud}.{self.region}"


def regions_of(pools: Iterable[ComputePool]) -> list[RegionKey]:
    """Every distinct cloud and region of the pools, sorted."""
    return sorted(
        {
            RegionKey.of(pool.spec.cloud, pool.spec.region)
            for pool in pools
            if pool.spec.cloud and pool.spec.region
        }
    )


class FlinkClient:
    """Asks Flink; each method raises `ConfluentError`."""

    def __init__(self, session: ConfluentSession) -> None:
        self._session = session

    def compute_pools(self, environment: str) -> list[ComputePool]:
        url = self._session.control_url("/fcpm/v2/compute-pools")
        access = Access("confluent_cloud", (environment,))
        return list_records(self._session, ComputePool, url, access, {"environment": environment})

    def regions(self) -> list[FlinkRegion]:
        """Every region that Flink is in, with its endpoint."""
        url = self._session.control_url("/fcpm/v2/regions")
        return list_records(self._session, FlinkRegion, url, Access("confluent_cloud"))

    def endpoint(self, key: RegionKey, regions: Iterable[FlinkRegion]) -> str:
        """Where a region's statements are: as the regions list says, else by the vendor's naming rule.

        Raises:
            UntrustedAddress: the list does not name it, and the configured API is not the vendor's own.
        """
        for region in regions:
            if RegionKey.of(region.cloud, region.region_name) == key:
                found = region.http_endpoint or region.private_http_endpoint
                if found:
                    return found
        if on_vendor_domain(self._session.base.host):
            return f"https://flink.{key.region}.{key.cloud}.confluent.cloud"
        raise UntrustedAddress(
            f"The regions list names no endpoint for Flink in {key}.",
            hint="See the compute_pools coverage: without that list the address is not known.",
        )

    def statements(
        self, endpoint: str, organization: str, environment: str, key: RegionKey
    ) -> list[FlinkStatement]:
        return self._list(FlinkStatement, "statements", endpoint, organization, environment, key)

    def materialized_tables(
        self, endpoint: str, organization: str, environment: str, key: RegionKey
    ) -> list[MaterializedTable]:
        return self._list(MaterializedTable, "materialized-tables", endpoint, organization, environment, key)

    def _list(
        self, record: type[R], what: str, endpoint: str, organization: str, environment: str, key: RegionKey
    ) -> list[R]:
        access = Access(
            "flink", (f"{key.cloud}_{key.region}", f"{environment}_{key.cloud}_{key.region}", environment)
        )
        self._session.credential(access)
        path = (
            f"/sql/v1/organizations/{quote(organization, safe='')}"
            f"/environments/{quote(environment, safe='')}/{what}"
        )
        url = self._session.data_url(endpoint, path, field=f"http_endpoint of Flink in {key}")
        return list_records(self._session, record, url, access)
