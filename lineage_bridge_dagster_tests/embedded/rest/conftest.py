"""One server of REST catalogs for all tests here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage_bridge_dagster.embedded.aws.server import StrictAws
from lineage_bridge_dagster.embedded.rest.server import IcebergRest


@pytest.fixture(scope="package")
def aws() -> Iterator[StrictAws]:
    with StrictAws() as aws:
        aws.client("s3").create_bucket(Bucket="table-bucket")
        yield aws


@pytest.fixture(scope="package")
def rest(aws: StrictAws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergRest]:
    data: Path = tmp_path_factory.mktemp("rest")
    with IcebergRest(data, aws_url=aws.endpoint_url, account=aws.account_id, bucket="table-bucket") as server:
        yield server
