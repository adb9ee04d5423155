"""Goes on producing to the Datagen topic while the stack is up, as its connector would."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.state import State
from lineage_bridge_dagster.embedded.kafka.broker import Broker, BrokerError
from lineage_bridge_dagster.embedded.world.filling import Encoder, append, is_filled

log = logging.getLogger(__name__)

#: Seconds to wait while the topic is not yet filled, or its broker does not answer.
PATIENCE = 5.0


class Trickle(threading.Thread):
    """Produces `rate` records a second, once the sample is there and unless the connector is paused."""

    def __init__(self, brokers: Mapping[str, Broker], state: State, rate: float) -> None:
        super().__init__(name="trickle", daemon=True)
        self.cluster, self.name_of_topic = world.TRICKLE_TOPIC
        self.topic = world.topic(*world.TRICKLE_TOPIC)
        self.broker = brokers[self.cluster]
        self.state = state
        self.interval = 1.0 / rate
        self.ended = threading.Event()
        self._encoder: Encoder | None = None

    def run(self) -> None:
        while not self.ended.is_set():
            self.ended.wait(self.interval if self.step() else PATIENCE)

    def stop(self) -> None:
        self.ended.set()

    def step(self) -> bool:
        """Produce one record; False when it isn't time for that."""
        try:
            encoder = self._ready()
            if encoder is None:
                return False
            append(self.broker, self.topic, encoder, 1)
        except BrokerError as error:
            log.warning("no record for %s: %s", self.topic.name, error)
            return False
        return True

    def _ready(self) -> Encoder | None:
        if not self._connector_runs():
            return None
        if self._encoder is None:
            with self.state.reading("schemas") as document:
                versions = document["subjects"].get(self.topic.subject)
            if not versions or self.topic.schema is None or not is_filled(self.broker, self.topic):
                return None
            self._encoder = Encoder(self.topic.schema, versions[-1]["id"])
        return self._encoder

    def _connector_runs(self) -> bool:
        with self.state.reading("connectors") as document:
            return any(
                one["config"].get("kafka.topic") == self.topic.name and one["state"] == "RUNNING"
                for one in document.get(self.cluster, {}).values()
            )
