"""A strict Glue for each test, and the product's client for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster_tests.aws.extended import ExtendedAws
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import REGION


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")


@pytest.fixture
def aws(credentials: None) -> Iterator[ExtendedAws]:
    with ExtendedAws() as server:
        yield server


@pytest.fixture
def client(aws: ExtendedAws) -> GlueClient:
    return glue_client(AwsSettings(region=REGION, endpoint_url=aws.endpoint_url))


@pytest.fixture
def catalog(aws: ExtendedAws) -> Catalog:
    """What others do to the catalog."""
    return Catalog(aws)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that try again at once."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.0)
