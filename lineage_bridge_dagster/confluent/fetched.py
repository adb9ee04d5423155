"""Everything that one discovery fetched: plain containers, filled by `fetching`, read by `discovery`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lineage_bridge_dagster.confluent.api.clusters import KafkaCluster
from lineage_bridge_dagster.confluent.api.flink import (
    ComputePool,
    FlinkStatement,
    MaterializedTable,
    RegionKey,
)
from lineage_bridge_dagster.confluent.api.kafka_rest import ConsumerGroup, Link, Mirror, Topic, TopicConfig
from lineage_bridge_dagster.confluent.api.ksqldb import KsqlCluster
from lineage_bridge_dagster.confluent.api.org import Environment
from lineage_bridge_dagster.confluent.api.schema_registry import Registry, Schema
from lineage_bridge_dagster.confluent.api.tableflow import CatalogIntegration, TableflowTopic
from lineage_bridge_dagster.confluent.connectors import ConnectorRecord
from lineage_bridge_dagster.confluent.graph.builder import Place
from lineage_bridge_dagster.confluent.graph.ksqldb import KsqlListing


@dataclass(slots=True)
class ClusterListing:
    """Resources of one Kafka cluster.

    Attributes:
        topics_complete: whether the list of topics was fully read.
        group_topics: the topics of each consumer group whose lags are available.
        integrations: None if they could not all be read.
    """

    place: Place
    topics: Sequence[Topic] = ()
    topics_complete: bool = False
    configs: Sequence[TopicConfig] = ()
    mirrors: Sequence[Mirror] = ()
    links: Sequence[Link] = ()
    groups: Sequence[ConsumerGroup] = ()
    group_topics: dict[str, Sequence[str]] = field(default_factory=dict)
    connectors: Sequence[ConnectorRecord] = ()
    tableflow: Sequence[TableflowTopic] = ()
    integrations: Sequence[CatalogIntegration] | None = None


@dataclass(slots=True)
class FlinkListing:
    """Flink statements and materialized tables of one environment and region."""

    region: RegionKey
    statements: Sequence[FlinkStatement] = ()
    tables: Sequence[MaterializedTable] = ()


@dataclass(slots=True)
class EnvironmentListing:
    """Resources of one environment. `kafka_clusters` includes those that the settings leave out."""

    environment: Environment
    kafka_clusters: Sequence[KafkaCluster] = ()
    compute_pools: Sequence[ComputePool] = ()
    registries: Sequence[Registry] = ()
    ksqldb_clusters: Sequence[KsqlCluster] = ()
    schemas: list[Schema] = field(default_factory=list)
    flink: list[FlinkListing] = field(default_factory=list)
    ksqldb: list[KsqlListing] = field(default_factory=list)


@dataclass(slots=True)
class Fetched:
    """All listings of a discovery.

    Attributes:
        clusters: the Kafka clusters that the settings select.
        places: every listed Kafka cluster, by environment and cluster id.
    """

    environments: list[EnvironmentListing] = field(default_factory=list)
    clusters: list[ClusterListing] = field(default_factory=list)
    places: dict[tuple[str, str], Place] = field(default_factory=dict)
