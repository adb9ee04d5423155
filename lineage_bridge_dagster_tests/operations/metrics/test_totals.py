"""Each run is counted once, however often a page is computed, and by however many exporters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_bridge_dagster.assets.run_reports import (
    DiscoveryRunReport,
    LoadRunReport,
    PushRunReport,
    TopicReport,
)
from lineage_bridge_dagster.formats import NewerFormatError
from lineage_bridge_dagster.operations.metrics.totals import (
    FORGOTTEN,
    SETTLING,
    FinishedRun,
    RunTotals,
    StoredReport,
    count,
)

BEGAN = 1_000.0


@given(
    ended=st.lists(st.floats(BEGAN - 50, BEGAN + 5_000), max_size=20),
    scrapes=st.lists(st.floats(0, 6_000), min_size=1, max_size=12),
    others=st.data(),
)
def test_a_run_is_counted_once_by_any_sequence_of_scrapes(
    ended: list[float], scrapes: list[float], others: st.DataObject
) -> None:
    stored = RunTotals.begin(BEGAN)
    counts = []
    for now in sorted(BEGAN + each for each in scrapes):
        # A storage gives the runs that have ended; some exporters' writes are overwritten by later ones.
        runs = [FinishedRun("push", "success", at, 2.0) for at in ended if at <= now]
        found = count(stored, runs, [StoredReport(run.ended, 0, PushRunReport()) for run in runs], now)
        if others.draw(st.booleans()):
            stored = RunTotals.parse(found.settled.model_dump_json()) or stored
        expected = sum(run.ended > BEGAN for run in runs)
        by_status = found.now.runs.get("push", {})
        counts.append(by_status["success"].count if by_status else 0)
        assert counts[-1] == expected
        pushes = found.now.components[""].pushes if found.now.components else 0
        assert pushes == expected
    assert counts == sorted(counts)


def test_what_is_stored_late_is_counted_when_it_comes() -> None:
    begun = RunTotals.begin(BEGAN)
    early = count(begun, [], [], BEGAN + 60)
    late = StoredReport(BEGAN + 50, 7, PushRunReport(tables={"updated": 3}))
    found = count(early.settled, [], [late], BEGAN + 61)
    assert found.now.components[""].pushed == {"updated": 3}
    assert not found.settled.components
    settled = count(found.settled, [], [late], BEGAN + 50 + SETTLING)
    assert settled.settled.components[""].pushed == {"updated": 3}
    assert (settled.settled.event_id, settled.changed) == (7, True)


def test_the_last_discovery_that_found_anything_is_what_is_known() -> None:
    totals = RunTotals.begin(BEGAN)
    found = DiscoveryRunReport(
        result="incomplete", scopes={"complete": 4, "denied": 1}, carried_since={"flink": 50.0}, seconds=3
    )
    totals.add_report(StoredReport(2_000, 1, found))
    totals.add_report(StoredReport(3_000, 2, DiscoveryRunReport(seconds=1)))
    component = totals.components[""]
    assert component.discoveries == {"incomplete": 1, "failed": 1}
    assert component.discovery_last == {"incomplete": 2_000, "failed": 3_000}
    assert component.scopes == {"complete": 4, "denied": 1}
    assert component.carried_since == {"flink": 50.0}
    assert component.discovery_seconds == 4


def test_a_partial_push_counts_but_says_nothing_about_every_table() -> None:
    totals = RunTotals.begin(BEGAN)
    totals.add_report(StoredReport(2_000, 1, PushRunReport(tables={"held": 2}, every_table=True)))
    totals.add_report(StoredReport(3_000, 2, PushRunReport(tables={"held": 1, "updated": 1})))
    component = totals.components[""]
    assert component.full_push == {"held": 2}
    assert component.full_push_at == 2_000
    assert component.pushed == {"held": 3, "updated": 1}


def test_a_topic_that_no_run_loads_is_forgotten() -> None:
    totals = RunTotals.begin(BEGAN)
    topics = {"orders": TopicReport(rows=5, lag_records=1), "old": TopicReport(dead_letters=2)}
    totals.add_report(StoredReport(2_000, 1, LoadRunReport(topics=topics)))
    after = 2_001 + FORGOTTEN
    totals.add_report(StoredReport(after, 2, LoadRunReport(topics={"orders": TopicReport(rows=1)})))
    component = totals.components[""]
    assert set(component.topics) == {"orders"}
    assert (component.rows, component.dead_letters) == (6, 2)
    assert component.topics["orders"].lag_records is None


def test_a_record_of_a_newer_version_is_refused_and_a_broken_one_begins_again() -> None:
    record = RunTotals.begin(BEGAN).model_copy(update={"version": 99}).model_dump_json()
    with pytest.raises(NewerFormatError, match="has format 99 of the totals of the metrics"):
        RunTotals.parse(record)
    assert [RunTotals.parse(text) for text in ("{not json", "[]", '{"began": []}', "", None)] == [None] * 5
