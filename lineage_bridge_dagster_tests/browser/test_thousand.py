"""The UI with a thousand assets: the graph opens collapsed, and one asset can be selected or searched."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import DagsterInstance
from playwright.sync_api import Page, expect

from lineage_bridge_dagster.automation.state import StateStore
from lineage_bridge_dagster.embedded import processes
from lineage_bridge_dagster.embedded.dagster_process import free_port, is_listening
from lineage_bridge_dagster.embedded.paths import StackPaths
from lineage_bridge_dagster.lineage.model import EdgeType
from lineage_bridge_dagster_tests.assets.world import REGION, World
from lineage_bridge_dagster_tests.browser.pages import DagsterPages
from lineage_bridge_dagster_tests.dagster_ui import eventually

PROJECT = Path(__file__).resolve().parents[2]
CLUSTERS, TABLES = 10, 33


def _thousand() -> World:
    """Build 10 clusters with a connector, 33 topics, and each topic's table and chain: 1,000 assets."""
    w = World()
    for cluster in (f"lkc-{number:06d}" for number in range(CLUSTERS)):
        connector = w.connector(cluster, "generator", "DatagenSource")
        for topic in (f"topic.{number:04d}" for number in range(TABLES)):
            w.edge(connector, w.topic(cluster, topic), EdgeType.PRODUCES)
            w.glue(cluster, topic)
    return w


@pytest.fixture(scope="module")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a webserver on a stored discovery, without a daemon or external services."""
    paths = StackPaths(tmp_path_factory.mktemp("thousand") / "home")
    paths.prepare()
    home = paths.home / "dagster"
    home.mkdir()
    shutil.copy(PROJECT / "dagster.yaml", home)
    with DagsterInstance.from_config(str(home)) as instance:
        StateStore.of(instance, "LineageBridgeComponent").store(_thousand().discovery())
    port = free_port()
    serve = ["-w", str(PROJECT / "workspace.yaml"), "-h", "127.0.0.1", "-p", str(port)]
    env = {"DAGSTER_HOME": str(home), "LINEAGE_BRIDGE_AWS_REGION": REGION, "PYTHONWARNINGS": "ignore"}
    try:
        processes.start(paths, "webserver", processes.python("dagster_webserver", *serve), env)
        eventually(lambda: is_listening(port) or None, 120, "the webserver")
        yield f"http://127.0.0.1:{port}"
    finally:
        processes.stop(paths)


def test_a_thousand_assets_open_collapsed_and_one_can_be_selected_or_searched(
    page: Page, thousand: str
) -> None:
    dagster = DagsterPages(page, thousand)
    dagster.open_graph()
    expect(dagster.button("Materialize all (990)")).to_be_visible()
    # Only groups are shown, few enough to read.
    expect(dagster.node("topic.0007")).to_have_count(0)
    assert dagster.node().count() <= 4 * CLUSTERS

    dagster.select('+key:"glue/lkc-000004/topic.0007"+')
    expect(dagster.button("Materialize all (3)")).to_be_visible()
    dagster.expand_all_groups()
    expect(dagster.node("generator")).to_have_count(1)
    # The topic, its table and the table's chain, of one cluster only.
    expect(dagster.node("topic.0007")).to_have_count(3)
    expect(dagster.node("topic.0008")).to_have_count(0)

    dagster.open_graph()
    page.get_by_placeholder("Jump to").fill("topic.0007")
    page.get_by_text("topic.0007 kafka/lkc-000004").click()
    expect(page.get_by_text("kafka / lkc-000004 / topic.0007")).to_be_visible()
    expect(dagster.node("topic.0007")).to_be_visible()
