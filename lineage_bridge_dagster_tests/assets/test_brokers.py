"""Facts of topics, from brokers and from the discovery."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import pytest

from lineage_bridge_dagster.assets import brokers
from lineage_bridge_dagster.confluent.kafka_admin import BrokerError, PartitionOffsets, TopicOffsets
from lineage_bridge_dagster.settings import ConfluentSettings
from lineage_bridge_dagster_tests.assets.world import EAST, WEST, world


class Reader:
    """One cluster's brokers; `missing` is not told."""

    def __init__(self, missing: str = "") -> None:
        self.missing = missing

    def __enter__(self) -> Reader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def read(self, topics: Any) -> dict[str, TopicOffsets | BrokerError]:
        return {
            name: BrokerError("gone", hint="Run a discovery.")
            if name == self.missing
            else TopicOffsets(name, (PartitionOffsets(0, 1, 4), PartitionOffsets(1, 0, 0)))
            for name in topics
        }


def test_each_cluster_is_asked_once_and_one_that_is_away_fails_its_own_topics_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def reader_for(_settings: Any, bootstrap: str, _environment: str, cluster: str) -> Reader:
        asked.append(cluster)
        assert bootstrap == f"SASL_SSL://{cluster}.example:9092"
        if cluster == WEST:
            raise BrokerError("no answer", hint="Check that it can be reached.")
        return Reader(missing="customers")

    monkeypatch.setattr(brokers, "reader_for", reader_for)
    topics = list(world().graph.of_type("kafka_topic"))
    found = {(n.cluster_id, n.qualified_name): f for n, f in brokers.read_topics(topics, ConfluentSettings())}
    assert sorted(asked) == [EAST, WEST]
    assert len(found) == len(topics)
    assert isinstance(found[WEST, "Orders"], BrokerError)
    assert isinstance(found[EAST, "customers"], BrokerError)
    facts = found[EAST, "Orders"]
    assert not isinstance(facts, Exception)
    assert sum(partition.records for partition in facts.partitions) == 3


def test_settings_and_schema_are_the_discoverys() -> None:
    w = world()
    node = w.graph.nodes[w.topic(EAST, "customers")].with_attributes(
        configs={"retention.ms": "604800000", "retention.bytes": "-1"},
        cleanup_policy="delete",
        schema_subject="customers-value",
        schema_version=7,
    )
    facts = brokers.facts_of(node, TopicOffsets("customers", ()))
    assert (facts.retention_ms, facts.retention_bytes) == (604_800_000, -1)
    assert (facts.schema_subject, facts.schema_version) == ("customers-value", 7)
