"""Wiping a table's lineage in the embedded Glue, as `lineage-bridge local wipe` does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.embedded.wiping import wipe
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster_tests.catalogs.glue.catalog import Catalog
from lineage_bridge_dagster_tests.catalogs.glue.graphs import CLUSTER, REGION

TABLES = [(CLUSTER, "orders.v1"), ("analytics_eu", "orders.v1"), (CLUSTER, "clickstream")]
BLOCK = "Asked for by team-orders.\n\nUpstream lineage:\n- topic: orders.v1\nManaged by LineageBridge"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[StrictAws]:
    with StrictAws() as server:
        # This shell points elsewhere.
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        yield server


@pytest.fixture
def catalog(aws: StrictAws) -> Catalog:
    catalog = Catalog(aws)
    ours = {"lineage_bridge.digest": "d", "lineage_bridge.owner": "o", "classification": "parquet"}
    for database, name in TABLES:
        catalog.create(name, database, parameters=ours, Description=BLOCK)
    return catalog


def environment(aws: StrictAws) -> dict[str, str]:
    keys = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "test")
    return {"AWS_REGION": REGION, "AWS_ENDPOINT_URL": aws.endpoint_url, **keys}


def test_what_is_left_is_what_an_iceberg_table_needs_and_the_users_own_text(
    aws: StrictAws, catalog: Catalog
) -> None:
    before = catalog.table("clickstream")
    wiped = wipe(environment(aws), TABLES, "Clickstream")
    assert (wiped.table, wiped.parameters) == (f"{CLUSTER}.clickstream", 3)
    after = catalog.table("clickstream")
    assert after["Parameters"].keys() == {"table_type", "metadata_location", "previous_metadata_location"}
    assert after["Description"] == "Asked for by team-orders."
    assert after["StorageDescriptor"] == before["StorageDescriptor"]
    assert "lineage_bridge.digest" in catalog.parameters("orders.v1")


def test_a_commit_in_between_is_kept(aws: StrictAws, catalog: Catalog) -> None:
    aws.fail("UpdateTable", "ConcurrentModificationException", times=2)
    wipe(environment(aws), TABLES, f"{CLUSTER}.clickstream")
    assert "lineage_bridge.digest" not in catalog.parameters("clickstream")


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("orders.v1", "Several tables", f"{CLUSTER}.orders.v1, analytics_eu.orders.v1"),
        ("analytics_eu.order.v1", "no table analytics_eu.order.v1", "Did you mean analytics_eu.orders.v1?"),
    ],
)
def test_a_table_that_is_not_clear_is_an_error_that_names_the_others(
    aws: StrictAws, name: str, message: str, hint: str
) -> None:
    with pytest.raises(ConfigurationError, match=message) as raised:
        wipe(environment(aws), TABLES, name)
    assert hint in str(raised.value.hint)


def test_a_table_that_spark_has_yet_to_write_is_an_error(aws: StrictAws) -> None:
    with pytest.raises(ConfigurationError, match="not in Glue yet"):
        wipe(environment(aws), TABLES, "clickstream")
