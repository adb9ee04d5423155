"""Glue and a REST catalog, each behind a proxy of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from lineage_bridge_dagster.embedded.aws.server import StrictAws
from lineage_bridge_dagster.embedded.rest.server import IcebergRest
from lineage_bridge_dagster_tests.catalogs.writing.stores import GlueStore, RestStore, Store, variables

#: Bucket names are unique across all servers of a process.
BUCKET = "table-bucket-of-writers"


@pytest.fixture(scope="package")
def aws() -> Iterator[StrictAws]:
    with StrictAws() as aws:
        yield aws


@pytest.fixture(scope="package")
def rest(aws: StrictAws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergRest]:
    aws.client("s3").create_bucket(Bucket=BUCKET)
    data = tmp_path_factory.mktemp("rest")
    with IcebergRest(data, aws_url=aws.endpoint_url, account=aws.account_id, bucket=BUCKET) as rest:
        yield rest


@pytest.fixture(params=["glue", "rest"])
def store(request: pytest.FixtureRequest, aws: StrictAws, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    for name, value in variables(aws).items():
        monkeypatch.setenv(name, value)
    made: Callable[[], Store] = {
        "glue": lambda: GlueStore(aws),
        "rest": lambda: RestStore(aws, request.getfixturevalue("rest")),
    }[request.param]
    store = made()
    with store.proxy:
        yield store
