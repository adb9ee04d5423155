"""A topic of a real broker, whose records executors decode: by a Java class that the driver sends them (keys
of JSON), and in Python workers (values of Protobuf).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from google.protobuf import message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool

from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.schemas.protobuf_files import compiled
from lineage_bridge_dagster.schemas.schemas import RegisteredSchema, SubjectSchemas
from lineage_bridge_dagster.spark.decoding.framing import prefix_of
from lineage_bridge_dagster.topic_to_iceberg.loading.model import TopicSchemas
from lineage_bridge_dagster_tests.topic_to_iceberg.dead_letters.cluster import Cluster

_SCHEMA = RegisteredSchema(
    7, 'syntax = "proto3"; message Order { int64 id = 1; string item = 2; }', "PROTOBUF"
)
_KEY = RegisteredSchema(8, '{"type": "integer"}', "JSON")
SCHEMAS = TopicSchemas(SubjectSchemas("orders-key", (_KEY,)), SubjectSchemas("orders-value", (_SCHEMA,)))

PARTITIONS = 4


@dataclass
class OrdersTopic:
    """Records with rising ids, over all partitions; in each, five keys come again and again."""

    address: str
    name: str
    added: int = 0
    _cluster: Cluster = field(init=False)

    def __post_init__(self) -> None:
        self._cluster = Cluster(Bootstrap.parse(self.address), self.name)
        self._cluster.create(self.topic, PARTITIONS)

    @property
    def topic(self) -> str:
        return self._cluster.topic

    def add(self, count: int) -> None:
        message = _order()
        for number in range(self.added + 1, self.added + count + 1):
            message.id, message.item = number, f"item {number}"
            value = prefix_of(_SCHEMA.id) + b"\0" + message.SerializeToString()
            key = prefix_of(_KEY.id) + b"%d" % (number % 5)
            self._cluster.producer.produce(self.topic, value, key, partition=number % PARTITIONS)
        self.added += count
        assert self._cluster.producer.flush(60) == 0

    def newest(self) -> list[int]:
        """The ids of the last record of each key in each partition."""
        ids = range(1, self.added + 1)
        return sorted({(number % PARTITIONS, number % 5): number for number in ids}.values())


def _order() -> Any:
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(compiled(_SCHEMA)).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Order"))()
