"""Ticks of the sensor where Glue lacks tables."""

from __future__ import annotations

from dagster import AssetCheckSeverity

from lineage_bridge_dagster.automation.watched_lists import GLUE, ListScope, difference
from lineage_bridge_dagster_tests.assets.world import EAST, World, many
from lineage_bridge_dagster_tests.automation.ticks import Harness

TABLES = ListScope(GLUE, "", EAST)


def without(w: World, *tables: int, status: str = "missing", kind: str = "sync_failed") -> World:
    """The world without these tables in Glue."""
    for number in tables:
        (node,) = [n for n in w.graph.of_type("catalog_table") if n.display_name == f"topic.{number:05d}"]
        w.graph.add_node(
            node.with_attributes(
                glue_status=status,
                glue_absence=kind,
                glue_reason="its sync to Glue failed: no rights",
                glue_next_step="Grant them.",
            )
        )
    return w


def test_nothing_is_pushed_to_a_table_that_glue_lacks_and_the_message_counts_it() -> None:
    harness = Harness(without(many(3), 1))
    harness.lists.entries[TABLES].discard("topic.00001")
    harness.push_everything()
    result = harness.tick()
    assert not result.pushes
    assert result.refresh is None
    assert "Glue tables: 2 found, 1 missing (1 sync failed), 0 unknown." in result.skip_reason


def test_its_check_is_recorded_when_its_outcome_changes_only() -> None:
    harness = Harness(without(many(2), 1))
    harness.lists.entries[TABLES].discard("topic.00001")
    harness.push_everything()
    (recorded,) = harness.tick().checks
    assert recorded.asset_key is not None
    assert recorded.asset_key.path[-1] == "topic.00001"
    assert (recorded.passed, recorded.severity) == (False, AssetCheckSeverity.ERROR)
    said = "Tableflow is enabled, but Glue has no such table in us-east-1, because its sync"
    assert said in (recorded.description or "")
    assert not harness.tick().checks
    harness.load(without(many(2), 0, 1), "v2")
    assert len(harness.tick().checks) == 2


def test_table_that_comes_is_discovered_and_then_pushed() -> None:
    harness = Harness(without(many(2), 1))
    harness.lists.entries[TABLES].discard("topic.00001")
    harness.push_everything()
    harness.tick()
    harness.lists.entries[TABLES].add("topic.00001")
    refresh = harness.tick().refresh
    assert refresh is not None
    assert "new: topic.00001" in refresh.reason
    harness.load(many(2), "v2")
    (pushed,) = harness.tick().pushes
    assert [key.path[0] for key in pushed.keys] == ["upstream_chain", "glue"]
    assert pushed.keys[1].path[-1] == "topic.00001"


def test_missing_table_is_not_taken_for_one_that_is_gone() -> None:
    found = without(many(2), 1).discovery()
    assert not difference(found, TABLES, ["topic.00000"])
    assert difference(found, TABLES, []).gone == ("topic.00000",)


def created(at: str) -> World:
    """The world with a table that Glue created at this time."""
    w = many(1)
    (node,) = w.graph.of_type("catalog_table")
    w.graph.add_node(node.with_attributes(create_time=at))
    return w


def test_table_that_was_dropped_and_created_again_is_pushed_again() -> None:
    harness = Harness(created("2026-04-30T12:00:00.000Z"))
    harness.push_everything()
    assert not harness.tick().pushes
    harness.load(created("2026-05-01T12:00:00.000Z"), "v2")
    assert len(harness.tick().pushes) == 1
