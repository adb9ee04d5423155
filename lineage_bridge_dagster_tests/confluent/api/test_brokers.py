from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import IsolationLevel, KafkaError, KafkaException, Uuid

from lineage_bridge_dagster.confluent.api.brokers import (
    Bootstrap,
    PartitionOffsets,
    TopicOffsets,
    TopicReader,
)
from lineage_bridge_dagster.confluent.api.errors import BrokerError, TopicNotFoundError


class FakeAdmin:
    """confluent-kafka's admin client over topics of `{name: {partition: (begin, end)}}`.

    `times` has the time of each record from `begin` on, of the partitions whose records have times.
    """

    def __init__(
        self,
        topics: Mapping[str, Mapping[int, tuple[int, int]]],
        times: Mapping[tuple[str, int], list[int]] | None = None,
    ) -> None:
        self.topics = topics
        self.times = times or {}
        self.calls = 0
        self.failing: set[str] = set()
        #: Part of the name of an offset spec that the brokers are too old for.
        self.too_old_for = ""
        self.isolation: list[Any] = []
        self.down = False
        #: Topic -> its id, or the code of the error.
        self.ids: dict[str, Uuid | int] = {}

    def describe_topics(self, topics: Any, *, request_timeout: float) -> Mapping[str, Any]:
        futures: dict[str, Future[Any]] = {name: Future() for name in topics.topic_names}
        for name, future in futures.items():
            found = self.ids.get(name, KafkaError.UNKNOWN_TOPIC_OR_PART)
            if isinstance(found, int):
                future.set_exception(KafkaException(KafkaError(found)))
            else:
                future.set_result(SimpleNamespace(topic_id=found))
        return futures

    def list_topics(self, topic: str | None = None, *, timeout: float) -> Any:
        if self.down:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return SimpleNamespace(
            topics={
                name: SimpleNamespace(error=None, partitions=dict.fromkeys(parts))
                for name, parts in self.topics.items()
            }
        )

    def list_offsets(
        self, offsets: Mapping[Any, Any], *, request_timeout: float, isolation_level: Any = None
    ) -> Mapping[Any, Any]:
        self.calls += 1
        self.isolation.append(isolation_level)
        futures: dict[Any, Future[Any]] = {}
        for one, spec in offsets.items():
            future: Future[Any] = Future()
            kind = type(spec).__name__
            if one.topic in self.failing:
                future.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
            elif self.too_old_for and self.too_old_for in kind:
                future.set_exception(KafkaException(KafkaError(KafkaError.UNSUPPORTED_VERSION)))
            else:
                future.set_result(self._answer(one.topic, one.partition, kind, spec))
            futures[one] = future
        return futures

    def _answer(self, topic: str, partition: int, kind: str, spec: Any) -> Any:
        begin, end = self.topics[topic][partition]
        if kind in ("EarliestSpec", "LatestSpec"):
            return SimpleNamespace(offset=begin if kind == "EarliestSpec" else end, timestamp=-1)
        dated = list(enumerate(self.times.get((topic, partition), ()), start=begin))
        if kind == "TimestampSpec":
            dated = [pair for pair in dated if pair[1] >= spec.timestamp][:1]
        offset, time = max(dated, key=lambda pair: pair[1], default=(-1, -1))
        return SimpleNamespace(offset=offset, timestamp=time)


def reader(admin: FakeAdmin) -> TopicReader:
    return TopicReader(Bootstrap.parse("127.0.0.1:9092"), admin=admin)


def test_many_topics_take_three_offset_calls() -> None:
    admin = FakeAdmin({f"t{n}": {0: (n, n + 10), 1: (0, 0)} for n in range(40)})
    found = reader(admin).read(f"t{n}" for n in range(40))
    assert found["t7"] == TopicOffsets("t7", (PartitionOffsets(0, 7, 17), PartitionOffsets(1, 0, 0)))
    assert admin.calls == 3


def test_last_record_time_is_the_latest_of_all_partitions() -> None:
    admin = FakeAdmin({"t": {0: (0, 3), 1: (5, 6), 2: (0, 0)}}, {("t", 0): [100, 900, 300], ("t", 1): [400]})
    found = reader(admin).read(["t"])["t"]
    assert isinstance(found, TopicOffsets)
    assert (found.last_record_ms, found.records, found.untimed) == (900, 4, "")


def test_records_without_a_time_have_no_last_record_time() -> None:
    found = reader(FakeAdmin({"t": {0: (0, 3)}, "empty": {0: (4, 4)}})).read(["t", "empty"])
    for topic in found.values():
        assert isinstance(topic, TopicOffsets)
        assert topic.last_record_ms is None
        assert not topic.untimed


def test_old_brokers_return_offsets_without_last_record_time() -> None:
    admin = FakeAdmin({"t": {0: (0, 3)}}, {("t", 0): [1, 2, 3]})
    admin.too_old_for = "MaxTimestamp"
    found = reader(admin).read(["t"])["t"]
    assert isinstance(found, TopicOffsets)
    assert found.partitions == (PartitionOffsets(0, 0, 3),)
    assert found.last_record_ms is None
    assert "127.0.0.1:9092" in found.untimed


def test_first_after_is_the_earliest_committed_record_of_all_partitions() -> None:
    times = {("a", 0): [100, 200, 300], ("a", 1): [250], ("b", 0): [50]}
    admin = FakeAdmin({"a": {0: (0, 3), 1: (0, 1), 2: (7, 7)}, "b": {0: (0, 1)}}, times)
    opened = reader(admin)
    topics = [topic for topic in opened.read(["a", "b"]).values() if isinstance(topic, TopicOffsets)]
    before = admin.calls
    assert opened.first_after(topics, {"a": 200, "b": 50}) == {"a": 250, "b": None}
    assert admin.calls == before + 1
    assert admin.isolation[-1] == IsolationLevel.READ_COMMITTED


def test_failing_partition_fails_its_topic() -> None:
    admin = FakeAdmin({"a": {0: (0, 1)}, "b": {0: (0, 1)}}, {("a", 0): [9], ("b", 0): [9]})
    opened = reader(admin)
    topics = [topic for topic in opened.read(["a", "b"]).values() if isinstance(topic, TopicOffsets)]
    admin.failing = {"a"}
    found = opened.first_after(topics, {"a": 0, "b": 0})
    assert isinstance(found["a"], BrokerError)
    assert found["b"] == 9


def test_failing_topic_leaves_the_others() -> None:
    admin = FakeAdmin({"a": {0: (0, 1)}, "b": {0: (0, 1)}})
    admin.failing = {"a"}
    found = reader(admin).read(["a", "b", "deleted"])
    assert isinstance(found["a"], BrokerError)
    assert isinstance(found["b"], TopicOffsets)
    assert isinstance(found["deleted"], BrokerError)
    assert "deleted" in found["deleted"].message
    assert list(found) == ["a", "b", "deleted"]


def test_unavailable_cluster_raises_one_clear_error() -> None:
    admin = FakeAdmin({})
    admin.down = True
    with pytest.raises(BrokerError, match=r"127\.0\.0\.1:9092") as raised:
        reader(admin).read(["a"])
    assert "Kafka key" in raised.value.hint


def test_no_topics_need_no_request() -> None:
    admin = FakeAdmin({})
    admin.down = True
    assert reader(admin).read([]) == {}


def test_committed_bounds_of_each_partition() -> None:
    admin = FakeAdmin({"t": {0: (3, 9), 1: (0, 0)}})
    assert reader(admin).committed_bounds("t") == ({0: 3, 1: 0}, {0: 9, 1: 0})
    assert admin.isolation == [IsolationLevel.READ_COMMITTED] * 2


def test_bounds_fail_for_an_unknown_topic_or_a_failing_partition() -> None:
    admin = FakeAdmin({"t": {0: (3, 9)}})
    with pytest.raises(TopicNotFoundError, match="deleted"):
        reader(admin).committed_bounds("deleted")
    admin.failing = {"t"}
    with pytest.raises(BrokerError, match="topic t"):
        reader(admin).committed_bounds("t")


def test_id_of_a_topic_that_the_brokers_did_not_tell_is_an_error() -> None:
    """It is not the empty id of brokers that have none: the topic could have been created again."""
    admin = FakeAdmin({})
    admin.ids = {
        "known": Uuid(1, 2),
        "zero": Uuid(0, 0),
        "old": KafkaError.UNSUPPORTED_VERSION,
        "down": KafkaError._TRANSPORT,
    }
    asked = reader(admin)
    assert asked.topic_id("known")
    assert (asked.topic_id("zero"), asked.topic_id("old")) == ("", "")
    with pytest.raises(BrokerError, match=r"127\.0\.0\.1:9092 could not return topic down"):
        asked.topic_id("down")
    with pytest.raises(TopicNotFoundError, match="has no topic gone"):
        asked.topic_id("gone")
