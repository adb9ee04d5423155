"""Produce records to the Datagen topic while the stack is running, as its connector would."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping

from lineage_bridge_dagster.embedded import world
from lineage_bridge_dagster.embedded.confluent.state import EmulatorState
from lineage_bridge_dagster.embedded.kafka.broker import Broker, LocalBrokerError
from lineage_bridge_dagster.embedded.world.filling import Encoder, has_sample_records, produce_next

log = logging.getLogger(__name__)

#: Seconds to wait while the topic has no sample data yet, or its broker does not respond.
RETRY_DELAY = 5.0


class Trickle(threading.Thread):
    """Produce `rate` records per second, once the sample data exists and while the connector is running."""

    def __init__(self, brokers: Mapping[str, Broker], state: EmulatorState, rate: float) -> None:
        super().__init__(name="trickle", daemon=True)
        self.cluster, _ = world.TRICKLE_TOPIC
        self.topic = world.topic(*world.TRICKLE_TOPIC)
        self.broker = brokers[self.cluster]
        self.state = state
        self.interval = 1.0 / rate
        self._encoder: Encoder | None = None

    def run(self) -> None:
        while True:
            time.sleep(self.interval if self.step() else RETRY_DELAY)

    def step(self) -> bool:
        """Produce one record; return False if that is not possible yet."""
        try:
            encoder = self._get_encoder()
            if encoder is None:
                return False
            produce_next(self.broker, self.topic, encoder, 1)
        except LocalBrokerError as error:
            log.warning("No record produced to %s: %s", self.topic.name, error)
            return False
        return True

    def _get_encoder(self) -> Encoder | None:
        if not self._connector_is_running():
            return None
        if self._encoder is None:
            with self.state.reading("schemas") as document:
                versions = document["subjects"].get(self.topic.subject)
            if not versions or self.topic.schema is None or not has_sample_records(self.broker, self.topic):
                return None
            self._encoder = Encoder(self.topic.schema, versions[-1]["id"])
        return self._encoder

    def _connector_is_running(self) -> bool:
        with self.state.reading("connectors") as document:
            return any(
                connector["config"].get("kafka.topic") == self.topic.name and connector["state"] == "RUNNING"
                for connector in document.get(self.cluster, {}).values()
            )
