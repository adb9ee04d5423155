"""The assets that load topics, with a fake engine: events, checks, failures and the graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from dagster import (
    AssetCheckKey,
    AssetCheckSeverity,
    AssetKey,
    AssetObservation,
    DagsterInstance,
    Definitions,
    ExecuteInProcessResult,
)

from lineage_bridge_dagster.assets.metadata import UpkeepMetadata
from lineage_bridge_dagster.assets.run_reports import parse_report
from lineage_bridge_dagster.assets.times import now_ms
from lineage_bridge_dagster.config.request_counts import current_counts
from lineage_bridge_dagster.dagster_internals.runs import engine_events
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import (
    UNDECODABLE_VALUE,
    Rejection,
    Rejections,
)
from lineage_bridge_dagster.topic_to_iceberg.loading.model import SuspendedError
from lineage_bridge_dagster_tests.topic_to_iceberg.yaml import FakeCluster, FakeTopic, loaded, step


def key(table: str) -> AssetKey:
    return AssetKey(["topic_to_iceberg", "lkc-abc123", table])


def run(definitions: Definitions, instance: DagsterInstance, **options: Any) -> ExecuteInProcessResult:
    job = definitions.resolve_job_def("topic_to_iceberg")
    return job.execute_in_process(instance=instance, raise_on_error=False, **options)


def metadata(result: ExecuteInProcessResult, table: str) -> dict[str, Any]:
    (event,) = (each for each in result.get_asset_materialization_events() if each.asset_key == key(table))
    found = event.materialization.metadata
    return {name.removeprefix("lineage_bridge/"): value.value for name, value in found.items()}


def checks(result: ExecuteInProcessResult, table: str) -> dict[str, Any]:
    return {
        each.check_name: each for each in result.get_asset_check_evaluations() if each.asset_key == key(table)
    }


def test_a_materialization_has_counts_lag_and_schema_as_numbers_and_tables(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = FakeTopic([step(4, 4), step(6, 2, removed=1)], end=6, columns={"id": "bigint"})
    FakeCluster(orders=topic).use(monkeypatch)
    with loaded({"topics": [{"topic": "orders", "mode": "upsert"}]}) as (_, definitions):
        result = run(definitions, instance)
    assert result.success
    found = metadata(result, "orders")
    counts = ("rows_written", "rows_removed", "commits", "lag_records")
    assert [found[name] for name in counts] == [6, 1, 2, 0]
    assert found["lag_seconds"] == 0.0
    # As text: JavaScript, and so the UI, would round it.
    assert found["snapshot_id"] == "9007199254740993"
    assert "| 0 | 6 | 6 | 0 |" in found["offsets"]
    assert found["schema_ids"] == "7, 9"
    assert found["dagster/row_count"] == 6
    assert [column.name for column in found["dagster/column_schema"].columns] == ["id"]
    assert all(each.passed for each in checks(result, "orders").values())
    assert topic.ensured == 1


def test_a_run_reports_the_requests_that_its_threads_send(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = FakeTopic([step(4, 4)], end=4)
    topic.on_step = lambda: current_counts().add("schema_registry", 401)
    FakeCluster(orders=topic).use(monkeypatch)
    with loaded({"topics": [{"topic": "orders"}]}) as (_, definitions):
        assert run(definitions, instance).success
    reports = [parse_report(metadata) for _, _, metadata in engine_events(instance, 0, 0.0)]
    assert [each.requests for each in reports if each] == [{"schema_registry": {"401": 1}}]


def test_a_run_ends_at_the_ends_that_the_topics_had_when_it_began(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A producer that is faster than the run must not keep it going."""
    topic = FakeTopic([step(5 * each, 5) for each in range(1, 100)], end=10)
    FakeCluster(orders=topic).use(monkeypatch)
    with loaded({"topics": [{"topic": "orders"}]}) as (_, definitions):
        result = run(definitions, instance)
    assert metadata(result, "orders")["rows_written"] == 10


def test_a_topic_that_is_suspended_fails_alone_and_its_check_says_why(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = SuspendedError(
        "Field price of orders.v2 changed from bigint to string", hint="Write a new topic."
    )
    bad, good = FakeTopic([step(1, 1), error], end=3), FakeTopic([step(3, 3)], end=3)
    FakeCluster(bad=bad, good=good).use(monkeypatch)
    with loaded({"topics": [{"topic": "bad"}, {"topic": "good"}]}) as (_, definitions):
        result = run(definitions, instance)
    assert not result.success
    assert metadata(result, "good")["rows_written"] == 3
    assert {each.asset_key for each in result.get_asset_materialization_events()} == {key("good")}
    failure = next(each for each in result.all_events if each.is_step_failure)
    assert "1 of 2 topics not loaded: bad." in str(failure.step_failure_data.user_failure_data.description)
    failed = checks(result, "bad")["not_suspended"]
    assert (failed.passed, failed.severity) == (False, AssetCheckSeverity.ERROR)
    assert "price of orders.v2 changed from bigint to string" in failed.description
    assert checks(result, "good")["not_suspended"].passed


def test_records_that_were_left_out_fail_a_check_that_says_where_they_are(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    why = Rejection("logged", 0, 2, UNDECODABLE_VALUE, "its schema id 9 is unknown")
    logged, skipped = (
        FakeTopic([replace(step(3, 1, dead_letters=2), rejections=Rejections.of([why, why]))], end=3),
        FakeTopic([step(3, 2, skipped=1)], end=3),
    )
    FakeCluster(logged=logged, skipped=skipped).use(monkeypatch)
    topics = [
        {"topic": "logged", "failures": "log", "dead_letter_topic": "errors"},
        {"topic": "skipped", "failures": "skip"},
    ]
    with loaded({"topics": topics}) as (_, definitions):
        result = run(definitions, instance)
        assert result.success
        failed = checks(result, "logged")["no_rejected_records"]
        assert not failed.passed
        assert "2 records went to the topic errors" in failed.description
        assert "The last one: logged partition 0 offset 2: its schema id 9 is unknown." in failed.description
        assert "lineage-bridge topics replay" in failed.description
        rejected = "2 UNDECODABLE_VALUE\n\n| partition | offset | error |"
        assert metadata(result, "logged")["rejected_records"].startswith(rejected)
        assert (
            "1 record of skipped left no row" in checks(result, "skipped")["no_rejected_records"].description
        )
        # The next run rejects nothing.
        again = run(definitions, instance)
    assert checks(again, "logged")["no_rejected_records"].passed


def test_lag_over_its_limit_fails_a_check(instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = FakeTopic(
        [step(2, 2), LineageBridgeError("the broker is down")], end=9, oldest_unread_ms=now_ms() - 7_200_000
    )
    FakeCluster(orders=topic).use(monkeypatch)
    with loaded({"topics": [{"topic": "orders", "max_lag_seconds": 3600}]}) as (_, definitions):
        result = run(definitions, instance)
    failed = checks(result, "orders")["caught_up"]
    assert not failed.passed
    assert "7 records of orders wait, the oldest one for 2 hours, which is over 1 hour" in failed.description


def test_a_run_of_checks_alone_judges_the_last_run(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = FakeTopic([step(3, 2, skipped=1), SuspendedError("stopped")], end=9)
    cluster = FakeCluster(orders=topic)
    cluster.use(monkeypatch)
    with loaded({"topics": [{"topic": "orders"}]}) as (_, definitions):
        run(definitions, instance)
        names = ("no_rejected_records", "not_suspended")
        result = run_checks(definitions, instance, names)
    assert {name: each.passed for name, each in checks(result, "orders").items()} == dict.fromkeys(
        names, False
    )
    assert cluster.topics["orders"].opened == 1


def test_checks_judge_the_last_load_and_not_the_upkeep_after_it(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeCluster(orders=FakeTopic([step(3, 2, skipped=1)], end=3)).use(monkeypatch)
    with loaded({"topics": [{"topic": "orders"}]}) as (_, definitions):
        run(definitions, instance)
        upkeep = AssetObservation(key("orders"), metadata={**UpkeepMetadata(files_compacted=2)})
        instance.report_runless_asset_event(upkeep)
        result = run_checks(definitions, instance, ("no_rejected_records", "caught_up"))
    assert {name: each.passed for name, each in checks(result, "orders").items()} == {
        "no_rejected_records": False,
        "caught_up": True,
    }


def run_checks(
    definitions: Definitions, instance: DagsterInstance, names: tuple[str, ...]
) -> ExecuteInProcessResult:
    from dagster import AssetSelection, define_asset_job

    selection = AssetSelection.checks(*(AssetCheckKey(key("orders"), name) for name in names))
    job = define_asset_job("checks_alone", selection=selection)
    merged = Definitions.merge(definitions, Definitions(jobs=[job]))
    return merged.resolve_job_def("checks_alone").execute_in_process(instance=instance, raise_on_error=False)


def test_topics_share_a_bounded_number_of_threads(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = {f"t{number}": FakeTopic([step(1, 1), step(2, 1)], end=2) for number in range(7)}
    FakeCluster(**topics).use(monkeypatch)
    attributes = {"topics": [{"topic": name} for name in topics], "run": {"threads": 3}}
    with loaded(attributes) as (_, definitions):
        result = run(definitions, instance)
    assert result.success
    assert len(set.union(*(topic.threads for topic in topics.values()))) == 3
    assert all(len(topic.threads) == 1 for topic in topics.values())


def test_names_that_differ_in_one_character_are_different_assets(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["o.v1", "o-v1", "o_v1"]
    cluster = FakeCluster()
    cluster.topics = {
        name: FakeTopic([step(number, number)], end=number) for number, name in enumerate(names, 1)
    }
    cluster.use(monkeypatch)
    with loaded({"topics": [{"topic": name} for name in names]}) as (_, definitions):
        result = run(definitions, instance)
    assert [metadata(result, name)["rows_written"] for name in names] == [1, 2, 3]
