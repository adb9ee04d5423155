"""Topics as DataFrames, and their offsets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.settings import Credential

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
) -> DataFrame:
    """A lazy DataFrame of a topic's records, with Kafka's own columns and `headers`.

    Args:
        spark: the session.
        topic: its name, read as it is and never as a pattern.
        bootstrap: `host:port`, or a comma list of them.
        credential: a Kafka key; without one the connection is neither encrypted nor authenticated, as on a
            broker of this machine.
        start: where to begin in each partition, else the first record there is.
        end: where to end in each partition, exclusive, else the last one there is when the frame is computed.
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
    return reader.option("includeHeaders", "true").load()


def spark_options(bootstrap: str, credential: Credential | None) -> dict[str, str]:
    """Options of Spark's Kafka source for a cluster."""
    options = {"kafka.bootstrap.servers": bootstrap}
    if credential is not None:
        secret = credential.secret.get_secret_value()
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        options |= {
            "kafka.security.protocol": "SASL_SSL",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.jaas.config": f"{module} required username={_quoted(credential.key)} "
            f"password={_quoted(secret)};",
        }
    return options


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _offsets(topic: str, offsets: Offsets) -> str:
    return json.dumps({topic: {str(partition): offset for partition, offset in sorted(offsets.items())}})


@dataclass(frozen=True)
class KafkaTopic:
    """A topic to read by ranges of offsets."""

    name: str
    bootstrap: str
    credential: Credential | None = field(default=None, repr=False)
    timeout_seconds: float = 15.0

    def bounds(self) -> tuple[Offsets, Offsets]:
        """The first offset and the end of every partition.

        Raises:
            LineageBridgeError: the cluster did not answer or has no such topic.
        """
        from confluent_kafka import KafkaError, KafkaException, TopicPartition
        from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

        options: dict[str, Any] = {"bootstrap.servers": self.bootstrap, "log_level": 0}
        if self.credential is not None:
            options |= {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "PLAIN",
                "sasl.username": self.credential.key,
                "sasl.password": self.credential.secret.get_secret_value(),
            }
        try:
            admin = AdminClient(options)
            described = admin.list_topics(self.name, timeout=self.timeout_seconds).topics[self.name]
            if described.error is not None:
                gone = described.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
                raise LineageBridgeError(
                    f"Topic {self.name} at {self.bootstrap}: {described.error.str()}",
                    hint="The topic was deleted." if gone else "Check the key's rights on the topic.",
                )
            found = []
            for spec in (OffsetSpec.earliest(), OffsetSpec.latest()):  # type: ignore[no-untyped-call]
                asked = {TopicPartition(self.name, number): spec for number in described.partitions}
                answers = admin.list_offsets(asked, request_timeout=self.timeout_seconds)
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
