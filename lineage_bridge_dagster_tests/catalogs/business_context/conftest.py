"""A strict Glue with its business context."""

from __future__ import annotations

import itertools

import pytest

from lineage_bridge_dagster.catalogs.calls import Pace
from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster_tests.aws.extended import ExtendedAws
from lineage_bridge_dagster_tests.catalogs.business_context.shop import Shop
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.conftest import aws, catalog, credentials
from lineage_bridge_dagster_tests.catalogs.glue.graphs import REGION
from lineage_bridge_dagster_tests.catalogs.glue.runs import no_sleep

__all__ = ["aws", "catalog", "credentials"]


@pytest.fixture
def client(aws: ExtendedAws) -> GlueClient:
    """A client whose clock moves on whenever it waits."""
    times = itertools.count(step=60)
    pace = Pace(lambda: float(next(times)), no_sleep)
    return glue_client(AwsSettings(region=REGION, endpoint_url=aws.endpoint_url), pace=pace)


@pytest.fixture
def shop(aws: ExtendedAws, catalog: Catalog, client: GlueClient) -> Shop:
    """A catalog with one table."""
    shop = Shop(aws, catalog, client)
    shop.add("orders.v1")
    return shop
