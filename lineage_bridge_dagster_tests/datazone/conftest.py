"""A domain that is served on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lineage_bridge_dagster.config import aws
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.datazone.domain import DataZoneDomain, datazone_client
from lineage_bridge_dagster_tests.datazone.service import DOMAIN, DataZoneService


@pytest.fixture
def service() -> DataZoneService:
    return DataZoneService()


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setattr(aws, "_ATTEMPTS", 1)


@pytest.fixture
def domain(
    service: DataZoneService,
    keys: None,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[DataZoneDomain]:
    with service.serve() as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL_DATAZONE", endpoint)
        yield DataZoneDomain(datazone_client(AwsSettings(region="eu-west-1"), 8), DOMAIN)
