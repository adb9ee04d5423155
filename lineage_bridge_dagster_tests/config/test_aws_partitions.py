"""Glue's Iceberg endpoint is where botocore has Glue, in every partition."""

from __future__ import annotations

from urllib.parse import urlsplit

import boto3
import pytest
from botocore.session import Session

from lineage_bridge_dagster.config import glue_iceberg
from lineage_bridge_dagster.config.aws_partitions import partitions
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.iceberg import table
from lineage_bridge_dagster.settings import Settings

REGIONS = [
    "us-east-1",
    "eu-central-1",
    "us-gov-west-1",
    "us-gov-east-1",
    "cn-north-1",
    "cn-northwest-1",
    "eusc-de-east-1",
    "us-iso-east-1",
    "us-iso-west-1",
    "us-isob-east-1",
    "us-isof-south-1",
    "eu-isoe-west-1",
]


def botocores(region: str) -> str:
    client = boto3.client("glue", region, aws_access_key_id="a", aws_secret_access_key="b")
    return str(client.meta.endpoint_url)


@pytest.mark.parametrize("region", REGIONS)
def test_the_endpoint_of_each_partition_is_botocores(region: str) -> None:
    settings = Settings.from_env(
        {"AWS_REGION": region, "ICEBERG_WAREHOUSE": "111122223333:s3tablescatalog/b"}
    )
    catalog = settings.all_catalogs()["s3tables"]
    assert catalog.uri == f"{botocores(region)}/iceberg"
    assert (catalog.signing_name, catalog.signing_region) == ("glue", region)
    assert glue_iceberg.region_of(catalog.uri) == region


@pytest.mark.parametrize("region", REGIONS)
def test_an_endpoint_of_each_partition_is_recognized(region: str) -> None:
    domain = urlsplit(botocores(region)).hostname
    assert domain is not None
    named = glue_iceberg.signing("lake", f"https://{domain}/iceberg", "111122223333", None, None, None)
    assert named == glue_iceberg.Signing("glue", region)
    # A table that a connector writes there is a table of that account's Glue.
    config = {"iceberg.catalog.type": "rest", "iceberg.catalog.uri": f"https://{domain}/iceberg"}
    dataset = table(Config({**config, "iceberg.catalog.warehouse": "111122223333"}), "shop.orders")
    assert dataset == f"arn:aws:glue:{region}:111122223333/table/shop/orders"


def test_every_partition_of_botocore_is_known() -> None:
    assert {each.id for each in partitions()} == set(Session().get_available_partitions())


@pytest.mark.parametrize(
    "uri",
    [
        "https://glue.us-east-1.evil.example.com/iceberg",
        "https://glue.us-east-1.amazonaws.com.evil.example.com/iceberg",
        "https://glue.us-east-1.amazonaws.community/iceberg",
        "https://evil-glue.us-east-1.amazonaws.com.example/iceberg",
    ],
)
def test_a_host_that_only_looks_like_glues_is_not(uri: str) -> None:
    assert glue_iceberg.region_of(uri) is None
    assert glue_iceberg.signing("lake", uri, None, None, None, None) is None
