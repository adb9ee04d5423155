"""The topic that dead letters are written to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.brokers import admin_client
from lineage_bridge_dagster.lineage.times import utc_now
from lineage_bridge_dagster.redaction.redact import redact_text
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.clients import (
    ALONE,
    DeadLetterError,
    Outgoing,
    explained,
    log,
    producer,
    send,
    topic_configs,
)
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.headers import LetterOrigin, letter_headers
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import DeadLetter

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Producer
    from confluent_kafka.admin import AdminClient

#: Bytes that a letter may have besides its record: the headers of its account, and the batch's own.
ROOM = 16 * 1024

#: Kafka's own default of `max.message.bytes`.
_DEFAULT_LIMIT = 1_048_588

#: Seconds within which all brokers know a topic that was created.
_PROPAGATION_SECONDS = 10.0


class DeadLetterTopic:
    """Writes dead letters to a topic of their cluster, in the format of `headers`.

    A letter is stored once by each `write` that returns. A process that ends between a write and the commit
    that passes the record writes it again; the letter's identity tells that it is the same one.

    Args:
        name: the topic.
        source: the topic whose letters it gets: a letter must have room where its record had.
        bootstrap: how to connect to the brokers of both.
        origin: the table that rejects the records.
        timeout_seconds: after which a letter that is not acknowledged has failed.
        open_producer: replaces confluent-kafka's producer; gets further options.
        admin: replaces confluent-kafka's admin client.
        clock: the time of the errors.
    """

    def __init__(
        self,
        name: str,
        source: str,
        bootstrap: Bootstrap,
        origin: LetterOrigin,
        *,
        timeout_seconds: float = 60.0,
        open_producer: Callable[[Mapping[str, Any]], Producer] | None = None,
        admin: AdminClient | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.name = name
        self._source = source
        self._bootstrap = bootstrap
        self._origin = origin
        self._timeout = timeout_seconds
        self._open = open_producer or partial(producer, bootstrap, timeout_seconds)
        self._given_admin = admin
        self._clock = clock
        self._producer: Producer | None = None
        self._partitions = 0

    def prepare(self) -> None:
        """Create the topic if it does not exist; refuse one that would lose letters.

        Raises:
            DeadLetterError: it does not exist and could not be created, or it is compacted, which would
                delete letters of a key that occurs again.
        """
        from confluent_kafka import KafkaException

        admin = self._admin()
        try:
            found = self._described(admin)
            configs = topic_configs(admin, (self.name, self._source), self._timeout)
            source_limit = int(configs.get(self._source, {}).get("max.message.bytes") or _DEFAULT_LIMIT)
            if found is None:
                self._create(admin, source_limit)
                found = self._described_soon(admin)
        except (KafkaException, TimeoutError) as error:
            raise self._failure(
                f"could not be prepared: {_text(error)}", "Check the brokers and the key."
            ) from error
        self._partitions = len(found.partitions) if found is not None else 0
        own = configs.get(self.name, {})
        if "compact" in own.get("cleanup.policy", ""):
            raise self._failure(
                "is compacted, so letters whose record's key occurs again would be deleted",
                f"kafka-configs --alter --topic {self.name} --add-config cleanup.policy=delete; or "
                "name another topic.",
            )
        limit = own.get("max.message.bytes")
        if limit and int(limit) < source_limit:
            log.warning(
                "%s takes records of up to %s bytes, and %s of up to %s: a letter of a larger one stops the "
                "table. Raise max.message.bytes of %s to %s.",
                *(self.name, limit, self._source, source_limit, self.name, source_limit + ROOM),
            )

    def write(self, letters: list[DeadLetter]) -> None:
        """Write letters, each to the partition of its record as far as there are as many.

        Raises:
            DeadLetterError: a letter was not acknowledged; those before and after it may be stored.
        """
        from confluent_kafka import KafkaException

        try:
            if not self._partitions:
                described = self._described(self._admin())
                if described is None:
                    raise self._failure("does not exist", self._command(_DEFAULT_LIMIT))
                self._partitions = len(described.partitions)
            failed = self._send(letters)
        except KafkaException as error:
            self._producer = None
            raise self._failure(f"could not be written to: {_text(error)}", "") from error
        if not failed:
            return
        self._partitions = 0
        letter, result = failed[0]
        why, hint = explained(result, self.name)
        others = f" (and {len(failed) - 1:,} more)" if len(failed) > 1 else ""
        raise DeadLetterError(
            f"A record of topic {letter.topic} without a row in {self._origin.table} could not be kept as a "
            f"dead letter{others}: {why}. It is at partition {letter.partition} offset {letter.offset}, has "
            f"{letter.size:,} bytes, and was rejected because of this: {letter.error}",
            hint=f"{hint} The record stays in its topic, and the table goes on when it can be written.",
        )

    def _send(self, letters: Sequence[DeadLetter]) -> list[tuple[DeadLetter, KafkaError | None]]:
        """Send letters; returns those that were not stored, with their errors."""
        from confluent_kafka import KafkaError as Codes

        if self._producer is None:
            self._producer = self._open({})
        failed = self._sent(self._producer, letters)
        if failed:
            # What the client still holds must not be sent later, when the same letters are written again.
            self._producer = None
        large = [
            one for one, error in failed if error is not None and error.code() == Codes.MSG_SIZE_TOO_LARGE
        ]
        if len(large) > 1 and len(large) == len(failed):
            return self._sent(self._open(ALONE), large)
        return failed

    def _sent(
        self, client: Producer, letters: Sequence[DeadLetter]
    ) -> list[tuple[DeadLetter, KafkaError | None]]:
        at = self._clock()
        records = [self._record(letter, at) for letter in letters]
        results = send(client, records, self._timeout + 5)
        return [
            (letter, result)
            for letter, result in zip(letters, results, strict=True)
            if not isinstance(result, int)
        ]

    def _record(self, letter: DeadLetter, at: datetime) -> Outgoing:
        headers = letter_headers(letter, self._origin, at)
        partition = letter.partition % self._partitions
        return Outgoing(self.name, partition, letter.key, letter.value, headers)

    def _admin(self) -> AdminClient:
        if self._given_admin is None:
            self._given_admin = admin_client(self._bootstrap, self._timeout)
        return self._given_admin

    def _described(self, admin: AdminClient) -> Any | None:
        """The topic's metadata; None if it does not exist or the key may not see it."""
        from confluent_kafka import KafkaError, KafkaException

        found = admin.list_topics(self.name, timeout=self._timeout).topics.get(self.name)
        if found is None or found.error is None:
            return found
        if found.error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
            return None
        raise KafkaException(found.error)

    def _described_soon(self, admin: AdminClient) -> Any | None:
        """The metadata of a topic that was just created, which not all brokers may know at once."""
        retrying = Retrying(
            retry=retry_if_result(lambda found: found is None or not found.partitions),
            stop=stop_after_delay(_PROPAGATION_SECONDS),
            wait=wait_fixed(0.2),
            retry_error_callback=lambda _: None,
        )
        return retrying(self._described, admin)

    def _create(self, admin: AdminClient, source_limit: int) -> None:
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

        # As many partitions and replicas as the brokers' own defaults.
        topic = NewTopic(self.name, -1, -1, config=_creation_configs(source_limit))
        try:
            admin.create_topics([topic], operation_timeout=self._timeout)[self.name].result(self._timeout)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                why = f"does not exist, and could not be created: {_text(error)}"
                raise self._failure(why, self._command(source_limit)) from error
        else:
            log.info("Created the topic %s for dead letters", self.name)

    def _command(self, source_limit: int) -> str:
        configs = " ".join(f"--config {k}={v}" for k, v in _creation_configs(source_limit).items())
        return (
            f"Create it: kafka-topics --bootstrap-server {self._bootstrap.servers} --create "
            f"--topic {self.name} {configs}"
        )

    def _failure(self, what: str, hint: str) -> DeadLetterError:
        return DeadLetterError(
            f"The topic {self.name} for dead letters of topic {self._source} ({self._origin.table}) {what}.",
            hint=hint,
        )


def _creation_configs(source_limit: int) -> dict[str, str]:
    """Letters stay for ever, so that none is lost before somebody looks."""
    return {
        "cleanup.policy": "delete",
        "retention.ms": "-1",
        "max.message.bytes": str(source_limit + ROOM),
    }


def _text(error: Exception) -> str:
    inner = error.args[0] if error.args else error
    text = inner.str() if hasattr(inner, "str") else str(inner)
    return redact_text(text) or type(error).__name__
