"""Create the sample topics, schemas and records on the brokers.

Every step is idempotent: existing topics are kept, a registered schema keeps its id, and producing resumes
where it was interrupted. Record i of a topic with n partitions goes to partition i mod n, in order, so a
partition's end offset determines which of its records exist.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import fastavro
import httpx

from lineage_bridge_dagster.embedded.kafka.broker import Broker, KafkaMessage, LocalBrokerError
from lineage_bridge_dagster.embedded.ports import local_client
from lineage_bridge_dagster.embedded.world.model import SampleConsumerGroup, Topic
from lineage_bridge_dagster.embedded.world.places import SCHEMA_REGISTRY_ID, api_key
from lineage_bridge_dagster.embedded.world.topics import GROUPS, TOPICS
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.text import ReportLine

#: First byte of a value in Confluent's wire format; the schema id follows as a big-endian 4-byte integer.
MAGIC = 0
#: Records produced per request.
BATCH = 2000


class StackRequestError(LineageBridgeError):
    """A request to the local stack failed."""


@dataclass(frozen=True, slots=True)
class StackFile:
    """Addresses from `stack.json`: the emulator's, the brokers' by cluster id, Glue's Iceberg endpoint's."""

    confluent_url: str
    brokers: Mapping[str, str]
    iceberg_url: str = ""

    @classmethod
    def read(cls, home: Path) -> StackFile:
        """Read `{home}/stack.json`.

        Raises:
            ConfigurationError: it does not exist or is invalid.
        """
        path = home / "stack.json"
        try:
            stack = json.loads(path.read_text("utf-8"))
            return cls(
                f"http://127.0.0.1:{int(stack['ports']['confluent'])}",
                dict(stack["brokers"]),
                stack.get("urls", {}).get("glue_iceberg", ""),
            )
        except FileNotFoundError as error:
            raise ConfigurationError(
                f"There is no local stack in {home}.", hint="Start one with: lineage-bridge local up"
            ) from error
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(
                f"{path} is not valid: {type(error).__name__}: {error}.",
                hint="Restart the stack with: lineage-bridge local down && lineage-bridge local up",
            ) from error

    def open_brokers(self) -> dict[str, Broker]:
        """Return a client of each broker, by cluster id."""
        from lineage_bridge_dagster.embedded.kafka.client import KafkaBroker

        return {cluster: KafkaBroker(address) for cluster, address in self.brokers.items()}


@dataclass(frozen=True, slots=True)
class SeedReport:
    """Number of topics and records that were added; a second run adds none."""

    topics: int
    records: int


class Encoder:
    """Serializer of one schema's values to Confluent's wire format."""

    def __init__(self, schema: Mapping[str, Any], schema_id: int) -> None:
        self._schema = fastavro.parse_schema(dict(schema))
        self._header = struct.pack(">bI", MAGIC, schema_id)

    def __call__(self, value: Mapping[str, Any]) -> bytes:
        buffer = io.BytesIO()
        buffer.write(self._header)
        fastavro.schemaless_writer(buffer, self._schema, dict(value))
        return buffer.getvalue()


def seed(home: Path, progress: ReportLine = lambda _: None) -> SeedReport:
    """Add the sample topics, schemas, records and consumer groups to a stack.

    Raises:
        ConfigurationError: there is no stack in this home folder.
        StackRequestError: a request to a broker or the registry failed.
    """
    stack = StackFile.read(home)
    with registry_client(stack.confluent_url) as registry:
        return fill(stack.open_brokers(), registry, progress)


def fill(
    brokers: Mapping[str, Broker],
    registry: httpx.Client,
    progress: ReportLine = lambda _: None,
) -> SeedReport:
    """Add the sample topics, schemas, records and consumer groups to brokers and a registry.

    Raises:
        StackRequestError: a request to a broker or the registry failed.
    """
    created = produced = 0
    try:
        for topic in TOPICS:
            created += brokers[topic.cluster].create_topic(topic.name, topic.partitions, topic.configs)
        for topic in TOPICS:
            if topic.schema is None:
                continue
            encoder = Encoder(topic.schema, register(registry, topic))
            added = _produce_missing(brokers[topic.cluster], topic, encoder)
            produced += added
            if added:
                progress(f"{topic.cluster} {topic.name}: {added} records")
        for group in GROUPS:
            _commit(brokers[group.cluster], group)
    except LocalBrokerError as error:
        raise StackRequestError(
            f"The sample records could not be written: {error}",
            hint="Show the logs with: lineage-bridge local logs",
        ) from error
    return SeedReport(created, produced)


def registry_client(confluent_url: str) -> httpx.Client:
    """Return an authenticated client of the emulator's Schema Registry."""
    key = api_key("schema_registry")
    url = f"{confluent_url}/schema-registry/{SCHEMA_REGISTRY_ID}"
    return local_client(base_url=url, auth=(key.key, key.secret), timeout=30)


def register(registry: httpx.Client, topic: Topic) -> int:
    """Register the topic's value schema; return its id.

    Raises:
        StackRequestError: the registry rejected the schema or does not respond.
    """
    path = f"/subjects/{quote(topic.subject, safe='')}/versions"
    try:
        response = registry.post(path, json={"schemaType": "AVRO", "schema": topic.schema_text})
        response.raise_for_status()
        return int(response.json()["id"])
    except (httpx.HTTPError, ValueError, KeyError) as error:
        raise StackRequestError(
            f"The schema of {topic.name} could not be registered: {error}",
            hint="Check that the Confluent emulator is running: lineage-bridge local status",
        ) from error


def has_sample_records(broker: Broker, topic: Topic) -> bool:
    """Whether all initial records of the topic exist."""
    if topic.name not in broker.topics():
        return False
    ends = broker.end_offsets(topic.name)
    return all(ends.get(p, 0) >= _initial_count(topic, p) for p in range(topic.partitions))


def produce_next(broker: Broker, topic: Topic, encoder: Encoder, count: int) -> int:
    """Produce the next `count` records of a topic; return how many records it now has."""
    ends = broker.end_offsets(topic.name)
    partitions, start = len(ends), sum(ends.values())
    for batch in _batches(topic, encoder, ((i, i % partitions) for i in range(start, start + count))):
        broker.produce(topic.name, batch)
    return start + count


def _initial_count(topic: Topic, partition: int) -> int:
    return len(range(partition, topic.records, topic.partitions))


def _produce_missing(broker: Broker, topic: Topic, encoder: Encoder) -> int:
    ends = broker.end_offsets(topic.name)
    missing = (
        (i, i % topic.partitions)
        for i in range(topic.records)
        if i // topic.partitions >= ends.get(i % topic.partitions, 0)
    )
    count = 0
    for batch in _batches(topic, encoder, missing):
        broker.produce(topic.name, batch)
        count += len(batch)
    return count


def _batches(
    topic: Topic, encoder: Encoder, indexes: Iterable[tuple[int, int]]
) -> Iterator[list[KafkaMessage]]:
    batch: list[KafkaMessage] = []
    for index, partition in indexes:
        key, value = topic.record(index)
        batch.append(KafkaMessage(partition, key, encoder(value)))
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _commit(broker: Broker, group: SampleConsumerGroup) -> None:
    """Commit a group's offsets unless the group exists, as it may have advanced since."""
    if group.name in broker.groups():
        return
    ends = broker.end_offsets(group.topic)
    broker.commit(group.name, group.topic, {p: int(end * group.read_share) for p, end in ends.items()})
    if group.name not in broker.groups():
        raise LocalBrokerError(f"the broker lacks the group {group.name}, whose offsets it has accepted")
