"""One instance of the component that loads topics: what its assets, checks and schedules share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dagster import AssetExecutionContext, AssetKey

from lineage_bridge_dagster.specs import keys
from lineage_bridge_dagster.specs.names import InstanceNames, Prefixed
from lineage_bridge_dagster.topic_to_iceberg.loader import OpenLoader
from lineage_bridge_dagster.topic_to_iceberg.settings.load_runs import RunConfig, UpkeepConfig
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad


class LoadNames(InstanceNames):
    """Names of an instance of `TopicToIcebergComponent`."""

    # The keys of the resources.
    spark = Prefixed("topic_to_iceberg_spark")
    confluent = Prefixed("topic_to_iceberg_confluent")

    op = Prefixed("load_topics")
    job = Prefixed("topic_to_iceberg")
    #: The job of the upkeep; its schedule has the same name with a suffix.
    upkeep = Prefixed("topic_to_iceberg_upkeep")
    #: The pool of the ops that load slices again, and the first part of their names.
    backfill = Prefixed("backfill_topics")
    schedule = Prefixed("topic_to_iceberg_schedule")
    sensor = Prefixed("topic_to_iceberg_sensor")

    @property
    def topics_key(self) -> AssetKey:
        """The key of the asset that stands for topics of which no list is stored."""
        return self.key("topic_to_iceberg", "topics")


@dataclass(frozen=True)
class TopicCluster:
    """The cluster of the topics.

    Attributes:
        environment_id: empty for a self-managed cluster.
        cluster_id: for a self-managed cluster, the name that the YAML gives it.
    """

    environment_id: str
    cluster_id: str


@dataclass(frozen=True)
class LoadInstance:
    """The topics of an instance and how they are loaded.

    Attributes:
        open_loaders: prepares to open loaders in a run: resolves the cluster and starts Spark. It takes the
            topics of a run that ends once it has loaded the records that wait in them; else none.
    """

    names: LoadNames
    cluster: TopicCluster
    loads: Sequence[TopicLoad]
    run: RunConfig
    open_loaders: Callable[[AssetExecutionContext, Sequence[TopicLoad]], OpenLoader]
    upkeep: UpkeepConfig = field(default_factory=UpkeepConfig)
    key_of: dict[str, AssetKey] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.key_of.update({load.topic: asset_key(load) for load in self.loads})


def asset_key(load: TopicLoad) -> AssetKey:
    """The key of the asset that loads a topic: `topic_to_iceberg/{database}/{table}`, with the catalog
    before the database unless that is the default one of Glue."""
    catalog = () if load.in_default_glue else (load.catalog,)
    return AssetKey(keys.key_parts("topic_to_iceberg", *catalog, load.database, load.table))


def backfill_key(load: TopicLoad) -> AssetKey:
    """The key of the asset that loads slices of a topic again, as that of `asset_key`."""
    return AssetKey(["topic_to_iceberg_backfill", *asset_key(load).path[1:]])


def topic_key(cluster: TopicCluster, topic: str) -> AssetKey:
    """The key of a topic's asset, as the lineage has it."""
    return AssetKey(keys.key_parts("kafka", cluster.cluster_id, topic))
