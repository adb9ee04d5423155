"""Topics as DataFrames, and their offsets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.config.credentials import Credential
from lineage_bridge_dagster.errors import LineageBridgeError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Partition -> the offset of the next record.
Offsets = Mapping[int, int]


def read_topic(
    spark: SparkSession,
    topic: str,
    bootstrap: str,
    credential: Credential | None = None,
    *,
    start: Offsets | None = None,
    end: Offsets | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """A lazy DataFrame of a topic's records, with Kafka's own columns and `headers`.

    Args:
        spark: the session.
        topic: its name, read as it is and never as a pattern.
        bootstrap: `host:port`, or a comma list of them, with or without its protocol (see `security`).
        credential: a Kafka key.
        start: where to begin in each partition, else the first record there is.
        end: where to end in each partition, exclusive, else the last one there is when the frame is computed.
        options: further options of Spark's Kafka source; its timestamps win over offsets.
    """
    reader = spark.read.format("kafka").options(**spark_options(bootstrap, credential))
    # `assign` takes the name literally, where `subscribe` splits it at commas.
    if start is not None:
        reader = reader.option("assign", json.dumps({topic: sorted(start)}))
        reader = reader.option("startingOffsets", _offsets(topic, start))
        reader = reader.option("endingOffsets", _offsets(topic, end) if end is not None else "latest")
    else:
        reader = reader.option("subscribe", topic)
        reader = reader.option("startingOffsets", "earliest").option("endingOffsets", "latest")
    return reader.options(**(options or {})).option("includeHeaders", "true").load()


def security(bootstrap: str, credential: Credential | None) -> tuple[str, bool]:
    """The `host:port` list of an endpoint, and whether it is spoken to with TLS and the key.

    `SASL_SSL://` or `PLAINTEXT://` before it decides. Without either, a key means TLS, except for a broker
    on this machine's loopback: that is a local stack's, which has no certificate. A key is never sent in the
    open.
    """
    protocol, _, servers = bootstrap.rpartition("://")
    if protocol:
        return servers, credential is not None and protocol.upper() != "PLAINTEXT"
    hosts = {server.strip().rpartition(":")[0].strip("[]") for server in servers.split(",")}
    return servers, credential is not None and not hosts <= {"127.0.0.1", "localhost", "::1"}


def spark_options(bootstrap: str, credential: Credential | None) -> dict[str, str]:
    """Options of Spark's Kafka source for a cluster."""
    servers, secured = security(bootstrap, credential)
    # Flink and others write in transactions: what they aborted was never said.
    options = {"kafka.bootstrap.servers": servers, "kafka.isolation.level": "read_committed"}
    if secured and credential is not None:
        secret = credential.secret.get_secret_value()
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        options |= {
            "kafka.security.protocol": "SASL_SSL",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.jaas.config": f"{module} required username={_quoted(credential.key)} "
            f"password={_quoted(secret)};",
        }
    return options


def client_options(bootstrap: str, credential: Credential | None) -> dict[str, Any]:
    """Options of confluent-kafka's clients for a cluster."""
    servers, secured = security(bootstrap, credential)
    options: dict[str, Any] = {"bootstrap.servers": servers, "log_level": 0}
    if secured and credential is not None:
        options |= {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": credential.key,
            "sasl.password": credential.secret.get_secret_value(),
        }
    return options


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _offsets(topic: str, offsets: Offsets) -> str:
    return json.dumps({topic: {str(partition): offset for partition, offset in sorted(offsets.items())}})


class TopicNotFoundError(LineageBridgeError):
    """The cluster answered, and has no such topic."""


@dataclass(frozen=True)
class KafkaTopic:
    """A topic to read by ranges of offsets. `name` is the topic's."""

    name: str
    bootstrap: str
    credential: Credential | None = field(default=None, repr=False)
    timeout_seconds: float = 15.0

    @cached_property
    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        # Kept: a client holds threads and connections, and this is asked every few seconds.
        return AdminClient(client_options(self.bootstrap, self.credential))

    def bounds(self) -> tuple[Offsets, Offsets]:
        """The first offset and the end of every partition; it ends where a transaction is open.

        Raises:
            TopicNotFoundError: the cluster has no such topic.
            LineageBridgeError: the cluster did not answer, or refused.
        """
        from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

        try:
            described = self._admin.list_topics(self.name, timeout=self.timeout_seconds).topics[self.name]
            if described.error is not None:
                if described.error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
                    raise TopicNotFoundError(
                        f"Kafka at {self.bootstrap} has no topic {self.name}.",
                        hint="Create it, or run a discovery that no longer finds it.",
                    )
                raise LineageBridgeError(
                    f"Topic {self.name} at {self.bootstrap}: {described.error.str()}",
                    hint="Check the key's rights on the topic.",
                )
            found = []
            for spec in (OffsetSpec.earliest(), OffsetSpec.latest()):  # type: ignore[no-untyped-call]
                asked = {TopicPartition(self.name, number): spec for number in described.partitions}
                answers = self._admin.list_offsets(
                    asked,
                    request_timeout=self.timeout_seconds,
                    isolation_level=IsolationLevel.READ_COMMITTED,
                )
                found.append({tp.partition: future.result().offset for tp, future in answers.items()})
        except KafkaException as error:
            raise LineageBridgeError(
                f"The Kafka cluster at {self.bootstrap} did not answer for topic {self.name}: {error}",
                hint="Check that the broker runs and that its key is right.",
            ) from error
        return found[0], found[1]

    def read(self, spark: SparkSession, start: Offsets, end: Offsets) -> DataFrame:
        """The records of `[start, end)` of each partition, lazily."""
        return read_topic(spark, self.name, self.bootstrap, self.credential, start=start, end=end)
