"""A Spark job outside Confluent: its event, sent by HTTP, lengthens the chain of a table in Glue."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from lineage_bridge_dagster.embedded.dagster_process import free_port
from lineage_bridge_dagster.specs.keys import key_parts
from lineage_bridge_dagster_tests.browser.pages import DagsterPages
from lineage_bridge_dagster_tests.dagster_ui import DagsterUi, eventually
from lineage_bridge_dagster_tests.live import LiveStack

pytestmark = [pytest.mark.stack, pytest.mark.xdist_group("stack"), pytest.mark.timeout(900)]

DATABASE, TABLE = "lkc-7k2m9p", "shop.public.orders"
JOB = "/".join(key_parts("external_job", "nightly/load_orders"))
RAW, CODES = ("s3://landing", "raw/orders"), ("s3://landing", "ref/countries")
SOURCES = ["/".join(each) for each in (RAW, CODES)]


@contextmanager
def listener(live: LiveStack) -> Iterator[str]:
    """`lineage-bridge openlineage listen` on the folder that the running Dagster reads."""
    port = free_port()
    command = [sys.executable, "-c", "from lineage_bridge_dagster.cli.main import main; main()"]
    options = ["--folder", str(live.events), "--port", str(port)]
    process = subprocess.Popen([*command, "openlineage", "listen", *options])
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        assert process.poll() is None
        try:
            return httpx.get(f"{url}/").status_code < 500
        except httpx.ConnectError:
            return False

    try:
        eventually(lambda: answers() or None, 60, "the receiver", 0.2)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def run_of_spark(target: str) -> dict[str, Any]:
    """The event that ends a run of Spark, which reads two datasets and writes a table of Postgres."""
    namespace, _, name = target.rpartition("/")
    sources = [
        {"namespace": each[0], "name": each[1], "field": field, "transformations": [how]}
        for each, field, how in (
            (RAW, "amount_cents", {"type": "DIRECT", "subtype": "TRANSFORMATION"}),
            (CODES, "code", {"type": "INDIRECT", "subtype": "JOIN"}),
        )
    ]
    facet = {"_producer": "https://github.com/OpenLineage/OpenLineage", "_schemaURL": "https://e.test"}
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-11-27T02:00:07.123456789Z",
        "producer": "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/spark",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": "01930b6e-2f5b-7a55-9f0e-6f5c9c0f6c11"},
        "job": {
            "namespace": "nightly",
            "name": "load_orders",
            "facets": {"jobType": {**facet, "processingType": "BATCH", "integration": "SPARK"}},
        },
        "inputs": [{"namespace": each[0], "name": each[1]} for each in (RAW, CODES)],
        "outputs": [
            {
                # Spark's own scheme and name of what the connector calls postgres://.
                "namespace": namespace.replace("postgres://", "postgresql://"),
                "name": name,
                "facets": {"columnLineage": {**facet, "fields": {"amount": {"inputFields": sources}}}},
            }
        ],
    }


def test_an_event_of_an_outside_job_lengthens_the_chain_in_glue_and_on_the_tables_page(
    all_pushed: LiveStack, live_ui: DagsterUi, dagster: DagsterPages, picture: Callable[[str], None]
) -> None:
    table = f"{DATABASE}.{TABLE}"
    before = hops(all_pushed, table)
    [source] = [hop["qualified_name"] for hop in before if hop["kind"] == "external_dataset"]
    with listener(all_pushed) as url:
        response = httpx.post(f"{url}/api/v1/lineage", json=run_of_spark(source))
        assert response.status_code == 201, response.text
    assert live_ui.finished(live_ui.launch("refresh"))["status"] == "SUCCESS"

    # Nobody asks for the push: the sensor finds that the stored discovery has another chain.
    def pushed() -> list[dict[str, Any]] | None:
        found = hops(all_pushed, table)
        return found if found != before else None

    after = eventually(pushed, 240, "the outside job in Glue", 1)
    assert after[: len(before)] == before
    last = before[-1]["hop"]
    assert [(hop["hop"], hop["kind"], hop["qualified_name"]) for hop in after[len(before) :]] == [
        (last + 1, "external_job", "nightly/load_orders"),
        *((last + 2, "external_dataset", each) for each in SOURCES),
    ]
    assert JOB in live_ui.assets()

    # The run records its materialization after it has changed Glue.
    key = f"glue/{DATABASE}/{TABLE}"
    shown = "external_job: nightly/load_orders"
    eventually(
        lambda: shown in live_ui.metadata(key)["lineage_bridge/description_tree"],
        120,
        "the outside job in the last materialization",
    )
    dagster.open_asset(key)
    dagster.hide_navigation()
    tree = dagster.read("lineage_bridge/description_tree", lambda: picture("outside_chain"))
    inputs = (tree.index(f"external_dataset: {each}") for each in SOURCES)
    job, output = tree.index(shown), tree.index(f"external_dataset: {source}")
    assert min(inputs) < job < output
    dagster.open_asset(JOB)
    for text in ("(Spark), reads", "Told by", "amount_cents"):
        expect(dagster.page.get_by_text(text).first).to_be_visible()
    picture("outside_job")


def hops(live: LiveStack, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(live.lineage()[table].get("lineage_bridge.upstream_chain", "[]"))
    return found
