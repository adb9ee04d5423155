"""Lateness on the embedded stack: real brokers and snapshots, and a materializer that is suspended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from dagster import AssetCheckEvaluation, AssetCheckSeverity, DagsterInstance

from lineage_bridge_dagster.assets.settings import FreshnessConfig
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.discovery.discover import discover
from lineage_bridge_dagster.embedded import processes
from lineage_bridge_dagster.embedded.world import actions
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.glue_status import is_in_glue
from lineage_bridge_dagster.lineage.nodes import GlueTableNode
from lineage_bridge_dagster_tests.assets.location import freshness_checks
from lineage_bridge_dagster_tests.dagster_ui import eventually
from lineage_bridge_dagster_tests.live import LiveStack

pytestmark = [pytest.mark.stack, pytest.mark.xdist_group("stack"), pytest.mark.timeout(600)]

CLUSTER, TOPIC = "lkc-7k2m9p", "shop.public.orders"
TABLE = f"glue/{CLUSTER}/{TOPIC}"


@contextmanager
def stopped(live: LiveStack) -> Iterator[None]:
    """Suspend the materializer, which stands for Tableflow."""
    process = processes.find(live.stack.paths)["materializer"].process
    process.suspend()
    try:
        yield
    finally:
        process.resume()


def check(state: Path, **limits: float | None) -> dict[str, AssetCheckEvaluation]:
    """Run the job that looks for late tables."""
    component = LineageBridgeComponent(freshness=FreshnessConfig(**limits))
    definitions = component.build_defs_from_state(None, state)  # type: ignore[arg-type]
    with DagsterInstance.ephemeral() as instance:
        result = freshness_checks(definitions).execute_in_process(instance=instance)
    return {each.asset_key.to_user_string(): each for each in result.get_asset_check_evaluations()}


def test_a_table_is_late_while_tableflow_is_suspended_and_fresh_once_it_caught_up(
    all_pushed: LiveStack, tmp_path: Path
) -> None:
    state = tmp_path / "state.json"

    def fresh() -> AssetCheckEvaluation | None:
        discovered = discover(all_pushed.settings)
        # Its asset is there before Glue has the table, and nothing is late in a table that does not exist.
        if not any(
            node.attributes.get("table_name") == TOPIC and is_in_glue(node)
            for node in discovered.graph.of_kind(GlueTableNode)
        ):
            return None
        graph_json.dump(discovered, state)
        found = check(state, warn_minutes=None, fail_minutes=0.001).get(TABLE)
        return found if found is not None and found.passed else None

    before = eventually(fresh, 240, f"{TABLE} to hold all of its topic", 2)
    rows = before.metadata["dagster/row_count"].value
    assert isinstance(rows, int)
    assert rows > 0
    assert before.metadata["lineage_bridge/lag_seconds"].value == 0

    with stopped(all_pushed):
        actions.produce(all_pushed.stack.home, TOPIC, 5, CLUSTER)

        def late() -> dict[str, AssetCheckEvaluation] | None:
            found = check(state, warn_minutes=None, fail_minutes=0.001)
            return None if found[TABLE].passed else found

        found = eventually(late, 60, f"{TABLE} to be late", 1)
        table = found[TABLE]
        assert table.severity is AssetCheckSeverity.ERROR
        assert f"A record of topic {TOPIC} has waited for the table" in str(table.description)
        assert "tableflow_healthy" in str(table.description)
        assert table.metadata["lineage_bridge/snapshot_id"] == before.metadata["lineage_bridge/snapshot_id"]
        assert table.metadata["dagster/row_count"].value == rows
        # Under the limits that production has, a record may wait for a while.
        assert check(state)[TABLE].passed
        # Topics that nobody writes to leave their tables fresh.
        assert [key for key, each in found.items() if each.passed]

    after = eventually(fresh, 120, f"{TABLE} to catch up", 2)
    assert after.metadata["dagster/row_count"].value == rows + 5
    assert after.metadata["lineage_bridge/snapshot_id"] != before.metadata["lineage_bridge/snapshot_id"]
