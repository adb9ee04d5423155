"""Data classes of the sample platform, without I/O."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_bridge_dagster.embedded.world.records import SampleRecords

#: The kind of Confluent's own storage.
MANAGED_STORAGE = "Managed"

DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Cluster:
    """One Kafka cluster.

    `glue_database` is the Glue integration's `custom_database`; by default Tableflow uses the cluster's id.
    """

    id: str
    name: str
    cloud: str
    region: str
    bucket: str
    integration_id: str
    provider_integration_id: str
    glue_database: str | None = None

    @property
    def managed_bucket(self) -> str:
        """Confluent's own storage for the cluster's tables."""
        return f"confluent-managed-{self.region}"

    @property
    def database(self) -> str:
        """Glue database of the cluster's tables."""
        return self.glue_database or self.id


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic with its initial number of records.

    `sample` is None for a topic without sample records, such as a dead letter queue. `managed` is for a topic
    with Tableflow whose table is in Confluent's own storage, which no Glue catalog gets.
    """

    cluster: str
    name: str
    partitions: int
    records: int = 0
    sample: SampleRecords | None = None
    configs: Mapping[str, str] = field(default_factory=dict)
    tableflow: bool = False
    managed: bool = False

    @property
    def subject(self) -> str:
        """Subject of the value schema, by the default naming strategy.

        An environment has one registry, so topics with the same name in both clusters share one schema.
        """
        return f"{self.name}-value"

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The Avro schema of the values."""
        return self.sample.schema if self.sample else None

    @property
    def schema_text(self) -> str:
        return json.dumps(self.schema, separators=(",", ":"))

    def record(self, index: int) -> tuple[bytes, dict[str, Any]]:
        """Return the key and value of the record with this index, counted across partitions.

        Raises:
            ValueError: the topic has no sample records.
        """
        if self.sample is None:
            raise ValueError(f"{self.name} has no sample records")
        rng = random.Random(f"{self.cluster}/{self.name}/{index}")  # noqa: S311 - sample data, no secret
        key, value = self.sample.make(index, rng)
        return key.encode(), value


@dataclass(frozen=True, slots=True)
class Connector:
    """One managed connector; `kind` is source or sink.

    `offsets` are a source's, as pairs of partition and offset; a sink's are those of its topics.
    """

    cluster: str
    id: str
    name: str
    kind: str
    config: Mapping[str, str]
    state: str = "RUNNING"
    offsets: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...] = ()


@dataclass(frozen=True, slots=True)
class SampleComputePool:
    """A Flink compute pool."""

    id: str
    name: str
    cloud: str
    region: str

    @property
    def region_id(self) -> str:
        """`{cloud}.{region}` with the cloud in lower case, as in Flink's host names."""
        return f"{self.cloud.lower()}.{self.region}"


@dataclass(frozen=True, slots=True)
class Statement:
    """One Flink statement; unqualified names resolve in `catalog` and `database`."""

    name: str
    pool: str
    sql: str
    sql_kind: str
    catalog: str
    database: str
    phase: str = "RUNNING"
    principal: str = ""


@dataclass(frozen=True, slots=True)
class SampleConsumerGroup:
    """A consumer group that has read a fraction (`read_share`, 0 to 1) of each partition of a topic."""

    cluster: str
    name: str
    topic: str
    read_share: float
