"""The page is well formed in both text formats, says nothing of what is unknown, and stays small."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from prometheus_client.registry import Collector

from lineage_bridge_dagster.automation.cursor import Attempt, Cursor, Loss, TickTotals
from lineage_bridge_dagster.dagster_internals.instance import AutomationState
from lineage_bridge_dagster.operations.metrics.families import FAMILIES
from lineage_bridge_dagster.operations.metrics.page import page
from lineage_bridge_dagster.operations.metrics.reading import (
    REMOVED_AFTER,
    InstanceReading,
    Sensor,
    UnfinishedRun,
)
from lineage_bridge_dagster.operations.metrics.totals import (
    ComponentTotals,
    MeasuredTopic,
    RunCount,
    RunTotals,
)


def reading(topics: int = 2) -> InstanceReading:
    """A reading with a sample of every metric."""
    eu = ComponentTotals(
        last=999.0,
        discoveries={"complete": 3, "failed": 1},
        discovery_seconds=12.5,
        discovery_last={"complete": 900.0},
        scopes={"complete": 12, "denied": 1},
        glue_tables={"found": 10, "missing": 1},
        carried_since={"flink": 100.0},
        requests={"kafka": {"200": 40, "429": 2}},
        retries={"kafka": 2},
        pushes=2,
        push_seconds=1.5,
        pushed={"updated": 4, "held": 1},
        full_push_at=950.0,
        full_push={"held": 1},
        rows=100,
        dead_letters=3,
        skipped=1,
        topics={
            f"orders.{n}": MeasuredTopic(at=990.0, lag_records=n, lag_seconds=float(n), outcome="loaded")
            for n in range(topics)
        },
    )
    cursor = Cursor(
        tables=10,
        compared=200,
        attempts={"glue/db/a": Attempt(wanted="v", since=500.0), "glue/db/b": Attempt(wanted="v")},
        losses={
            "glue/db/c": Loss(found=700.0),
            "glue/db/d": Loss(found=600.0, in_sync=True),
        },
        totals=TickTotals(at=995.0, requests={"glue": {"200": 7}}, retries={"glue": 1}, losses=5),
    )
    return InstanceReading(
        now=1_000.0,
        totals=RunTotals(
            began=1.0,
            settled=2.0,
            runs={"push": {"success": RunCount(count=2, seconds=3.5, last=960.0)}},
            components={"": ComponentTotals(), "eu": eu},
        ),
        unfinished=(UnfinishedRun("push", "queued", 970.0), UnfinishedRun("push", "queued", 980.0)),
        automations=(AutomationState("eu_lineage_sensor", "prod", True),),
        sensors=(Sensor("eu", "prod", cursor),),
        checks={("table_fresh", "failed"): 2},
        heartbeats={"SENSOR": 999.0},
    )


class _Page(Collector):
    def __init__(self, found: InstanceReading, max_topics: int = 500) -> None:
        self._found, self._max_topics = found, max_topics

    def collect(self):  # type: ignore[no-untyped-def]
        yield from page(self._found, self._max_topics)


def samples(found: InstanceReading, max_topics: int = 500) -> dict[str, float]:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Page(found, max_topics))
    plain = [each for family in parse_text(generate_latest(registry).decode()) for each in family.samples]
    strict = [
        each
        for family in parse_openmetrics(generate_openmetrics(registry).decode())
        for each in family.samples
    ]
    by_name = {_name(each): each.value for each in plain}
    assert by_name == {_name(each): each.value for each in strict}
    assert len(by_name) == len(plain), "a sample is there twice"
    return by_name


def _name(sample) -> str:  # type: ignore[no-untyped-def]
    labels = ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()))
    return f"{sample.name.removeprefix('lineage_bridge_')}{{{labels}}}"


def test_both_formats_hold_every_metric() -> None:
    found = samples(reading())
    series = {name.partition("{")[0] for name in found}
    expected = {each.removeprefix("lineage_bridge_") for family in FAMILIES for each in family.series}
    assert series == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("discoveries_total{component=eu,result=complete}", 3),
        ("discovery_duration_seconds_sum{component=eu}", 12.5),
        ("requests_total{api=kafka,component=eu,process=run,status=429}", 2),
        ("requests_total{api=glue,component=eu,process=sensor,status=200}", 7),
        ("requests_total{api=glue,component=eu,process=sensor,status=401}", 0),
        ("tables{component=eu,location=prod}", 10),
        ("outdated_tables{component=eu,location=prod}", 2),
        # Of the other one, an older version wrote no time.
        ("outdated_since_timestamp_seconds{component=eu,location=prod}", 500),
        ("lost_tables{component=eu,location=prod}", 1),
        ("lost_since_timestamp_seconds{component=eu,location=prod}", 700),
        ("in_sync_tables{component=eu,location=prod}", 7),
        ("losses_total{component=eu,location=prod}", 5),
        ("unfinished_runs{job_name=push,status=queued}", 2),
        ("unfinished_run_created_timestamp_seconds{job_name=push,status=queued}", 970),
        ("run_duration_seconds_count{job_name=push,status=success}", 2),
        ("automation_running{location=prod,name=eu_lineage_sensor}", 1),
        ("topics{component=eu,outcome=loaded}", 2),
    ],
)
def test_sample(name: str, value: float) -> None:
    assert samples(reading())[name] == value


def test_nothing_is_said_of_what_is_not_known() -> None:
    found = samples(InstanceReading(1_000.0, RunTotals.begin(1.0)))
    assert set(found) == {"counted_since_timestamp_seconds{}"}


def test_a_component_that_reports_nothing_for_a_week_is_left_out() -> None:
    later = replace(reading(), now=999.0 + REMOVED_AFTER + 1, sensors=())
    assert not [name for name in samples(later) if "component=eu" in name]
    assert not [name for name in samples(later) if name.startswith("run_")]


@pytest.mark.parametrize("gone", ["lineage", "topics"])
def test_what_is_removed_beside_what_still_reports_is_left_out(gone: str) -> None:
    before, now = reading(), 990.0 + REMOVED_AFTER + 1
    eu = before.totals.components["eu"]
    alive = {"last": now} if gone == "topics" else {"last": 0.0, "topics": {"o": MeasuredTopic(at=now)}}
    totals = before.totals.model_copy(update={"components": {"eu": eu.model_copy(update=alive)}})
    found = {name.partition("{")[0] for name in samples(replace(before, now=now, totals=totals))}
    of_topics, of_lineage = "topic_measured_timestamp_seconds", "discovery_last_timestamp_seconds"
    assert (of_lineage in found, of_topics in found) == (gone == "topics", gone == "lineage")
    assert "requests_total" in found


def test_topics_have_series_up_to_a_bound_and_those_behind_come_first() -> None:
    found = samples(reading(topics=50), max_topics=3)
    lags = {name for name in found if name.startswith("topic_lag_seconds")}
    assert lags == {f"topic_lag_seconds{{component=eu,topic=orders.{n}}}" for n in (49, 48, 47)}
    assert found["topics_left_out{component=eu}"] == 47
    assert found["topics{component=eu,outcome=loaded}"] == 50


def test_no_label_is_a_table() -> None:
    labels = {label for family in FAMILIES for label in family.labels}
    assert labels <= {
        "api", "check", "component", "daemon", "job_name", "location", "name", "outcome", "process", "result",
        "status", "topic",
    }  # fmt: skip


def test_names_follow_the_conventions_of_prometheus() -> None:
    for family in FAMILIES:
        assert re.fullmatch(r"lineage_bridge_[a-z][a-z_]*[a-z]", family.name)
        assert not family.name.endswith(("_total", "_count", "_sum"))
        if "timestamp" in family.name or "duration" in family.name:
            assert family.name.endswith("_seconds")
        assert family.help.endswith(".")
