"""The component that loads topics into Iceberg tables."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from dagster import (
    AssetExecutionContext,
    AssetKey,
    ComponentLoadContext,
    Definitions,
    in_process_executor,
    scaffold_with,
)
from dagster.components import ResolvedDefsStateConfig
from pydantic import Field

from lineage_bridge_dagster.assets.stored_component import STATE, StoredComponent, check_names
from lineage_bridge_dagster.catalogs.settings.catalogs import contradictions as catalog_contradictions
from lineage_bridge_dagster.catalogs.settings.yaml_sections import CatalogConfig
from lineage_bridge_dagster.config.yaml_fields import NAME, AwsConfig
from lineage_bridge_dagster.confluent.cluster_settings import KafkaConfig
from lineage_bridge_dagster.confluent.resource import ConfluentConfig, ConfluentSettingsResource
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.lineage.catalog_tables import name_of
from lineage_bridge_dagster.lineage.loaded_topics import loaded_topic_of
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.lineage.nodes import GlueTableNode
from lineage_bridge_dagster.spark.connect_address import REMOTE, remote_of
from lineage_bridge_dagster.spark.settings import SparkConfig, catalogs_given
from lineage_bridge_dagster.topic_to_iceberg.automation import load_automation
from lineage_bridge_dagster.topic_to_iceberg.backfill import backfill_assets
from lineage_bridge_dagster.topic_to_iceberg.definitions import load_assets
from lineage_bridge_dagster.topic_to_iceberg.instance import LoadInstance, LoadNames, TopicCluster, asset_key
from lineage_bridge_dagster.topic_to_iceberg.loader import OpenLoader
from lineage_bridge_dagster.topic_to_iceberg.scaffold import LoadScaffolder
from lineage_bridge_dagster.topic_to_iceberg.settings.load_plan import CatalogKinds, LoadPlan, catalog_kinds
from lineage_bridge_dagster.topic_to_iceberg.settings.load_runs import RunConfig, UpkeepConfig
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_entries import DefaultsConfig, TopicEntryConfig
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad
from lineage_bridge_dagster.topic_to_iceberg.specs import missing_topics
from lineage_bridge_dagster.topic_to_iceberg.state import LoadState
from lineage_bridge_dagster.topic_to_iceberg.upkeep import upkeep_job, upkeep_schedule

_log = logging.getLogger(__name__)


@scaffold_with(LoadScaffolder)
class TopicToIcebergComponent(StoredComponent):
    """Loads Kafka topics with a schema into Iceberg tables on Spark, as Tableflow does.

    Topics that are named become assets at once; those that fit a pattern, and the topics of a cluster that is
    given by its name, once `dg utils refresh-defs-state` (or the UI's button) has stored the cluster's list.
    """

    STATE_KEY = "TopicToIcebergComponent"

    kafka: KafkaConfig = Field(
        default_factory=KafkaConfig, description="The Kafka cluster of the topics, and its Schema Registry."
    )
    topics: list[TopicEntryConfig] = Field(
        default_factory=list,
        description="The topics, by name or by pattern, each with what differs from defaults.",
    )
    defaults: DefaultsConfig = Field(
        default_factory=DefaultsConfig, description="What an entry of topics leaves out."
    )
    run: RunConfig = Field(
        default_factory=RunConfig, description="When topics are loaded, and how many at once."
    )
    upkeep: UpkeepConfig = Field(
        default_factory=UpkeepConfig, description="When tables are compacted, and what is kept of them."
    )
    confluent: ConfluentConfig = Field(
        default_factory=ConfluentConfig,
        description="Where Confluent's control plane is, and the secrets that hold keys; environments and "
        "clusters do not limit what kafka names.",
    )
    aws: AwsConfig = Field(default_factory=AwsConfig, description="Where the Glue Data Catalog is.")
    spark: SparkConfig = Field(
        default_factory=SparkConfig, description="The Spark session and the default catalog of the tables."
    )
    catalogs: list[CatalogConfig] = Field(
        default_factory=list,
        description="Further catalogs of Iceberg tables, a list; each has a name and the fields of "
        "spark.catalog.",
    )
    name: Annotated[str, NAME] = Field(
        default="",
        description="Name of this instance, if there are several: a prefix for its job, schedule, sensor "
        "and resources.",
        examples=["eu"],
    )
    defs_state: ResolvedDefsStateConfig = Field(
        default=STATE, description="Where the cluster's list of topics is stored."
    )

    def contradictions(self) -> Iterator[tuple[tuple[str | int, ...], ConfigurationError]]:
        if not self.topics:
            yield (
                (),
                ConfigurationError(
                    "No topic is named", hint="Write topics, for example topics: [{topic: orders}]."
                ),
            )
        yield from self._remote_contradictions()
        default = self._kinds.default
        for path, error in catalog_contradictions(default, [each.given() for each in self.catalogs]):
            yield ("catalogs", *path), error
        known = sorted(self._kinds.types)
        for path, fields in ((("defaults",), self.defaults), *self._entries()):
            if (catalog := fields.given().get("catalog", default)) not in known:
                yield (
                    (*path, "catalog"),
                    ConfigurationError(
                        f"There is no catalog {catalog}",
                        hint=f"Write one of {', '.join(known)}, or add it to catalogs.",
                    ),
                )
        counts = Counter(each.topic for each in self.topics)
        for path, entry in self._entries():
            if counts[entry.topic] > 1:
                yield (
                    (*path, "topic"),
                    ConfigurationError(
                        f"{entry.topic} has {counts[entry.topic]} entries", hint="Keep one of them."
                    ),
                )
        plan = self.plan("(the cluster)")
        yield from self._backfill_contradictions(plan)
        for collision in plan.collisions(()):
            index = next(at for at, each in enumerate(self.topics) if each.topic == collision.topics[-1])
            yield (
                ("topics", index),
                ConfigurationError(str(collision), hint="Write table: with another name in one of them."),
            )

    def _remote_contradictions(self) -> Iterator[tuple[tuple[str | int, ...], ConfigurationError]]:
        path = ("spark", "remote" if self.spark.remote else "conf")
        conf = self.spark.spark_config()
        try:
            server = remote_of(conf, os.environ)
        except ConfigurationError as error:
            yield path, error
            return
        if server is not None:
            yield (
                path if conf.get(REMOTE) else ("spark",),
                ConfigurationError(
                    f"A run loads topics with a Spark session of its own, not with {server.server}",
                    hint="Write master, for example master: local[2], in place of remote.",
                ),
            )

    def _backfill_contradictions(
        self, plan: LoadPlan
    ) -> Iterator[tuple[tuple[str | int, ...], ConfigurationError]]:
        shared = self.defaults.backfill.given()
        for path, own in ((("defaults",), shared), *((p, e.backfill.given()) for p, e in self._entries())):
            if own and not own.get("start") and not shared.get("start"):
                yield (
                    (*path, "backfill"),
                    ConfigurationError(
                        "No first day is given", hint="Write start, for example start: 2026-01-01."
                    ),
                )
        for path, entry in self._entries():
            if entry.backfill.given() and (mode := plan.mode_of(entry)) != "append":
                yield (
                    (*path, "backfill"),
                    ConfigurationError(
                        f"A table of mode {mode} holds only the last state of each key, so a day or an "
                        "hour of it cannot be loaded again on its own",
                        hint="Remove backfill; to load other records, name another table and set start.",
                    ),
                )

    def write_state_to_path(self, state_path: Path) -> None:
        """Look up the cluster and list its topics, for `dg utils refresh-defs-state`."""
        from lineage_bridge_dagster.confluent.api.brokers import TopicReader
        from lineage_bridge_dagster.confluent.cluster_connection import connect

        settings = self._confluent().settings()
        connection = connect(settings, self.kafka)
        topics = TopicReader(connection.bootstrap, timeout_seconds=settings.timeout_seconds).topics()
        LoadState(TopicCluster(connection.environment_id, connection.cluster_id), tuple(topics)).write(
            state_path
        )

    def build_defs(self, context: ComponentLoadContext) -> Definitions:
        """Build the definitions with the stored list of topics, or without it if it cannot be fetched.

        Raises:
            ConfigurationError: another instance in the code location has the same name.
        """
        instances = context.component_tree.get_all_components(of_type=TopicToIcebergComponent)
        check_names(instances, "TopicToIcebergComponent", "jobs, sensors and resources")
        return self.build_stored(context)

    def warn_unusable(self, error: LineageBridgeError) -> None:
        _log.warning("The stored topics cannot be used; named topics are loaded alone. %s", error)

    def definitions_of(
        self, state_path: Path | None, problem: LineageBridgeError | None = None
    ) -> Definitions:
        """The definitions of the named topics, and of those that the state has for patterns.

        Without a stored list of topics, an asset stands in for whatever needs it, and says so.
        """
        state, names = None, LoadNames(self.name)
        if state_path is not None:
            try:
                state = LoadState.read(state_path)
            except LineageBridgeError as error:
                problem = self._unusable(error)
        cluster = state.cluster if state else self._known_cluster()
        loads = self._loads(state, cluster, names) if cluster else Definitions()
        if state is not None or (cluster and not any(each.is_pattern for each in self.topics)):
            return loads
        return Definitions.merge(loads, Definitions(assets=[missing_topics(names, problem)]))

    def _loads(self, state: LoadState | None, cluster: TopicCluster, names: LoadNames) -> Definitions:
        loads = self.plan(cluster.cluster_id).loads(state.topics if state else ())
        instance = LoadInstance(names, cluster, loads, self.run, self.open_loaders, self.upkeep)
        assets = load_assets(instance)
        if not assets:
            return Definitions()
        backfills = [backfill_assets(instance, load) for load in loads if load.backfill is not None]
        upkeep = upkeep_job(instance)
        automation = load_automation(instance)
        return Definitions(
            assets=[*assets, *backfills],
            jobs=[*automation.jobs, upkeep],
            schedules=[*automation.schedules, *upkeep_schedule(instance, upkeep)],
            sensors=automation.sensors,
            resources=self._resources(names),
            # All topics of a run share a process, and so a Spark session.
            executor=in_process_executor,
        )

    def open_loaders(self, context: AssetExecutionContext, waiting: Sequence[TopicLoad] = ()) -> OpenLoader:
        """Look up the cluster, start Spark and return what opens the loader of a topic.

        Args:
            waiting: the topics, if the run is to load what waits in them, and nothing else.
        """
        from lineage_bridge_dagster.confluent.api.brokers import TopicReader
        from lineage_bridge_dagster.confluent.cluster_connection import connect
        from lineage_bridge_dagster.spark.session import spark_session, starts_here
        from lineage_bridge_dagster.topic_to_iceberg.engine import loaders
        from lineage_bridge_dagster.topic_to_iceberg.survey import is_short

        names = LoadNames(self.name)
        confluent: ConfluentSettingsResource = getattr(context.resources, names.confluent)
        connection = connect(confluent.settings(), self.kafka, confluent.renewed)
        spark = getattr(context.resources, names.spark)
        is_brief = False
        if waiting and starts_here(spark.spark_config):
            bounds = TopicReader(connection.bootstrap).committed_bounds
            is_brief = is_short(waiting, spark.all_catalogs, bounds)
        session = spark_session(spark.all_catalogs, spark.spark_config, is_brief=is_brief)
        return loaders(session, connection, spark.all_catalogs)

    def loader_of(self, table: Node) -> AssetKey | None:
        """The asset that loads a catalog table, by the table's stamp; None if this instance does not."""
        topic = loaded_topic_of(table)
        cluster = self._known_cluster()
        if topic is None or (cluster is not None and cluster.cluster_id != topic.cluster):
            return None
        load = self.plan(topic.cluster).load_of(topic.topic)
        if load is None:
            return None
        name = name_of(table)
        in_glue = isinstance(table, GlueTableNode)
        if in_glue != (self._kinds.type_of(load.catalog) == "glue"):
            return None
        database = load.database if in_glue else f"{load.catalog}.{load.database}"
        same = (name.database.casefold(), name.table.casefold()) == (
            database.casefold(),
            load.table.casefold(),
        )
        return asset_key(load) if same else None

    def _entries(self) -> Sequence[tuple[tuple[str | int, ...], TopicEntryConfig]]:
        return [(("topics", index), entry) for index, entry in enumerate(self.topics)]

    def _known_cluster(self) -> TopicCluster | None:
        """The cluster as far as the YAML alone tells it; None for one of Confluent Cloud that has to be
        looked up."""
        if self.kafka.is_self_managed:
            return TopicCluster("", self.kafka.cluster)
        if not self.kafka.has_id:
            return None
        environment = self.kafka.environment
        return TopicCluster(environment if environment.startswith("env-") else "", self.kafka.cluster)

    def plan(self, cluster: str) -> LoadPlan:
        """Which topics are loaded and how, with the tables of a cluster of this id."""
        return LoadPlan(self.topics, self.defaults, database=cluster, catalogs=self._kinds)

    @property
    def _kinds(self) -> CatalogKinds:
        return catalog_kinds(self.spark, self.catalogs, self.name)

    def _confluent(self) -> ConfluentSettingsResource:
        aws = self.aws.given()
        return ConfluentSettingsResource(
            region_name=aws.get("region"), profile_name=aws.get("profile"), **self.confluent.given()
        )

    def _resources(self, names: LoadNames) -> dict[str, Any]:
        # Imported here: `dg` imports this module only to list the component, which needs no PySpark.
        from lineage_bridge_dagster.spark.session import LOADING, SparkResource

        confluent = self._confluent()
        return {
            names.confluent: confluent,
            names.spark: SparkResource(
                spark_config={**LOADING, **self.spark.spark_config()},
                catalog=self.spark.catalog.given(),
                catalogs=catalogs_given(self.spark, self.catalogs)["named"],
                lineage_catalog="",
                aws=self.aws.given(),
                secrets=confluent.secrets or [],
                instance=self.name,
            ),
        }
