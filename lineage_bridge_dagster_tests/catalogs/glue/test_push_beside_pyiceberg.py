"""Pushes to tables that an Iceberg writer commits to: PyIceberg's GlueCatalog, with its files on S3."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.lineage.documents import KEY_UPSTREAM_CHAIN, PREFIX
from lineage_bridge_dagster.lineage.model import Graph
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog, GlueClient
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, REGION
from lineage_bridge_dagster_tests.catalogs.glue.runs import graph_of, ours, push

NAME = (CLUSTER, "orders.v1")
#: Bucket names are unique across all servers of a process, as they are on AWS.
BUCKET = "pushed-beside-pyiceberg"


@pytest.fixture
def iceberg(aws: StrictAws) -> Any:
    from pyiceberg.catalog.glue import GlueCatalog

    from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY

    aws.client("s3", REGION).create_bucket(Bucket=BUCKET)
    return GlueCatalog(
        "glue",
        client=aws.client("glue", REGION),
        **{
            "warehouse": f"s3://{BUCKET}",
            "s3.endpoint": aws.endpoint_url,
            "s3.access-key-id": ACCESS_KEY,
            "s3.secret-access-key": SECRET_KEY,
            "s3.region": REGION,
        },
    )


def rows(*values: int) -> Any:
    import pyarrow as pa

    return pa.table({"id": pa.array(values, pa.int64())})


@pytest.fixture
def table(iceberg: Any) -> Any:
    iceberg.create_namespace(CLUSTER)
    created = iceberg.create_table(NAME, schema=rows().schema, location=f"s3://{BUCKET}/{CLUSTER}/orders")
    created.append(rows(1))
    return created


@pytest.fixture
def graph() -> Graph:
    return graph_of("orders.v1")


def test_commit_after_a_push_keeps_our_parameters_out_of_icebergs_properties(
    client: GlueClient, catalog: Catalog, iceberg: Any, table: Any, graph: Graph
) -> None:
    push(client, graph)
    pushed = ours(catalog.parameters("orders.v1"))
    assert KEY_UPSTREAM_CHAIN in pushed
    loaded = iceberg.load_table(NAME)
    assert loaded.scan().to_arrow().num_rows == 1
    loaded.append(rows(2, 3))
    assert ours(catalog.parameters("orders.v1")) == pushed
    reloaded = iceberg.load_table(NAME)
    assert not [key for key in reloaded.properties if key.startswith(PREFIX)]
    assert reloaded.scan().to_arrow().num_rows == 3


def test_description_that_a_commit_dropped_is_pushed_again(
    client: GlueClient, catalog: Catalog, iceberg: Any, table: Any, graph: Graph
) -> None:
    push(client, graph)
    iceberg.load_table(NAME).append(rows(2))
    assert "Description" not in catalog.table("orders.v1")
    report = push(client, graph)
    assert report.counts["updated"] == 1
    assert "Managed by LineageBridge" in catalog.table("orders.v1")["Description"]
    assert iceberg.load_table(NAME).scan().to_arrow().num_rows == 2
