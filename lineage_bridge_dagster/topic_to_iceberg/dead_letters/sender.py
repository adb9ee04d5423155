"""Transactions that send dead letters again and record it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.clients import (
    ALONE,
    DeadLetterError,
    Outgoing,
    explained,
    producer,
    send,
)
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.headers import StoredLetter, replayed_headers
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.plan import Decision
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.survey import LetterEntry

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Producer

#: Until the brokers abort a transaction that a crash left open, read_committed consumers wait behind it.
TRANSACTION_SECONDS = 60.0

_COMMITS = 5

#: Seconds after which the client itself reports why a transaction cannot be committed.
_TICK = 1.0


def replay_producer(bootstrap: Bootstrap, topic: str) -> Producer:
    """A producer for the replays of a dead letter topic: one at a time, by its transactional id."""
    options = {
        # An error is that of one record.
        **ALONE,
        "transactional.id": f"lineage-bridge-replay-{topic}",
        "transaction.timeout.ms": int(TRANSACTION_SECONDS * 1000),
    }
    return producer(bootstrap, TRANSACTION_SECONDS / 2, options)


class Sender:
    """Sends letters in transactions."""

    def __init__(self, topic: str, open_producer: Callable[[], Producer]) -> None:
        self._topic = topic
        self._open_producer = open_producer
        self._producer = self._opened()
        #: By topic, why it accepts no record at all.
        self.refusals: dict[str, str] = {}

    def send(
        self,
        batch: list[LetterEntry],
        letters: Mapping[str, StoredLetter],
        outgoing: Callable[[StoredLetter, LetterEntry], Outgoing],
        overtaken: Callable[[Mapping[str, tuple[LetterEntry, int]]], dict[str, int]],
    ) -> list[Decision]:
        """Send a batch in one transaction.

        Returns:
            What became of the letters; or, if nothing was sent, of those that are the cause. None of them if
            only some letter of the batch is known to be the cause: then they are to be sent one by one.
        """
        from confluent_kafka import KafkaException

        client = self._producer
        try:
            client.begin_transaction()
            records = [outgoing(letters[entry.identity], entry) for entry in batch]
            results = send(client, records, TRANSACTION_SECONDS, all_or_none=True)
            sent = {
                entry.identity: (entry, result)
                for entry, result in zip(batch, results, strict=True)
                if isinstance(result, int)
            }
            if len(sent) < len(batch):
                causes = _causes(batch, results)
                if not causes and len(batch) == 1:
                    causes = [(batch[0], _reason(client))]
                self._abort()
                return [self._failed(*cause) for cause in causes]
            if newer := overtaken(sent):
                self._abort()
                return [
                    Decision(
                        sent[identity][0],
                        "superseded",
                        f"the record at offset {offset} has its key, and came while this one was being sent",
                    )
                    for identity, offset in newer.items()
                ]
            self._record(
                client, [(letters[identity], offset) for identity, (_, offset) in sent.items()], batch
            )
            _commit(client)
        except KafkaException as error:
            _end(client)
            raise self._failure(error.args[0]) from error
        except BaseException:
            # Interrupted, or the newer records could not be read.
            _end(client)
            raise
        return [Decision(entry, "sent", offset=offset) for entry, offset in sent.values()]

    def _record(
        self, client: Producer, sent: list[tuple[StoredLetter, int]], batch: list[LetterEntry]
    ) -> None:
        """Record the replays, each in the partition of its letter."""
        partitions = {entry.identity: entry.place[0] for entry in batch}
        records = [
            Outgoing(
                self._topic,
                partitions[stored.identity],
                None,
                None,
                replayed_headers(stored, offset),
            )
            for stored, offset in sent
        ]
        for result in send(client, records, TRANSACTION_SECONDS, all_or_none=True):
            if not isinstance(result, int):
                why, hint = explained(result, self._topic)
                self._abort()
                raise DeadLetterError(
                    f"The replay of {len(sent):,} letters could not be recorded, and they were not sent: "
                    f"{why}.",
                    hint=hint,
                )

    def _failed(self, entry: LetterEntry, error: KafkaError | None) -> Decision:
        why, hint = explained(error, entry.topic)
        reason = f"{why}. {hint}"
        if error is not None and error.code() in (
            error.TOPIC_AUTHORIZATION_FAILED,
            error.UNKNOWN_TOPIC_OR_PART,
            error._UNKNOWN_TOPIC,
        ):
            self.refusals[entry.topic] = reason
        return Decision(entry, "failed", reason)

    def _abort(self) -> None:
        """End the transaction without effect, and start with another client.

        librdkafka's sequence numbers may be out of order after one of its records was rejected.
        """
        from confluent_kafka import KafkaException

        try:
            self._producer.abort_transaction(TRANSACTION_SECONDS)
        except KafkaException as error:
            if error.args[0].code() == error.args[0]._FENCED:
                raise self._failure(error.args[0]) from error
        self._producer = self._opened()

    def _opened(self) -> Producer:
        from confluent_kafka import KafkaException

        client = self._open_producer()
        try:
            client.init_transactions(TRANSACTION_SECONDS)
        except KafkaException as error:
            raise self._failure(error.args[0]) from error
        return client

    def _failure(self, error: KafkaError) -> DeadLetterError:
        if error.code() in (error._FENCED, error.PRODUCER_FENCED, error.INVALID_PRODUCER_EPOCH):
            return DeadLetterError(
                f"Another replay of {self._topic} began, and this one stopped.",
                hint="Wait until it is done, then run the command again.",
            )
        why, hint = explained(error, self._topic)
        return DeadLetterError(
            f"The replay of {self._topic} stopped: {why}.",
            hint=f"{hint} What was sent is recorded: run the command again for the rest.",
        )


def _commit(client: Producer) -> None:
    """Commit, and again if no answer came: it is the same commit then."""
    from confluent_kafka import KafkaException

    for attempt in range(_COMMITS):
        try:
            client.commit_transaction(TRANSACTION_SECONDS)
        except KafkaException as error:
            if not error.args[0].retriable() or attempt == _COMMITS - 1:
                raise
        else:
            return


def _end(client: Producer) -> None:
    """Abort what is open, so that consumers don't wait for the brokers to do it; the caller fails anyway."""
    from confluent_kafka import KafkaException

    with suppress(KafkaException):
        client.abort_transaction(TRANSACTION_SECONDS / 4)


def _causes(
    batch: list[LetterEntry], results: list[int | KafkaError | None]
) -> list[tuple[LetterEntry, KafkaError | None]]:
    """The letters because of which a transaction failed; those that only fell with it are not among them."""
    from confluent_kafka import KafkaError as Codes

    fallen = (Codes._PURGE_QUEUE, Codes._PURGE_INFLIGHT, Codes._STATE, Codes.OUT_OF_ORDER_SEQUENCE_NUMBER)
    return [
        (entry, result)
        for entry, result in zip(batch, results, strict=True)
        if result is not None and not isinstance(result, int) and result.code() not in fallen
    ]


def _reason(client: Producer) -> KafkaError | None:
    """Why a transaction can't be committed; None if the brokers did not answer."""
    from confluent_kafka import KafkaException

    try:
        client.commit_transaction(_TICK)
    except KafkaException as error:
        return None if error.args[0].retriable() else error.args[0]
    return None
