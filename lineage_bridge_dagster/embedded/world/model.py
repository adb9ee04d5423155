"""What the sample world is made of: plain records, no I/O."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

#: Makes the i-th record of a topic: its key and its Avro value. The same i always makes the same record.
RecordMaker = Callable[[int, random.Random], tuple[str, dict[str, Any]]]

DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Cluster:
    """One Kafka cluster.

    `glue_database` is the Glue integration's `custom_database`; None leaves the database to be named after
    the cluster, as Tableflow does.
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
    def database(self) -> str:
        """The Glue database that the cluster's tables are in."""
        return self.glue_database or self.id


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic: where it is, what its values look like, and how many of them there are to begin with.

    `schema` is None for a topic without a schema, such as a dead letter queue.
    """

    cluster: str
    name: str
    partitions: int
    records: int = 0
    schema: Mapping[str, Any] | None = None
    make: RecordMaker | None = None
    configs: Mapping[str, str] = field(default_factory=dict)
    tableflow: bool = False

    @property
    def subject(self) -> str:
        """The value's subject, by the default naming strategy.

        An environment has one registry, so two clusters' topics of one name share a subject and a schema.
        """
        return f"{self.name}-value"

    @property
    def schema_text(self) -> str:
        return json.dumps(self.schema, separators=(",", ":"))

    def record(self, index: int) -> tuple[bytes, dict[str, Any]]:
        """The key and value of the record at this index, counted over the whole topic.

        Raises:
            ValueError: the topic has no records of its own, such as a dead letter queue.
        """
        if self.make is None:
            raise ValueError(f"{self.name} has no records of its own")
        rng = random.Random(f"{self.cluster}/{self.name}/{index}")  # noqa: S311 - sample data, no secret
        key, value = self.make(index, rng)
        return key.encode(), value


@dataclass(frozen=True, slots=True)
class Connector:
    """One managed connector, with the config that a user would have written."""

    cluster: str
    id: str
    name: str
    kind: str
    config: Mapping[str, str]
    state: str = "RUNNING"


@dataclass(frozen=True, slots=True)
class ComputePool:
    """A Flink compute pool."""

    id: str
    name: str
    cloud: str
    region: str

    @property
    def place(self) -> str:
        """`{cloud}.{region}`, the cloud in lower case, as Flink's host names have it."""
        return f"{self.cloud.lower()}.{self.region}"


@dataclass(frozen=True, slots=True)
class Statement:
    """One Flink statement; `catalog` and `database` are what unqualified names resolve in."""

    name: str
    pool: str
    sql: str
    sql_kind: str
    catalog: str
    database: str
    phase: str = "RUNNING"
    principal: str = ""


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    id: str
    name: str
    description: str


@dataclass(frozen=True, slots=True)
class ConsumerGroup:
    """A group that has read the first `read_share` (0 to 1) of each of a topic's partitions."""

    cluster: str
    name: str
    topic: str
    read_share: float
