from __future__ import annotations

from collections.abc import Callable

import pytest

from lineage_bridge_dagster.confluent.api.errors import UntrustedAddress
from lineage_bridge_dagster.confluent.api.flink import (
    ComputePool,
    FlinkRegion,
    RegionKey,
    endpoint_of,
    regions_of,
)
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster_tests.confluent.fake import keys, pool

US = RegionKey("aws", "us-east-1")


def test_regions_of_pools_are_distinct() -> None:
    pools = [pool("a", "us-east-1"), pool("b", "us-east-1", "aws"), pool("c", "us-east-1", "GCP")]
    found = regions_of(ComputePool.model_validate(one) for one in pools)
    assert found == [RegionKey("aws", "us-east-1"), RegionKey("gcp", "us-east-1")]


def test_endpoint_comes_from_the_regions_list(session: ConfluentSession) -> None:
    public = FlinkRegion(cloud="AWS", region_name="us-east-1", http_endpoint="https://f.confluent.cloud")
    private = public.model_copy(update={"http_endpoint": "", "private_http_endpoint": "https://p.example"})
    assert endpoint_of(session, US, [public]) == "https://f.confluent.cloud"
    assert endpoint_of(session, US, [private]) == "https://p.example"
    assert endpoint_of(session, US, []) == "https://flink.us-east-1.aws.confluent.cloud"


def test_endpoint_is_not_derived_for_another_host(session_with: Callable[..., ConfluentSession]) -> None:
    made = session_with(api_url="http://127.0.0.1:1", credentials=keys())
    with pytest.raises(UntrustedAddress):
        endpoint_of(made, US, [])
