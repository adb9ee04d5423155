"""From Tableflow to Glue on the embedded stack, by the sensors of a running Dagster."""

from __future__ import annotations

import logging
import os
import time

import pytest

from lineage_bridge_dagster.embedded.arrived import Arrived, ArrivedTable
from lineage_bridge_dagster.embedded.wiping import REPAIR_TAG, wait_for_repair, wipe
from lineage_bridge_dagster_tests.dagster_ui import DagsterUi, eventually
from lineage_bridge_dagster_tests.live import NEW_TABLES, LiveStack

pytestmark = [pytest.mark.stack, pytest.mark.xdist_group("stack"), pytest.mark.timeout(900)]

CLUSTER = "lkc-7k2m9p"
SENSOR = "lineage_sensor"


def test_the_sensor_pushes_the_lineage_of_every_table_of_the_sample_world(all_pushed: LiveStack) -> None:
    tables = all_pushed.tables()
    global_revenue = tables["analytics_eu.revenue.global"]
    sources = global_revenue.parameters["lineage_bridge.source_topics"].split(",")
    assert sources[0] == "Revenue.Global"
    assert "orders.v1" in sources
    assert global_revenue.description.endswith("Managed by LineageBridge")
    orders = tables[f"{CLUSTER}.shop.public.orders"]
    assert orders.parameters["lineage_bridge.source_connectors"]
    assert "postgres://" in orders.parameters["lineage_bridge.upstream_chain"]
    assert all("metadata_location" in table.parameters for table in tables.values())


def test_the_sensor_pushes_the_lineage_of_the_tables_of_the_s3_tables_bucket(
    all_pushed: LiveStack, live_ui: DagsterUi
) -> None:
    arrived = Arrived(all_pushed.stack)

    def pushed() -> dict[str, ArrivedTable] | None:
        tables = {name: table for name, table in arrived.tables().items() if name.startswith("s3tables.")}
        return tables if len(tables) == 2 and all(t.has_lineage for t in tables.values()) else None

    tables = eventually(pushed, 300, "the lineage of the S3 Tables bucket", 2)
    parameters = tables["s3tables.sales.open_orders"].parameters
    assert parameters["lineage_bridge.source_topics"].startswith("orders.open,orders.status")
    assert "lakehouse-iceberg" in parameters["lineage_bridge.source_connectors"]
    in_bucket = {f"glue/s3tables/sales/{name}" for name in ("checkout_clicks", "open_orders")}
    assert in_bucket | {f"glue/tableflow/{CLUSTER}/inventory-products"} <= live_ui.assets()


def test_topics_with_the_same_name_in_two_clusters_are_kept_separate(
    all_pushed: LiveStack, live_ui: DagsterUi
) -> None:
    tables = all_pushed.tables()
    us, eu = tables[f"{CLUSTER}.orders.v1"], tables["analytics_eu.orders.v1"]
    assert us.parameters["lineage_bridge.cluster_id"] != eu.parameters["lineage_bridge.cluster_id"]
    assert {f"kafka/{CLUSTER}/orders.v1", "kafka/lkc-4x8w1q/orders.v1"} <= live_ui.assets()


def test_a_pushed_table_shows_its_diff_and_its_chain(all_pushed: LiveStack, live_ui: DagsterUi) -> None:
    key = f"glue/{CLUSTER}/shop.public.orders"
    metadata = eventually(lambda: live_ui.metadata(key) or None, 120, f"a materialization of {key}")
    text = "\n".join(str(value) for value in metadata.values())
    assert "lineage_bridge.source_topics" in text
    assert "Upstream lineage:" in text


def test_enabling_tableflow_on_a_topic_leads_to_lineage_in_glue(
    new_tables: LiveStack, live_ui: DagsterUi
) -> None:
    database, name = NEW_TABLES["Sessions.Enriched"]
    asset, table = f"glue/{database}/{name}", f"{database}.{name}"
    eventually(lambda: asset in live_ui.assets() or None, 240, f"the asset {asset} in the running graph")
    eventually(lambda: table in new_tables.pushed() or None, 240, f"lineage of {table} in Glue")
    sensor_runs = [
        run
        for run in live_ui.runs(limit=500)
        if any(tag["key"] == "dagster/sensor_name" for tag in run["tags"])
        and any(key["path"] == asset.split("/") for key in run["assetSelection"] or ())
    ]
    assert sensor_runs


def test_lineage_that_is_wiped_is_found_and_repaired_by_the_sensor_alone(
    all_pushed: LiveStack, live_ui: DagsterUi
) -> None:
    home = all_pushed.stack.home
    ended = {"SUCCESS", "FAILURE", "CANCELED"}
    # A push that is under way would restore the lineage before a sweep looks.
    eventually(lambda: {run["status"] for run in live_ui.runs()} <= ended or None, 240, "the end of all runs")
    before = all_pushed.lineage()["analytics_eu.orders.v1"]
    for _ in range(3):
        wiped = wipe(os.environ, all_pushed.stack.tableflow_tables(), "analytics_eu.orders.v1")
        assert wiped.parameters >= len(before)
        repaired = wait_for_repair(os.environ, home / "dagster", wiped, 240)
        if repaired.found is not None:
            break
        # The scheduled push came between the two, as it may once an hour.
    logging.getLogger(__name__).warning(
        "wiped at %s, found at %s, repaired at %s", wiped.at, repaired.found, repaired.at
    )
    assert repaired.found is not None
    assert wiped.at <= repaired.found <= repaired.at
    after = all_pushed.lineage()["analytics_eu.orders.v1"]
    assert {**after, "lineage_bridge.last_synced": before["lineage_bridge.last_synced"]} == before
    assert all_pushed.tables()["analytics_eu.orders.v1"].description.endswith("Managed by LineageBridge")
    key = ["glue", "analytics_eu", "orders.v1"]
    repairs = [run for run in live_ui.runs() if {"key": REPAIR_TAG, "value": "true"} in run["tags"]]
    # The sensor asked for that table alone.
    assert [{"path": key}] in [run["assetSelection"] for run in repairs]


def test_a_push_from_the_launchpad_accepts_options_and_is_idempotent(
    all_pushed: LiveStack, live_ui: DagsterUi
) -> None:
    before = _last_synced(all_pushed)
    run = live_ui.finished(live_ui.launch("push", {"ops": {"push": {"config": {"dry_run": True}}}}))
    assert run["status"] == "SUCCESS", run
    run = live_ui.finished(live_ui.launch("push"))
    assert run["status"] == "SUCCESS", run
    assert _last_synced(all_pushed) == before


def test_an_api_that_returns_500_loses_nothing(all_pushed: LiveStack, live_ui: DagsterUi) -> None:
    assets, lineage = live_ui.assets(), all_pushed.lineage()
    for api in ("connect", "flink"):
        all_pushed.fail(api=api, status=500)
    try:
        run = live_ui.finished(live_ui.launch("refresh"))
        assert run["status"] == "SUCCESS", run
        # The sensor looks at what was stored, and at what was pushed.
        for _ in range(2):
            live_ui.await_tick(SENSOR, time.time())
        assert live_ui.assets() == assets
        assert all_pushed.lineage() == lineage
    finally:
        all_pushed.heal()


def _last_synced(stack: LiveStack) -> dict[str, str]:
    return {name: parameters["lineage_bridge.last_synced"] for name, parameters in stack.lineage().items()}
