"""The asset that loads days or hours of a table again, with a fake engine: partitions, runs and metadata."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from dagster import (
    AssetKey,
    AssetsDefinition,
    BackfillPolicy,
    DagsterInstance,
    Definitions,
    ExecuteInProcessResult,
)
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG

from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import (
    UNDECODABLE_VALUE,
    Rejection,
    Rejections,
)
from lineage_bridge_dagster.topic_to_iceberg.loading.slices import SliceCounts, SliceRefusedError
from lineage_bridge_dagster_tests.topic_to_iceberg.yaml import FakeCluster, FakeTopic, load_error, loaded

KEY = AssetKey(["topic_to_iceberg_backfill", "lkc-abc123", "orders"])
START = {"start": "2026-01-01"}


def asset(definitions: Definitions) -> AssetsDefinition:
    return definitions.resolve_asset_graph().assets_def_for_key(KEY)


def run(definitions: Definitions, instance: DagsterInstance, first: str, last: str) -> ExecuteInProcessResult:
    """One run over a range of partitions, as a backfill starts it."""
    job = definitions.resolve_implicit_global_asset_job_def()
    tags = {ASSET_PARTITION_RANGE_START_TAG: first, ASSET_PARTITION_RANGE_END_TAG: last}
    return job.execute_in_process(instance=instance, asset_selection=[KEY], tags=tags, raise_on_error=False)


def metadata(result: ExecuteInProcessResult) -> dict[str, dict[str, Any]]:
    """The metadata of each partition."""
    return {
        str(event.partition): {
            name.removeprefix("lineage_bridge/"): value.value
            for name, value in event.materialization.metadata.items()
        }
        for event in result.get_asset_materialization_events()
    }


def test_one_run_over_three_days_materializes_each_with_its_own_counts(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    slices: dict[str, SliceCounts | Exception] = {
        "2026-01-01": SliceCounts(inserted=4, updated=1, unchanged=2),
        "2026-01-02": SliceCounts(unchanged=7),
    }
    topic = FakeTopic(slices=slices)
    FakeCluster(orders=topic).use(monkeypatch)
    with loaded({"topics": [{"topic": "orders", "backfill": START}]}) as (_, definitions):
        result = run(definitions, instance, "2026-01-01", "2026-01-03")
    assert result.success
    assert topic.backfills == [(["2026-01-01", "2026-01-02", "2026-01-03"], None)]
    found = metadata(result)
    assert found.keys() == {"2026-01-01", "2026-01-02", "2026-01-03"}
    names = ("records_read", "rows_inserted", "rows_updated", "rows_deleted", "rows_unchanged", "outcome")
    assert [found["2026-01-01"][name] for name in names] == [7, 4, 1, 0, 2, "changed"]
    assert [found["2026-01-02"][name] for name in names] == [7, 0, 0, 0, 7, "unchanged"]
    assert instance.get_materialized_partitions(KEY) == found.keys()
    # The asset that loads new records knows nothing of it.
    loader = AssetKey(["topic_to_iceberg", "lkc-abc123", "orders"])
    assert instance.get_latest_materialization_event(loader) is None
    assert topic.ensured == 0


def test_days_that_are_done_when_a_later_one_fails_stay_materialized(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = SliceRefusedError("Topic orders: partition 0 offset 7", hint="Correct the schema.")
    FakeCluster(orders=FakeTopic(slices={"2026-01-02": failed})).use(monkeypatch)
    with loaded({"topics": [{"topic": "orders", "backfill": START}]}) as (_, definitions):
        result = run(definitions, instance, "2026-01-01", "2026-01-03")
    (event,) = (each for each in result.all_events if each.is_step_failure)
    failure = event.step_failure_data.user_failure_data
    assert failure is not None
    assert "partition 0 offset 7\n  -> Correct the schema." in str(failure.description)
    assert instance.get_materialized_partitions(KEY) == {"2026-01-01"}


def test_records_that_were_left_out_are_in_the_metadata(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Rejection("orders", 3, 9, UNDECODABLE_VALUE, "no Avro")
    counts = SliceCounts(deleted=1, skipped=2, rejections=Rejections.of([place]))
    FakeCluster(orders=FakeTopic(slices={"2026-01-01": counts})).use(monkeypatch)
    attributes = {"topics": [{"topic": "orders", "failures": "log", "backfill": START}]}
    with loaded(attributes) as (_, definitions):
        found = metadata(run(definitions, instance, "2026-01-01", "2026-01-01"))["2026-01-01"]
    assert (found["dead_letters"], found["records_skipped"], found["rows_deleted"]) == (2, 0, 1)
    assert "| 3 | 9 | no Avro |" in found["rejected_records"]


@pytest.mark.usefixtures("instance")
def test_hours_lateness_and_partitions_per_run_come_from_the_entry_and_the_defaults(
    monkeypatch: pytest.MonkeyPatch, instance: DagsterInstance
) -> None:
    topic = FakeTopic()
    FakeCluster(orders=topic).use(monkeypatch)
    attributes = {
        "topics": [{"topic": "orders", "backfill": {"partition": "hour", "partitions_per_run": 24}}],
        "defaults": {"backfill": {**START, "late_minutes": 0}},
    }
    with loaded(attributes) as (_, definitions):
        assert asset(definitions).backfill_policy == BackfillPolicy.multi_run(24)
        run(definitions, instance, "2026-01-01-22:00", "2026-01-02-00:00")
    assert topic.backfills == [(["2026-01-01-22:00", "2026-01-01-23:00", "2026-01-02-00:00"], timedelta(0))]


@pytest.mark.usefixtures("instance")
def test_the_asset_is_beside_the_loader_below_the_topic() -> None:
    with loaded({"topics": [{"topic": "orders", "backfill": START}]}) as (_, definitions):
        graph = definitions.resolve_asset_graph()
        node = graph.get(KEY)
        assert node.parent_keys == {AssetKey(["kafka", "lkc-abc123", "orders"])}
        assert not node.child_keys
        assert asset(definitions).backfill_policy == BackfillPolicy.single_run()
        job = definitions.resolve_job_def("topic_to_iceberg")
        assert KEY not in job.asset_layer.executable_asset_keys


@pytest.mark.usefixtures("instance")
def test_defaults_give_every_table_of_mode_append_its_partitions_and_no_other() -> None:
    attributes = {
        "topics": [{"topic": "orders"}, {"topic": "customers", "mode": "upsert"}],
        "defaults": {"backfill": START},
    }
    with loaded(attributes) as (component, _):
        loads = component.plan("lkc-abc123").loads(())
    assert {each.topic: each.backfill is not None for each in loads} == {"orders": True, "customers": False}


@pytest.mark.usefixtures("instance")
@pytest.mark.parametrize(
    ("entry", "error"),
    [
        (
            {"mode": "upsert", "backfill": START},
            "A table of mode upsert holds only the last state of each key",
        ),
        ({"backfill": {"partition": "hour"}}, "Write start, for example start: 2026-01-01"),
        ({"backfill": {"start": "yesterday"}}, "is not a day"),
        ({"backfill": {**START, "partition": "week"}}, "day or hour"),
        ({"backfill": {**START, "late_minutes": -1}}, "late_minutes"),
        ({"backfill": {**START, "begin": "x"}}, "begin"),
    ],
)
def test_an_error_of_the_yaml_says_what_to_write(entry: dict[str, Any], error: str) -> None:
    assert error in load_error({"topics": [{"topic": "orders", **entry}]})
