"""What one discovery was answered: plain containers between the asking and the building."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lineage_bridge_dagster.confluent.api.flink import FlinkStatement, MaterializedTable, RegionKey
from lineage_bridge_dagster.confluent.api.kafka_rest import ConsumerGroup, Link, Mirror, Topic, TopicConfig
from lineage_bridge_dagster.confluent.api.org import Environment
from lineage_bridge_dagster.confluent.api.schema_registry import Schema
from lineage_bridge_dagster.confluent.api.tableflow import CatalogIntegration, TableflowTopic
from lineage_bridge_dagster.confluent.connectors import ConnectorRecord
from lineage_bridge_dagster.confluent.graph.builder import Place
from lineage_bridge_dagster.confluent.graph.ksqldb import KsqlListing


@dataclass(slots=True)
class ClusterAnswers:
    """Of one Kafka cluster. `integrations` is None when not all of them could be read."""

    place: Place
    topics: Sequence[Topic] = ()
    topics_whole: bool = False
    configs: Sequence[TopicConfig] = ()
    mirrors: Sequence[Mirror] = ()
    links: Sequence[Link] = ()
    groups: Sequence[ConsumerGroup] = ()
    group_topics: dict[str, Sequence[str]] = field(default_factory=dict)
    connectors: Sequence[ConnectorRecord] = ()
    tableflow: Sequence[TableflowTopic] = ()
    integrations: Sequence[CatalogIntegration] | None = None


@dataclass(slots=True)
class FlinkAnswers:
    """Of Flink in one environment and region."""

    region: RegionKey
    statements: Sequence[FlinkStatement] = ()
    tables: Sequence[MaterializedTable] = ()


@dataclass(slots=True)
class EnvironmentAnswers:
    """Of one environment."""

    environment: Environment
    schemas: list[Schema] = field(default_factory=list)
    flink: list[FlinkAnswers] = field(default_factory=list)
    ksqldb: list[KsqlListing] = field(default_factory=list)


@dataclass(slots=True)
class World:
    """All of it. `places` holds every cluster listed, those that the settings leave out too."""

    environments: list[EnvironmentAnswers] = field(default_factory=list)
    clusters: list[ClusterAnswers] = field(default_factory=list)
    places: dict[tuple[str, str], Place] = field(default_factory=dict)
