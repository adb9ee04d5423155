"""What data is in, and who reads it: topics, schemas, datasets outside Confluent, consumer groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lineage_bridge_dagster.lineage.nodes.attribute import Api, Holds, attribute
from lineage_bridge_dagster.lineage.nodes.node import Node, NodeType, kind
from lineage_bridge_dagster.lineage.nodes.values import COLUMNS, Field, read_number, read_text


@kind(NodeType.KAFKA_TOPIC)
class TopicNode(Node):
    """A Kafka topic."""

    __slots__ = ()

    partitions: int | None = attribute(Api.KAFKA)
    replication_factor: int | None = attribute(Api.KAFKA)
    #: The broker's settings as texts, by Kafka's names.
    configs: Mapping[str, Any] = attribute(Api.KAFKA)
    #: Milliseconds; -1 is unlimited.
    retention_ms: int | None = attribute(
        Api.KAFKA, otherwise=lambda topic: read_number(topic.configs.get("retention.ms"))
    )
    cleanup_policy: str = attribute(
        Api.KAFKA, otherwise=lambda topic: str(topic.configs.get("cleanup.policy") or "")
    )
    #: Whether a connector or ksqlDB keeps it for its own use.
    is_internal: bool = attribute(Api.KAFKA)
    #: False if no list of topics has it, so that it is known only because something names it.
    observed: bool | None = attribute()
    #: Whether the settings leave its cluster out, so that what feeds the topic is read, but not its tables.
    outside_selection: bool = attribute(carried=False)
    #: The bootstrap servers of the topic's cluster.
    bootstrap_endpoint: str = attribute(Api.KAFKA, in_details=False)

    #: The value schema's fields with nested ones and comments; empty if it has neither.
    schema_columns: Sequence[Field] = attribute(Api.SCHEMA_REGISTRY, in_details=False)
    #: Field of the value schema -> the type of its column, where that of the field does not tell it.
    column_types: Mapping[str, Any] = attribute(
        Api.SCHEMA_REGISTRY, holds=Holds.COLUMN_NAMES, in_details=False
    )
    schema_id: int | None = attribute(Api.SCHEMA_REGISTRY)
    schema_version: int | None = attribute(Api.SCHEMA_REGISTRY)
    #: `AVRO`, `JSON` or `PROTOBUF`.
    schema_type: str = attribute(Api.SCHEMA_REGISTRY)
    schema_subject: str = attribute(Api.SCHEMA_REGISTRY, in_details=False)
    #: The value schemas' subjects of a topic with several record types.
    schema_subjects: Sequence[str] = attribute(Api.SCHEMA_REGISTRY)
    key_schema_subject: str = attribute(Api.SCHEMA_REGISTRY, in_details=False)
    #: The names of the key's columns, if the key has a schema.
    key_columns: Sequence[str] = attribute(Api.SCHEMA_REGISTRY)
    schema_registry_id: str = attribute(Api.SCHEMA_REGISTRY, in_details=False)
    schema_registry_url: str = attribute(Api.SCHEMA_REGISTRY, in_details=False)

    @property
    def retention_bytes(self) -> int | None:
        """Bytes per partition; -1 is unlimited."""
        return read_number(self.configs.get("retention.bytes"))

    @property
    def bootstrap(self) -> str:
        """The bootstrap servers of the topic's cluster, also from a graph of LineageBridge."""
        return self.bootstrap_endpoint or read_text(self.attributes.get("bootstrap"))


@kind(NodeType.SCHEMA)
class SchemaNode(Node):
    """The latest schema of a subject."""

    __slots__ = ()

    subject: str = attribute(Api.SCHEMA_REGISTRY)
    #: The registry's context; empty for the default one.
    context: str = attribute(Api.SCHEMA_REGISTRY)
    version: int | None = attribute(Api.SCHEMA_REGISTRY)
    schema_id: int | None = attribute(Api.SCHEMA_REGISTRY)
    #: `AVRO`, `JSON` or `PROTOBUF`.
    schema_type: str = attribute(Api.SCHEMA_REGISTRY)
    fields: Sequence[Field] = attribute(Api.SCHEMA_REGISTRY, in_details=False)
    #: `key` or `value`.
    role: str = attribute(Api.SCHEMA_REGISTRY)
    #: The schemas that it refers to, each with `name`, `subject` and `version`.
    references: Any = attribute(Api.SCHEMA_REGISTRY)
    #: The text of the schema; in a stored discovery without documentation and secrets.
    definition: str = attribute(Api.SCHEMA_REGISTRY, holds=Holds.SCHEMA, in_details=False)
    #: The level of subjects without one of their own, such as `BACKWARD`; empty if it is not known.
    registry_compatibility: str = attribute(Api.SCHEMA_REGISTRY)
    schema_registry_url: str = attribute(Api.SCHEMA_REGISTRY)


@kind(NodeType.EXTERNAL_DATASET, system="external")
class DatasetNode(Node):
    """A dataset outside Confluent, named as the OpenLineage specification names it."""

    __slots__ = ()

    columns: Sequence[Field] = attribute(codec=COLUMNS, in_details=False)


@kind(NodeType.CONSUMER_GROUP)
class ConsumerGroupNode(Node):
    """A consumer group of a Kafka cluster."""

    __slots__ = ()

    #: Such as `STABLE`.
    state: str = attribute(Api.CONSUMER_GROUPS)
    type: str = attribute(Api.CONSUMER_GROUPS)
    is_simple: bool = attribute(Api.CONSUMER_GROUPS)
