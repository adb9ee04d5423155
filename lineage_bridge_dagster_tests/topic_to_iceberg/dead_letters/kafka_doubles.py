"""Doubles of confluent-kafka's clients. `test_real_broker` holds the real ones to the same behaviour."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError, KafkaException


@dataclass
class FakeProducer:
    """Keeps what is produced until it is flushed or polled, as librdkafka does; then reports deliveries.

    Attributes:
        errors: the error's code by value; `None` for a record that is never answered.
        room: records that its queue holds.
    """

    errors: dict[bytes | None, int | None] = field(default_factory=dict)
    room: int = 1000
    delivered: list[SimpleNamespace] = field(default_factory=list)
    queue: list[tuple[SimpleNamespace, Callable[..., None]]] = field(default_factory=list)

    def produce(self, topic: str, /, **arguments: Any) -> None:
        if len(self.queue) >= self.room:
            raise BufferError("Local: Queue full")
        on_delivery = arguments.pop("on_delivery")
        code = self.errors.get(arguments["value"])
        # librdkafka refuses these at once, and reports the others.
        if code == KafkaError._UNKNOWN_PARTITION:
            raise KafkaException(KafkaError(code))
        self.queue.append((SimpleNamespace(topic=topic, **arguments), on_delivery))

    def poll(self, _timeout: float = 0) -> int:
        queue, self.queue = self.queue, []
        for record, on_delivery in queue:
            if record.value in self.errors:
                code = self.errors[record.value]
                if code is None:
                    self.queue.append((record, on_delivery))
                else:
                    on_delivery(KafkaError(code), SimpleNamespace(offset=lambda: None))
                continue
            self.delivered.append(record)
            offset = len(self.delivered) - 1
            on_delivery(None, SimpleNamespace(offset=lambda offset=offset: offset))
        return len(queue)

    def flush(self, _timeout: float = 0) -> int:
        self.poll()
        return len(self.queue)

    def init_transactions(self, _timeout: float = 0) -> None: ...

    def begin_transaction(self) -> None: ...

    def commit_transaction(self, _timeout: float = 0) -> None: ...

    def abort_transaction(self, _timeout: float = 0) -> None: ...


@dataclass
class FakeAdmin:
    """Topics with their configs; creating one may be refused with an error's code."""

    topics: dict[str, dict[str, str]] = field(default_factory=dict)
    partitions: int = 2
    denied: set[str] = field(default_factory=set)
    create_error: int | None = None
    created: list[Any] = field(default_factory=list)

    def list_topics(self, topic: str | None = None, *, timeout: float) -> Any:
        assert topic is not None
        error = None
        if topic in self.denied:
            error = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
        elif topic not in self.topics:
            error = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
        partitions = {} if error else dict.fromkeys(range(self.partitions))
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions=partitions, error=error)})

    def create_topics(self, topics: list[Any], **_: Any) -> dict[str, Future[None]]:
        future: Future[None] = Future()
        [topic] = topics
        if self.create_error is not None:
            future.set_exception(KafkaException(KafkaError(self.create_error)))
        else:
            self.created.append(topic)
            self.topics[topic.topic] = dict(topic.config)
            future.set_result(None)
        return {topic.topic: future}

    def describe_configs(self, resources: list[Any], **_: Any) -> dict[Any, Future[Any]]:
        found: dict[Any, Future[Any]] = {}
        for resource in resources:
            future: Future[Any] = Future()
            if resource.name in self.topics:
                configs = self.topics[resource.name].items()
                future.set_result({name: SimpleNamespace(value=value) for name, value in configs})
            else:
                future.set_exception(KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)))
            found[resource] = future
        return found
