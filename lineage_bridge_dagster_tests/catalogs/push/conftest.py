"""Strict Glue, S3 and the REST catalogs for the tests of pushes beside other writers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.embedded.rest.server import IcebergRest
from lineage_bridge_dagster_tests.catalogs.push.tables import Servers

BUCKET = "pushed-beside-writers"


@pytest.fixture(scope="package")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with StrictAws() as aws:
        aws.client("s3").create_bucket(Bucket=BUCKET)
        data = tmp_path_factory.mktemp("rest")
        with IcebergRest(data, aws_url=aws.endpoint_url, account=aws.account_id, bucket=BUCKET) as rest:
            yield Servers(aws, rest, BUCKET)


@pytest.fixture(autouse=True)
def _credentials(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in servers.environment.items():
        if name.startswith("AWS_"):
            monkeypatch.setenv(name, value)
