"""PyIceberg's Glue catalog commits to the local Glue and detects conflicts."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyiceberg.catalog.glue import GlueCatalog
from pyiceberg.exceptions import CommitFailedException

from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY, StrictAws


def test_pyiceberg_appends_reads_and_fails_on_a_conflicting_commit() -> None:
    with StrictAws() as aws:
        aws.client("s3").create_bucket(Bucket="warehouse")
        catalog = GlueCatalog(
            "local",
            **{
                "glue.endpoint": aws.endpoint_url,
                "s3.endpoint": aws.endpoint_url,
                "client.region": "us-east-1",
                "client.access-key-id": ACCESS_KEY,
                "client.secret-access-key": SECRET_KEY,
                "warehouse": "s3://warehouse/",
            },
        )
        catalog.create_namespace("lkc-abc123")
        rows = pa.table({"id": [1, 2, 3]})
        table = catalog.create_table(("lkc-abc123", "orders.v1"), rows.schema)
        stale = catalog.load_table(("lkc-abc123", "orders.v1"))
        table.append(rows)
        assert catalog.load_table(("lkc-abc123", "orders.v1")).scan().to_arrow().num_rows == 3
        aws.fail("UpdateTable", "ConcurrentModificationException", times=None)
        with pytest.raises(CommitFailedException):
            stale.append(rows)
        aws.clear_faults()
        assert catalog.load_table(("lkc-abc123", "orders.v1")).scan().to_arrow().num_rows == 3
