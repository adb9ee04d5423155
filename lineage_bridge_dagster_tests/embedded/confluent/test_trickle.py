"""The Datagen topic keeps growing."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.trickle import Trickle
from lineage_bridge_dagster.embedded.kafka.broker import LocalBrokerError
from lineage_bridge_dagster_tests.embedded.confluent.emulator import ConfluentEmulator
from lineage_bridge_dagster_tests.embedded.kafka.memory_broker import MemoryBroker


def total(emulator: ConfluentEmulator) -> int:
    cluster, topic = world.TRICKLE_TOPIC
    return sum(emulator.brokers[cluster].end_offsets(topic).values())


def test_records_are_added_after_the_sample_records() -> None:
    with ConfluentEmulator() as emulator:
        trickle = Trickle(emulator.brokers, emulator.app.state, rate=2)
        assert not trickle.step()
        emulator.seed()
        initial = world.topic(*world.TRICKLE_TOPIC).records
        assert total(emulator) == initial
        assert all(trickle.step() for _ in range(5))
        assert total(emulator) == initial + 5


def test_no_records_while_the_connector_is_paused() -> None:
    with ConfluentEmulator() as emulator:
        emulator.seed()
        trickle = Trickle(emulator.brokers, emulator.app.state, rate=2)
        with emulator.app.state.changing("connectors") as document:
            document[world.TRICKLE_TOPIC[0]]["clickstream-datagen"]["state"] = "PAUSED"
        assert not trickle.step()


def test_unavailable_broker_is_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise LocalBrokerError("unavailable")

    with ConfluentEmulator() as emulator:
        emulator.seed()
        trickle = Trickle(emulator.brokers, emulator.app.state, rate=2)
        with monkeypatch.context() as patch:
            patch.setattr(MemoryBroker, "produce", fail)
            assert not trickle.step()
        assert trickle.step()
