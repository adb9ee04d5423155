"""Materializing topics, chains and tables, as a run does it: against a strict Glue, without a JVM."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import pytest
from botocore.client import BaseClient
from dagster import AssetKey, DagsterInstance, MaterializeResult

from lineage_bridge_dagster.assets.inventory import Asset
from lineage_bridge_dagster.assets.kinds import AssetKind
from lineage_bridge_dagster.assets.tables import parameter_diff
from lineage_bridge_dagster.assets.topic_facts import PartitionFacts, TopicFacts
from lineage_bridge_dagster.assets.topics import retention_text
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.embedded.aws import StrictAws
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster_tests.assets.location import Location, create_tables
from lineage_bridge_dagster_tests.assets.world import EAST, REGION, many, world

Build = Callable[..., Location]


@pytest.fixture
def instance() -> Iterator[DagsterInstance]:
    with DagsterInstance.ephemeral() as made:
        yield made


def latest(instance: DagsterInstance, key: str) -> Any:
    event = instance.get_latest_materialization_event(AssetKey.from_user_string(key))
    return event.asset_materialization if event else None


def test_a_table_is_pushed_to_and_shows_what_was_done(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = world()
    create_tables(glue, w)
    built = location(w)
    assert built.materialize(instance, "upstream_chain/lkc-east1/o.v1", "glue/lkc-east1/o.v1").success
    table = glue.get_table(DatabaseName=EAST, Name="o.v1")["Table"]
    assert table["Parameters"]["owner_note"] == "hands off"
    assert "debezium-pg" in table["Parameters"]["lineage_bridge.source_connectors"]
    assert table["Description"].startswith("Kept by the data team.")
    metadata = latest(instance, "glue/lkc-east1/o.v1").metadata
    assert metadata["lineage_bridge/outcome"].value == "updated"
    diff = metadata["lineage_bridge/diff"].value
    assert diff.splitlines()[0].endswith("0 changed, 0 removed, 3 untouched")
    assert "| + | lineage_bridge.upstream_chain |" in diff
    assert "external_dataset: postgres://pg1.example" in metadata["lineage_bridge/description_tree"].value
    assert table["Description"] in metadata["lineage_bridge/glue_description"].value
    assert "| owner_note | hands off |" in metadata["lineage_bridge/parameters"].value
    assert metadata["lineage_bridge/hops"].value == 7
    assert len(metadata["lineage_bridge/hop_table"].records) == 7
    chain = latest(instance, "upstream_chain/lkc-east1/o.v1").metadata
    assert chain["lineage_bridge/drawing"].value.startswith("![Upstream of o.v1](data:image/svg+xml;base64,")
    before, after = (metadata[f"lineage_bridge/table_version_{w}"].value for w in ("before", "after"))
    assert int(after) == int(before) + 1


def test_a_second_push_writes_nothing_and_keeps_the_data_version(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = world()
    create_tables(glue, w)
    built = location(w)
    versions = []
    for _ in range(2):
        assert built.materialize(instance, "glue/lkc-east1/o.v1").success
        versions.append(latest(instance, "glue/lkc-east1/o.v1").tags["dagster/data_version"])
    assert versions[0] == versions[1]
    metadata = latest(instance, "glue/lkc-east1/o.v1").metadata
    assert metadata["lineage_bridge/outcome"].value == "unchanged"
    assert metadata["lineage_bridge/diff"].value.startswith("No parameter changed")


def test_good_tables_are_materialized_though_others_fail_and_the_failure_names_them(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = world()
    create_tables(glue, w, skip=["customers"])
    built = location(w)
    keys = [f"glue/{EAST}/{name}" for name in ("o.v1", "o-v1", "o_v1", "customers", "orders")]
    result = built.materialize(instance, *keys)
    assert not result.success
    failure = next(e for e in result.all_events if e.is_step_failure).event_specific_data
    assert "lkc-east1.customers (failed)" in failure.user_failure_data.description
    assert "lkc-east1.orders (refused)" in failure.user_failure_data.description
    for name in ("o.v1", "o-v1", "o_v1"):
        assert latest(instance, f"glue/{EAST}/{name}"), name
    assert latest(instance, f"glue/{EAST}/customers") is None


def test_names_that_differ_in_punctuation_alone_load_and_run_together(
    location: Build, glue: BaseClient, instance: DagsterInstance
) -> None:
    w = world()
    create_tables(glue, w)
    built = location(w)
    fan_out = built.parents("flink/env-abc123/us-east-1/fan-out")
    assert fan_out == {f"kafka/{EAST}/{name}" for name in ("o.v1", "o-v1", "o_v1")}
    names = ("o.v1", "o-v1", "o_v1")
    keys = [f"{kind}/{EAST}/{name}" for kind in ("kafka", "upstream_chain", "glue") for name in names]
    assert built.materialize(instance, *keys).success
    assert all(latest(instance, key) for key in keys)


def test_five_hundred_tables_in_one_run_are_one_computation_and_one_read_of_their_pages(
    location: Build, glue: BaseClient, strict_aws: StrictAws, instance: DagsterInstance
) -> None:
    w = many(500)
    create_tables(glue, w)
    built = location(w)
    assert built.materialize(instance, job="materialize_lineage").success
    assert len(built.spark.writes) == 1
    assert len(built.spark.writes[0]) == 500
    assert all(latest(instance, f"glue/{EAST}/topic.{number:05d}") for number in (0, 250, 499))
    # Five pages to push by, five for the last commits, and five that the checks read when all is pushed.
    assert strict_aws.calls.get("GetTables", 0) == 15
    assert strict_aws.calls.get("UpdateTable", 0) == 500


def test_a_chain_computation_that_fails_is_tried_once_a_run_and_says_why(
    location: Build, strict_aws: StrictAws, instance: DagsterInstance
) -> None:
    built = location(many(300))
    built.spark.error = LineageBridgeError("No warehouse.", hint="Set LINEAGE_BRIDGE_CATALOG_WAREHOUSE.")
    result = built.materialize(instance, job="materialize_lineage")
    assert len(built.spark.writes) == 1
    failures = [e.event_specific_data for e in result.all_events if e.is_step_failure]
    assert "LINEAGE_BRIDGE_CATALOG_WAREHOUSE" in failures[0].user_failure_data.description


def test_a_topics_data_version_changes_only_when_the_topic_did(
    location: Build, instance: DagsterInstance
) -> None:
    built = location(world())
    key = f"kafka/{EAST}/o.v1"

    def materialized(facts: TopicFacts) -> str:
        built.confluent.facts["o.v1"] = facts
        assert built.materialize(instance, key).success
        version: str = latest(instance, key).tags["dagster/data_version"]
        return version

    first = materialized(TopicFacts([PartitionFacts(0, 0, 5), PartitionFacts(1, 2, 4)], retention_ms=1000))
    again = materialized(TopicFacts([PartitionFacts(1, 2, 4), PartitionFacts(0, 0, 5)], retention_ms=1000))
    record = materialized(TopicFacts([PartitionFacts(0, 0, 6), PartitionFacts(1, 2, 4)], retention_ms=1000))
    schema = materialized(
        TopicFacts([PartitionFacts(0, 0, 6), PartitionFacts(1, 2, 4)], retention_ms=1000, schema_version=2)
    )
    assert first == again
    assert len({first, record, schema}) == 3
    metadata = latest(instance, key).metadata
    assert metadata["dagster/row_count"].value == 8
    assert metadata["lineage_bridge/partitions"].value == 2
    assert metadata["lineage_bridge/schema_version"].value == 2


def test_a_topic_that_cannot_be_read_leaves_the_others_materialized(
    location: Build, instance: DagsterInstance
) -> None:
    built = location(world())
    built.confluent.facts["customers"] = LineageBridgeError("not authorized", hint="Grant READ.")
    result = built.materialize(instance, f"kafka/{EAST}/o.v1", f"kafka/{EAST}/customers")
    assert not result.success
    assert latest(instance, f"kafka/{EAST}/o.v1")
    failure = next(e for e in result.all_events if e.is_step_failure).event_specific_data
    assert "customers" in failure.user_failure_data.description


def test_mirrors_both_ways_do_not_keep_the_definitions_from_loading(location: Build) -> None:
    built = location(world())
    assert built.parents("kafka/lkc-west1/Orders") == {"kafka/lkc-east1/Orders"}
    assert built.parents("kafka/lkc-east1/Orders") == set()


def test_a_subclass_wraps_what_materializing_does(location: Build, instance: DagsterInstance) -> None:
    seen: list[tuple[str, Collection[str]]] = []

    class Watched(LineageBridgeComponent):
        def execute(
            self, context: Any, kind: AssetKind, assets: Sequence[Asset]
        ) -> Iterator[MaterializeResult[Any]]:
            seen.append((kind.name, [asset.key.to_user_string() for asset in assets]))
            yield from super().execute(context, kind, assets)

    built = location(world(), Watched(aws={"region": REGION}))
    assert built.materialize(instance, f"kafka/{EAST}/o.v1").success
    assert seen == [("topics", [f"kafka/{EAST}/o.v1"])]


def test_no_region_fails_with_the_variable_to_set(location: Build, instance: DagsterInstance) -> None:
    built = location(world(), LineageBridgeComponent(aws={}))
    result = built.materialize(instance, f"glue/{EAST}/o.v1")
    failure = next(e for e in result.all_events if e.is_step_failure).event_specific_data
    assert "LINEAGE_BRIDGE_AWS_REGION" in failure.user_failure_data.description


def test_access_denied_names_the_action(
    location: Build, glue: BaseClient, strict_aws: StrictAws, instance: DagsterInstance
) -> None:
    w = world()
    create_tables(glue, w)
    strict_aws.fail("UpdateTable", "AccessDeniedException", times=-1)
    result = location(w).materialize(instance, f"glue/{EAST}/o.v1")
    failure = next(e for e in result.all_events if e.is_step_failure).event_specific_data
    assert "glue:UpdateTable" in failure.user_failure_data.description


def test_the_diff_escapes_what_would_break_its_table() -> None:
    diff = parameter_diff({"a|b": "x", "gone": "1"}, {"a|b": "y\n<b>", "new": "2"})
    assert diff.splitlines()[0] == "1 parameters added, 1 changed, 1 removed, 0 untouched"
    assert "| ~ | a\\|b | x | y &lt;b> |" in diff


@pytest.mark.parametrize(
    ("ms", "size", "words"),
    [
        (604_800_000, None, "7 days"),
        (-1, -1, "unlimited"),
        (3_600_000, 1024, "1 hour or 1 KiB per partition"),
        (None, None, "unknown"),
    ],
)
def test_retention_reads_as_words(ms: int | None, size: int | None, words: str) -> None:
    assert retention_text(TopicFacts([], retention_ms=ms, retention_bytes=size)) == words
