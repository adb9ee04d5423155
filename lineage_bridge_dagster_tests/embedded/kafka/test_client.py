"""A broker that isn't ready for a question yet."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from lineage_bridge_dagster.embedded.kafka.broker import BrokerError
from lineage_bridge_dagster.embedded.kafka.client import KafkaBroker


class Admin:
    """Answers a list of groups with each of these errors, then without."""

    def __init__(self, *errors: int) -> None:
        self.errors = list(errors)
        self.asked = 0

    def list_consumer_groups(self, **_: Any) -> Future[Any]:
        self.asked += 1
        errors = [KafkaError(self.errors.pop(0))] if self.errors else []
        answer: Future[Any] = Future()
        answer.set_result(SimpleNamespace(valid=[], errors=errors))
        return answer


def _asked(admin: Admin) -> KafkaBroker:
    broker = KafkaBroker("127.0.0.1:1")
    broker._admin = admin  # type: ignore[assignment]
    return broker


def test_groups_are_asked_again_while_their_coordinator_loads() -> None:
    admin = Admin(KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.COORDINATOR_NOT_AVAILABLE)
    assert _asked(admin).groups() == {}
    assert admin.asked == 3


def test_another_error_is_said_at_once() -> None:
    admin = Admin(KafkaError.CLUSTER_AUTHORIZATION_FAILED)
    with pytest.raises(BrokerError, match=r"127\.0\.0\.1:1"):
        _asked(admin).groups()
    assert admin.asked == 1
