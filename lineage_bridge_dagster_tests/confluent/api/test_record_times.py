"""The time of the oldest record that waits, by one record of each partition that is behind."""

from __future__ import annotations

from typing import Any

import confluent_kafka
import pytest

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.errors import BrokerError
from lineage_bridge_dagster.confluent.api.topic_records import oldest_after

BOOTSTRAP = Bootstrap.parse("PLAINTEXT://127.0.0.1:9092")


class Message:
    def __init__(self, partition: int, time: int, error: object = None) -> None:
        self._partition, self._time, self._error = partition, time, error

    def partition(self) -> int:
        return self._partition

    def timestamp(self) -> tuple[int, int]:
        return (1, self._time)

    def error(self) -> object:
        return self._error


class FakeConsumer:
    """Returns these messages, then none. It remembers what it was asked."""

    messages: list[Message | None]
    assigned: dict[int, int]
    options: dict[str, Any]
    closed = False

    def __init__(self, options: dict[str, Any]) -> None:
        type(self).options = options

    def assign(self, partitions: list[Any]) -> None:
        type(self).assigned = {each.partition: each.offset for each in partitions}

    def poll(self, _timeout: float) -> Message | None:
        return self.messages.pop(0) if self.messages else None

    def pause(self, _partitions: list[Any]) -> None:
        return None

    def close(self) -> None:
        type(self).closed = True


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> type[FakeConsumer]:
    class Consumer(FakeConsumer):
        pass

    Consumer.messages, Consumer.assigned = [], {}
    monkeypatch.setattr(confluent_kafka, "Consumer", Consumer)
    return Consumer


def test_it_is_the_earliest_of_the_first_records_of_partitions_that_are_behind(
    consumer: type[FakeConsumer],
) -> None:
    # The second record of partition 0 is older than its first one, and does not count.
    consumer.messages = [Message(0, 500), None, Message(0, 100), Message(2, 400)]
    found = oldest_after(BOOTSTRAP, "orders", {0: 3, 1: 7, 2: 0}, {0: 9, 1: 7, 2: 1})
    assert found == 400
    assert consumer.assigned == {0: 3, 2: 0}
    # An aborted transaction's records never become rows.
    assert consumer.options["isolation.level"] == "read_committed"
    assert consumer.options["enable.auto.commit"] is False
    assert consumer.closed


def test_a_table_that_has_every_record_asks_nothing(consumer: type[FakeConsumer]) -> None:
    assert oldest_after(BOOTSTRAP, "orders", {0: 9}, {0: 9}) is None
    assert not consumer.assigned


def test_partitions_that_give_nothing_in_time_are_left_out(consumer: type[FakeConsumer]) -> None:
    consumer.messages = [Message(0, 500)]
    offsets, ends = {0: 0, 1: 0}, {0: 1, 1: 1}
    assert oldest_after(BOOTSTRAP, "orders", offsets, ends, timeout_seconds=0.05) == 500


def test_a_time_that_the_producer_did_not_write_is_none(consumer: type[FakeConsumer]) -> None:
    consumer.messages = [Message(0, -1)]
    assert oldest_after(BOOTSTRAP, "orders", {0: 0}, {0: 1}) is None


def test_an_error_of_the_brokers_is_one_that_says_what_to_do(consumer: type[FakeConsumer]) -> None:
    consumer.messages = [Message(0, 0, error="not authorized")]
    with pytest.raises(BrokerError, match="times of topic orders: not authorized") as raised:
        oldest_after(BOOTSTRAP, "orders", {0: 0}, {0: 1})
    assert "DeveloperRead" in raised.value.hint
    assert consumer.closed
