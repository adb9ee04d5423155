"""Letters are stored or the table stops; the topic is created so that it keeps all of them."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.clients import DeadLetterError
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.headers import LetterOrigin, stored_letter
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.topic import ROOM, DeadLetterTopic
from lineage_bridge_dagster_tests.topic_to_iceberg.dead_letters.kafka_doubles import FakeAdmin, FakeProducer
from lineage_bridge_dagster_tests.topic_to_iceberg.dead_letters.letters import AT, letter

EXISTING = {"orders.v1": {"max.message.bytes": "1000"}, "errors": {"cleanup.policy": "delete"}}


def queue(producer: FakeProducer, admin: FakeAdmin | None = None, **options: Any) -> DeadLetterTopic:
    return DeadLetterTopic(
        "errors",
        "orders.v1",
        Bootstrap.parse("127.0.0.1:9092"),
        LetterOrigin("sales.orders", "append"),
        open_producer=lambda _options: producer,
        admin=admin or FakeAdmin(dict(EXISTING)),
        clock=lambda: AT,
        **options,
    )


class TestWriting:
    def test_letter_is_the_record_in_its_partition_with_its_account(self) -> None:
        producer = FakeProducer()
        letters = [letter(1, partition=1), letter(2, partition=4, key=None, value=None)]
        queue(producer).write(letters)
        first, second = producer.delivered
        assert (first.topic, first.partition, first.key, first.value) == (
            "errors",
            1,
            b"k",
            letters[0].value,
        )
        assert (second.partition, second.key, second.value) == (0, None, None)
        # The time of the error: with the record's own, a retention could delete the letter at once.
        assert first.timestamp == 0
        for record, one in zip(producer.delivered, letters, strict=True):
            found = stored_letter(tuple(record.headers), record.key, record.value)
            assert found is not None
            assert found.letter == one

    def test_full_queue_of_the_client_is_waited_for(self) -> None:
        producer = FakeProducer(room=2)
        queue(producer).write([letter(offset, value=b"%d" % offset) for offset in range(7)])
        assert [record.value for record in producer.delivered] == [b"%d" % offset for offset in range(7)]

    @pytest.mark.parametrize(
        ("code", "said"),
        [
            (KafkaError.MSG_SIZE_TOO_LARGE, "Raise max.message.bytes of errors"),
            (KafkaError.TOPIC_AUTHORIZATION_FAILED, "ACL for WRITE"),
            (KafkaError.UNKNOWN_TOPIC_OR_PART, "errors does not exist"),
            (KafkaError._UNKNOWN_PARTITION, "was deleted, or created again with fewer"),
            (KafkaError._DESTROY, "its partition disappeared (Local: "),
            (KafkaError._DESTROY, "was deleted, or created again with fewer"),
            (KafkaError._MSG_TIMED_OUT, "Check the brokers"),
            (None, "no broker acknowledged it in errors in time"),
        ],
    )
    def test_letter_that_is_not_stored_stops_the_table_with_an_error_that_names_it(
        self, code: int | None, said: str
    ) -> None:
        producer = FakeProducer(errors={b"bad": code})
        with pytest.raises(DeadLetterError) as error:
            queue(producer).write([letter(1), letter(2, value=b"bad"), letter(3, value=b"bad")])
        text = str(error.value)
        assert said in text
        for fact in ("orders.v1", "sales.orders", "partition 1", "offset 2", "4 bytes", "(and 1 more)"):
            assert fact in text

    def test_another_client_writes_after_a_failure(self) -> None:
        """What the failed one still holds must not be stored a second time, later."""
        stuck, fresh = FakeProducer(errors={b"bad": None}), FakeProducer()
        opened = [stuck, fresh]
        topic = DeadLetterTopic(
            "errors",
            "orders.v1",
            Bootstrap.parse("127.0.0.1:9092"),
            LetterOrigin("sales.orders"),
            open_producer=lambda _options: opened.pop(0),
            admin=FakeAdmin(dict(EXISTING)),
        )
        with pytest.raises(DeadLetterError):
            topic.write([letter(value=b"bad")])
        topic.write([letter(value=b"bad")])
        assert len(fresh.delivered) == 1


class TestPreparing:
    def test_missing_topic_is_created_with_room_for_every_record_and_without_an_end(self) -> None:
        admin = FakeAdmin({"orders.v1": {"max.message.bytes": "10485760"}})
        queue(FakeProducer(), admin).prepare()
        [created] = admin.created
        assert (created.topic, created.num_partitions, created.replication_factor) == ("errors", -1, -1)
        assert admin.topics["errors"] == {
            "cleanup.policy": "delete",
            "retention.ms": "-1",
            "max.message.bytes": str(10485760 + ROOM),
        }

    def test_new_topic_is_waited_for_until_the_broker_that_is_asked_knows_it(self) -> None:
        class Lagging(FakeAdmin):
            unknown = 2

            def list_topics(self, topic: str | None = None, *, timeout: float) -> Any:
                if self.created and self.unknown:
                    self.unknown -= 1
                    return SimpleNamespace(topics={})
                return super().list_topics(topic, timeout=timeout)

        admin = Lagging({"orders.v1": {}})
        topic = queue(FakeProducer(), admin)
        topic.prepare()
        assert admin.unknown == 0
        topic.write([letter()])

    @pytest.mark.parametrize("code", [KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.POLICY_VIOLATION])
    def test_topic_that_cannot_be_created_is_an_error_with_the_command(self, code: int) -> None:
        admin = FakeAdmin({"orders.v1": {}}, create_error=code)
        with pytest.raises(DeadLetterError, match=r"The topic errors .* does not exist") as error:
            queue(FakeProducer(), admin).prepare()
        assert "kafka-topics --bootstrap-server 127.0.0.1:9092 --create --topic errors" in error.value.hint
        assert "--config retention.ms=-1" in error.value.hint

    def test_topic_that_another_process_creates_meanwhile_is_taken(self) -> None:
        class Racing(FakeAdmin):
            def create_topics(self, topics: list[Any], **options: Any) -> Any:
                self.topics["errors"] = {}
                return super().create_topics(topics, **options)

        admin = Racing({"orders.v1": {}}, create_error=KafkaError.TOPIC_ALREADY_EXISTS)
        queue(FakeProducer(), admin).prepare()
        assert admin.created == []

    def test_topic_that_the_key_may_not_see_is_an_error(self) -> None:
        with pytest.raises(DeadLetterError, match="could not be prepared"):
            queue(FakeProducer(), FakeAdmin(dict(EXISTING), denied={"errors"})).prepare()

    @pytest.mark.parametrize("policy", ["compact", "compact,delete"])
    def test_compacted_topic_is_refused(self, policy: str) -> None:
        admin = FakeAdmin({**EXISTING, "errors": {"cleanup.policy": policy}})
        with pytest.raises(DeadLetterError, match="is compacted"):
            queue(FakeProducer(), admin).prepare()

    def test_topic_with_less_room_than_its_source_is_warned_of(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        admin = FakeAdmin({**EXISTING, "errors": {"max.message.bytes": "999"}})
        with caplog.at_level(logging.WARNING):
            queue(FakeProducer(), admin).prepare()
        assert f"Raise max.message.bytes of errors to {1000 + ROOM}" in caplog.text
