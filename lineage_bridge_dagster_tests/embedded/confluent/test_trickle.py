"""The Datagen topic goes on growing."""

from __future__ import annotations

import pytest

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.server import ConfluentEmulator
from lineage_bridge_dagster.embedded.confluent.trickle import Trickle
from lineage_bridge_dagster.embedded.kafka.broker import BrokerError, MemoryBroker


def total(emulator: ConfluentEmulator) -> int:
    cluster, topic = world.TRICKLE_TOPIC
    return sum(emulator.brokers[cluster].end_offsets(topic).values())


def test_it_waits_for_the_sample_records_and_then_adds_to_them() -> None:
    with ConfluentEmulator() as emulator:
        trickle = Trickle(emulator.brokers, emulator.app.state, rate=2)
        assert not trickle.step()
        emulator.seed()
        wanted = world.topic(*world.TRICKLE_TOPIC).records
        assert total(emulator) == wanted
        assert all(trickle.step() for _ in range(5))
        assert total(emulator) == wanted + 5


def test_it_rests_while_its_connector_does() -> None:
    with ConfluentEmulator() as emulator:
        emulator.seed()
        trickle = Trickle(emulator.brokers, emulator.app.state, rate=2)
        with emulator.app.state.changing("connectors") as document:
            document[world.TRICKLE_TOPIC[0]]["clickstream-datagen"]["state"] = "PAUSED"
        assert not trickle.step()


def test_a_broker_that_is_away_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> None:
        raise BrokerError("away")

    with ConfluentEmulator() as emulator:
        emulator.seed()
        trickle = Trickle(emulator.brokers, emulator.app.state, rate=2)
        with monkeypatch.context() as patch:
            patch.setattr(MemoryBroker, "produce", away)
            assert not trickle.step()
        assert trickle.step()
