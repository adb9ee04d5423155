"""Glue's Iceberg endpoint with a table bucket, and a table in it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from pyiceberg.catalog.rest import RestCatalog

from lineage_bridge_dagster.embedded.aws.server import StrictAws
from lineage_bridge_dagster.embedded.rest.server import IcebergRest
from lineage_bridge_dagster_tests.catalogs.rest.tables import BUCKET, Bucket


@pytest.fixture(scope="package")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    with StrictAws() as aws:
        aws.client("s3").create_bucket(Bucket=BUCKET)
        data = tmp_path_factory.mktemp("rest")
        with IcebergRest(data, aws_url=aws.endpoint_url, account=aws.account_id, bucket=BUCKET) as rest:
            yield Bucket(aws, rest)


@pytest.fixture
def catalog(bucket: Bucket) -> RestCatalog:
    return bucket.open()


@pytest.fixture
def name(bucket: Bucket) -> tuple[str, str]:
    """A new table with one row and a property of others."""
    namespace = f"ns_{uuid.uuid4().hex[:8]}"
    return bucket.create((namespace, "orders"))
