"""The dead letter queue of the local stack's Tableflow: a topic whose values are in Confluent's format.

The format is that of the tables to which Flink and Tableflow log errors in Confluent Cloud: when and why,
which table was affected, and the record as it was. The numbers and words for reasons are our own. Confluent's
page "Configure a Dead Letter Queue" and the `tableflow/v1` API are the sources.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.embedded.kafka.broker import Broker, KafkaMessage, LocalBrokerError
from lineage_bridge_dagster.embedded.world.filling import Encoder
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.topic_to_iceberg.dead_letters.letter import DeadLetter

#: Partitions of a topic that is created, as by default in Confluent Cloud.
PARTITIONS = 6


def _optional(kind: Any) -> dict[str, Any]:
    return {"type": ["null", kind], "default": None}


_TIME = {"type": "long", "logicalType": "timestamp-millis"}

SCHEMA: Mapping[str, Any] = {
    "type": "record",
    "name": "ErrorLog",
    "fields": [
        {"name": "error_timestamp", "type": _TIME},
        {"name": "error_code", "type": "int"},
        {"name": "error_reason", "type": "string"},
        {"name": "error_message", "type": "string"},
        {"name": "error_details", "type": {"type": "map", "values": ["null", "string"]}},
        {"name": "processor", "type": "string"},
        {"name": "statement_name", **_optional("string")},
        {"name": "affected_type", "type": "string"},
        {"name": "affected_catalog", **_optional("string")},
        {"name": "affected_database", **_optional("string")},
        {"name": "affected_name", **_optional("string")},
        {
            "name": "source_record",
            **_optional(
                {
                    "type": "record",
                    "name": "SourceRecord",
                    "fields": [
                        {"name": "topic", **_optional("string")},
                        {"name": "partition", **_optional("int")},
                        {"name": "offset", **_optional("long")},
                        {"name": "timestamp", **_optional(_TIME)},
                        {"name": "timestamp_type", **_optional("string")},
                        {"name": "headers", **_optional({"type": "map", "values": ["null", "bytes"]})},
                        {"name": "key", **_optional("bytes")},
                        {"name": "value", **_optional("bytes")},
                    ],
                }
            ),
        },
    ],
}


def register(confluent: ConfluentSession, registry: str, subject: str, schema: str) -> int:
    """Register an Avro schema at a Schema Registry's base URL, and return its id."""
    path = f"/subjects/{quote(subject, safe='')}/versions"
    url = confluent.data_url(registry, path, field="schema_registry_url")
    body = {"schemaType": "AVRO", "schema": schema}
    return int(confluent.post_query(url, Access("schema_registry"), body)["id"])


class EmulatedDeadLetterTopic:
    """Writes dead letters to a topic of their cluster.

    Args:
        register: registers the schema of a subject, as JSON text, and returns its id.
    """

    def __init__(
        self,
        name: str,
        broker: Broker,
        register: Callable[[str, str], int],
        *,
        environment: str,
        cluster: str,
    ) -> None:
        self.name = name
        self._broker = broker
        self._register = register
        self._affected = {"affected_catalog": environment, "affected_database": cluster}
        self._encoder: Encoder | None = None

    def prepare(self) -> None:
        """Create the topic if it does not exist."""
        try:
            self._broker.create_topic(self.name, PARTITIONS, {})
        except LocalBrokerError as error:
            raise self._failure(error) from error

    def write(self, letters: list[DeadLetter]) -> None:
        """Write letters, each to the partition of its record as far as there are as many."""
        if self._encoder is None:
            self._encoder = Encoder(SCHEMA, self._register(f"{self.name}-value", json.dumps(SCHEMA)))
        try:
            partitions = len(self._broker.end_offsets(self.name))
            messages = [
                KafkaMessage(letter.partition % partitions, None, self._encoder(self._value(letter)))
                for letter in letters
            ]
            self._broker.produce(self.name, messages)
        except LocalBrokerError as error:
            raise self._failure(error) from error

    def _failure(self, error: LocalBrokerError) -> LineageBridgeError:
        return LineageBridgeError(
            f"Records that cannot be decoded could not be written to the topic {self.name}: {error}",
            hint="They stay in their topic, and are written when the broker responds again.",
        )

    def _value(self, letter: DeadLetter) -> dict[str, Any]:
        return {
            "error_timestamp": datetime.now(UTC),
            "error_code": 1,
            "error_reason": "DESERIALIZATION",
            "error_message": letter.error,
            "error_details": {},
            "processor": "TABLEFLOW",
            "statement_name": None,
            "affected_type": "TABLE",
            **self._affected,
            "affected_name": letter.topic,
            "source_record": {
                "topic": letter.topic,
                "partition": letter.partition,
                "offset": letter.offset,
                "timestamp": letter.timestamp,
                "timestamp_type": letter.timestamp_type or None,
                # A header name may occur twice. A map keeps the last value, as the table's own column does.
                "headers": dict(letter.headers),
                "key": letter.key,
                "value": letter.value,
            },
        }
