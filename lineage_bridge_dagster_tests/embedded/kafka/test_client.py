"""The broker client retries transient errors, and does not wait for a broker that is not there."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from lineage_bridge_dagster.embedded.dagster_process import free_port
from lineage_bridge_dagster.embedded.kafka.broker import LocalBrokerError
from lineage_bridge_dagster.embedded.kafka.client import KafkaBroker


class Admin:
    """Lists no groups, and reports one of the given errors in each call until none is left."""

    def __init__(self, *errors: int) -> None:
        self.errors = list(errors)
        self.calls = 0

    def list_consumer_groups(self, **_: Any) -> Future[Any]:
        self.calls += 1
        errors = [KafkaError(self.errors.pop(0))] if self.errors else []
        result: Future[Any] = Future()
        result.set_result(SimpleNamespace(valid=[], errors=errors))
        return result

    def alter_consumer_group_offsets(self, request: Any, **_: Any) -> dict[str, Future[Any]]:
        """Report the error on the last partition, as librdkafka does."""
        self.calls += 1
        error = KafkaError(self.errors.pop(0)) if self.errors else None
        partitions = [SimpleNamespace(error=None), SimpleNamespace(error=error)]
        result: Future[Any] = Future()
        result.set_result(SimpleNamespace(topic_partitions=partitions))
        return {request[0].group_id: result}


def _broker(admin: Admin) -> KafkaBroker:
    broker = KafkaBroker("127.0.0.1:1")
    broker._admin = admin  # type: ignore[assignment]
    return broker


def test_listing_groups_is_retried_while_the_coordinator_loads() -> None:
    admin = Admin(KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.COORDINATOR_NOT_AVAILABLE)
    assert _broker(admin).groups() == {}
    assert admin.calls == 3


def test_other_errors_are_raised_without_retry() -> None:
    admin = Admin(KafkaError.CLUSTER_AUTHORIZATION_FAILED)
    with pytest.raises(LocalBrokerError, match=r"127\.0\.0\.1:1"):
        _broker(admin).groups()
    assert admin.calls == 1


def test_a_broker_that_does_not_listen_is_not_asked() -> None:
    """librdkafka would try until the timeout."""
    with pytest.raises(LocalBrokerError, match="no broker listens at"):
        KafkaBroker(f"127.0.0.1:{free_port()}").topics()


def test_a_commit_that_a_partition_refuses_is_tried_again() -> None:
    admin = Admin(KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.NOT_COORDINATOR)
    _broker(admin).commit("group", "orders", {0: 1, 1: 2})
    assert admin.calls == 3


def test_a_commit_that_fails_is_an_error() -> None:
    admin = Admin(KafkaError.GROUP_AUTHORIZATION_FAILED)
    with pytest.raises(LocalBrokerError, match=r"127\.0\.0\.1:1"):
        _broker(admin).commit("group", "orders", {0: 1, 1: 2})
