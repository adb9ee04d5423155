"""Materializing topics: what is shown of them, and when their data version changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from dagster import DagsterInstance

from lineage_bridge_dagster.assets.topic_facts import TopicFacts
from lineage_bridge_dagster.assets.topics import retention_text
from lineage_bridge_dagster.confluent.api.brokers import PartitionOffsets
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster_tests.assets.location import Location, failure_of, latest
from lineage_bridge_dagster_tests.assets.world import EAST, world

Build = Callable[..., Location]


def test_the_data_version_of_a_topic_changes_only_with_the_topic(
    location: Build, instance: DagsterInstance
) -> None:
    built = location(world())
    key = f"kafka/{EAST}/o.v1"

    def materialized(facts: TopicFacts) -> str:
        built.confluent.facts["o.v1"] = facts
        assert built.materialize(instance, key).success
        version: str = latest(instance, key).tags["dagster/data_version"]
        return version

    first = materialized(
        TopicFacts([PartitionOffsets(0, 0, 5), PartitionOffsets(1, 2, 4)], retention_ms=1000)
    )
    again = materialized(
        TopicFacts([PartitionOffsets(1, 2, 4), PartitionOffsets(0, 0, 5)], retention_ms=1000)
    )
    record = materialized(
        TopicFacts([PartitionOffsets(0, 0, 6), PartitionOffsets(1, 2, 4)], retention_ms=1000)
    )
    schema = materialized(
        TopicFacts(
            [PartitionOffsets(0, 0, 6), PartitionOffsets(1, 2, 4)], retention_ms=1000, schema_version=2
        )
    )
    assert first == again
    assert len({first, record, schema}) == 3
    metadata = latest(instance, key).metadata
    assert metadata["dagster/row_count"].value == 8
    assert metadata["lineage_bridge/partitions"].value == 2
    assert metadata["lineage_bridge/schema_version"].value == 2


def test_a_failure_names_unreadable_topics_and_the_others_are_materialized(
    location: Build, instance: DagsterInstance
) -> None:
    built = location(world())
    built.confluent.facts["customers"] = LineageBridgeError("not authorized", hint="Grant READ.")
    result = built.materialize(instance, f"kafka/{EAST}/o.v1", f"kafka/{EAST}/customers")
    assert not result.success
    assert latest(instance, f"kafka/{EAST}/o.v1")
    assert "customers" in failure_of(result)


@pytest.mark.parametrize(
    ("ms", "size", "words"),
    [
        (604_800_000, None, "7 days"),
        (-1, -1, "unlimited"),
        (3_600_000, 1024, "1 hour or 1 KiB per partition"),
        (None, None, "unknown"),
    ],
)
def test_retention_text(ms: int | None, size: int | None, words: str) -> None:
    assert retention_text(TopicFacts([], retention_ms=ms, retention_bytes=size)) == words
