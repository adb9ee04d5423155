"""Facts of topics, from brokers and from the discovery."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import pytest

from lineage_bridge_dagster.assets import topic_facts
from lineage_bridge_dagster.assets.topic_facts import Backlog
from lineage_bridge_dagster.confluent.api.brokers import PartitionOffsets, TopicOffsets
from lineage_bridge_dagster.confluent.api.errors import BrokerError
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster_tests.assets.world import EAST, WEST, world


class Reader:
    """One cluster's brokers; `missing` is a topic that they do not know."""

    def __init__(self, missing: str = "") -> None:
        self.missing = missing
        self.first_requested: list[str] = []

    def read(self, topics: Any) -> dict[str, TopicOffsets | BrokerError]:
        return {
            name: BrokerError("gone", hint="Run a discovery.")
            if name == self.missing
            else TopicOffsets(name, (PartitionOffsets(0, 1, 4), PartitionOffsets(1, 0, 0)), 1_000)
            for name in topics
        }

    def first_after(self, topics: Any, since_ms: Mapping[str, int]) -> dict[str, int | BrokerError | None]:
        self.first_requested = [topic.topic for topic in topics]
        return {name: since_ms[name] + 1 for name in self.first_requested}


def test_each_cluster_is_read_once_and_an_unreachable_one_fails_only_its_topics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clusters: list[str] = []

    def reader_for(_settings: Any, bootstrap: str, _environment: str, cluster: str) -> Reader:
        clusters.append(cluster)
        assert bootstrap == f"SASL_SSL://{cluster}.example:9092"
        if cluster == WEST:
            raise BrokerError("no answer", hint="Check that it can be reached.")
        return Reader(missing="customers")

    monkeypatch.setattr(topic_facts, "reader_for", reader_for)
    topics = list(world().graph.of_type("kafka_topic"))
    found = {
        (n.cluster_id, n.qualified_name): f for n, f in topic_facts.read_topics(topics, ConfluentSettings())
    }
    assert sorted(clusters) == [EAST, WEST]
    assert len(found) == len(topics)
    assert isinstance(found[WEST, "Orders"], BrokerError)
    assert isinstance(found[EAST, "customers"], BrokerError)
    facts = found[EAST, "Orders"]
    assert not isinstance(facts, Exception)
    assert sum(partition.records for partition in facts.partitions) == 3
    assert facts.last_record_ms == 1_000


def test_the_first_new_record_is_requested_only_of_topics_that_have_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader = Reader(missing="customers")
    monkeypatch.setattr(topic_facts, "reader_for", lambda *_: reader)
    w = world()
    since = {"o.v1": 999, "o-v1": 1_000, "o_v1": None, "customers": 0}
    topics = [(w.graph.nodes[w.topic(EAST, name)], time) for name, time in since.items()]
    found = {n.qualified_name: f for n, f in topic_facts.read_backlogs(topics, ConfluentSettings())}
    assert sorted(reader.first_requested) == ["o.v1", "o_v1"]
    assert found["o.v1"] == Backlog(3, 1_000, 1_000, written=4)
    assert found["o-v1"] == Backlog(3, 1_000, written=4)
    assert found["o_v1"] == Backlog(3, 1_000, 0, written=4)
    assert found["o_v1"].behind({0: 2}) == 2
    assert found["o_v1"].behind({}) == 3
    assert isinstance(found["customers"], BrokerError)


def test_settings_and_schema_come_from_the_discovery() -> None:
    w = world()
    node = w.graph.nodes[w.topic(EAST, "customers")].with_attributes(
        configs={"retention.ms": "604800000", "retention.bytes": "-1"},
        cleanup_policy="delete",
        schema_subject="customers-value",
        schema_version=7,
    )
    facts = topic_facts.facts_of(node, TopicOffsets("customers", ()))
    assert (facts.retention_ms, facts.retention_bytes) == (604_800_000, -1)
    assert (facts.schema_subject, facts.schema_version) == ("customers-value", 7)


def test_max_concurrency_limits_the_clusters_that_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2, timeout=30)

    def reader_for(_settings: Any, *_place: str) -> Reader:
        both.wait()
        return Reader()

    monkeypatch.setattr(topic_facts, "reader_for", reader_for)
    topics = list(world().graph.of_type("kafka_topic"))
    found = [facts for _, facts in topic_facts.read_topics(topics, ConfluentSettings(max_concurrency=2))]
    assert len(found) == len(topics)
    assert not any(isinstance(facts, Exception) for facts in found)
