"""OpenLineage's transports to Kafka, made to tell what was not delivered."""

from __future__ import annotations

from typing import Any

from openlineage.client.serde import Serde
from openlineage.client.transport import KafkaTransport, Transport

from lineage_bridge_dagster.openlineage.emission import EventRefused


class ConfirmedKafka(Transport):
    """Produces events without waiting for each; `confirm` waits for all of them.

    The client's own transports wait for each event without a limit, and only log an error.

    Args:
        transport: Has the producer, the topic and the keys.
    """

    kind = "kafka"

    def __init__(self, transport: KafkaTransport) -> None:
        self._inner = transport
        self._errors: list[str] = []

    def emit(self, event: Any) -> None:
        """Hand an event to the producer.

        Raises:
            EventRefused: It is larger than the producer may send.
        """
        producer: Any = self._inner.producer
        try:
            producer.produce(
                topic=self._inner.topic,
                key=self._inner.message_key or self._inner._get_message_key(event),
                value=Serde.to_json(event).encode(),
                on_delivery=self._delivered,
            )
        except Exception as error:
            if "MSG_SIZE_TOO_LARGE" in str(error):
                raise EventRefused("it is larger than message.max.bytes of the producer") from error
            raise
        producer.poll(0)

    def confirm(self, seconds: float) -> None:
        """Wait until Kafka has all events.

        Raises:
            RuntimeError: It did not take one.
            TimeoutError: It did not confirm all of them in time.
        """
        producer: Any = self._inner.producer
        left = producer.flush(seconds)
        errors, self._errors = self._errors, []
        if left:
            producer.purge()
        if errors:
            raise RuntimeError(errors[0])
        if left:
            raise TimeoutError(f"{left} events were not confirmed within {seconds:.0f} s")

    def close(self, timeout: float = -1) -> bool:
        """Close the connection, waiting at most `timeout` seconds."""
        return bool(self._inner.close(timeout))

    def _delivered(self, error: Any, _message: Any) -> None:
        if error is not None:
            self._errors.append(str(error))
