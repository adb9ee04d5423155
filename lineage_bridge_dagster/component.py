"""The component, which turns a stored discovery into assets, jobs, a sensor and schedules.

Users edit its YAML instance in `defs/`. To change more, subclass it and override one of two hooks:
`get_asset_spec` translates a node to an asset, and `execute` materializes assets. Everything else is private.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from dagster import (
    AssetExecutionContext,
    AssetsDefinition,
    AssetSpec,
    ComponentLoadContext,
    DagsterInstance,
    Definitions,
    in_process_executor,
    scaffold_with,
)
from dagster.components import ResolvedDefsStateConfig
from dagster.components.utils.translation import TranslationFn
from pydantic import Field, PrivateAttr

from lineage_bridge_dagster.assets.bundles import Defined
from lineage_bridge_dagster.assets.definitions import asset_definitions
from lineage_bridge_dagster.assets.instance import ComponentInstance
from lineage_bridge_dagster.assets.inventory import Asset, Include, Inventory, build_inventory
from lineage_bridge_dagster.assets.kinds import AssetKind
from lineage_bridge_dagster.assets.lineage_events import LineageEvents
from lineage_bridge_dagster.assets.placeholders import placeholders
from lineage_bridge_dagster.assets.resources import ConfluentResource, GlueResource
from lineage_bridge_dagster.assets.settings import FreshnessConfig, IncludeConfig
from lineage_bridge_dagster.assets.stored_component import STATE, StoredComponent, check_names
from lineage_bridge_dagster.automation.impact_job import impact_job
from lineage_bridge_dagster.automation.jobs import failing_job, lineage_job, push_job, refresh_job
from lineage_bridge_dagster.automation.list_client import ListClient, list_updates
from lineage_bridge_dagster.automation.loaded import loaded_tables
from lineage_bridge_dagster.automation.missing_discovery import MissingDiscovery
from lineage_bridge_dagster.automation.run_retention import RunRetention
from lineage_bridge_dagster.automation.schedules import (
    freshness_schedule,
    nightly_schedule,
    push_schedule,
    refresh_schedule,
    upkeep_schedule,
)
from lineage_bridge_dagster.automation.sensor import lineage_sensor
from lineage_bridge_dagster.automation.settings import SensorConfig
from lineage_bridge_dagster.automation.state import (
    StateStore,
    as_shown,
    loading_version,
    newer_discovery,
    read_state,
)
from lineage_bridge_dagster.automation.sweep import SweepSettings
from lineage_bridge_dagster.automation.upkeep import upkeep_job
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import contradictions
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TableflowPlace
from lineage_bridge_dagster.catalogs.settings.yaml_sections import CatalogConfig, PushConfig
from lineage_bridge_dagster.collector.assets.component import InventoryCollectorComponent
from lineage_bridge_dagster.config.glue_iceberg import S3_TABLES
from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.config.scaffold import InstanceScaffolder
from lineage_bridge_dagster.config.variables import FromVariables
from lineage_bridge_dagster.config.yaml_fields import NAME, AwsConfig
from lineage_bridge_dagster.confluent.resource import ConfluentConfig
from lineage_bridge_dagster.dagster_internals.definitions import other_definitions
from lineage_bridge_dagster.dagster_internals.instance import DefsStateStorage
from lineage_bridge_dagster.datazone.yaml_section import DataZoneConfig
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.catalog_tables import tableflow_places, takes_lineage
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.garbage import kept_objects
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.openlineage.yaml_section import OpenLineageConfig
from lineage_bridge_dagster.settings import SettingsReader
from lineage_bridge_dagster.spark.connect_address import remote_of
from lineage_bridge_dagster.spark.settings import SparkConfig, catalogs_given
from lineage_bridge_dagster.specs.graph_view import NodeContext, Role
from lineage_bridge_dagster.specs.names import AssetNames
from lineage_bridge_dagster.specs.translation import NodeTranslation
from lineage_bridge_dagster.specs.translator import LineageTranslator, is_default_key
from lineage_bridge_dagster.topic_to_iceberg.component import TopicToIcebergComponent
from lineage_bridge_dagster.topic_to_iceberg.instance import LoadNames

#: `dg` lists the components of this module.
__all__ = ["InventoryCollectorComponent", "LineageBridgeComponent", "TopicToIcebergComponent"]

_log = logging.getLogger(__name__)

#: By the key of their state, the last inventories, and the last definitions by the names of their ops. A
#: reload in this process takes from them what did not change.
_inventories: dict[str, Inventory] = {}
_definitions: dict[str, dict[str, Defined]] = {}


@scaffold_with(InstanceScaffolder)
class LineageBridgeComponent(StoredComponent):
    """Shows the upstream lineage of Confluent Tableflow tables as assets, and pushes it into AWS Glue."""

    STATE_KEY = "LineageBridgeComponent"

    confluent: ConfluentConfig = Field(
        default_factory=ConfluentConfig, description="Where Confluent is, and what to read."
    )
    aws: AwsConfig = Field(default_factory=AwsConfig, description="Where the Glue Data Catalog is.")
    spark: SparkConfig = Field(
        default_factory=SparkConfig, description="The Spark session and the catalog of the Iceberg tables."
    )
    catalogs: list[CatalogConfig] = Field(
        default_factory=list,
        description="Further catalogs of Iceberg tables, a list; each has a name and the fields of "
        "spark.catalog, for example {name: lake, type: rest, uri: https://catalog.example.com}. An asset "
        "names its own in the metadata lineage_bridge/catalog.",
    )
    include: IncludeConfig = Field(
        default_factory=IncludeConfig,
        description="Which nodes become assets; lineage always contains all nodes.",
    )
    push: PushConfig = Field(default_factory=PushConfig, description="What a push writes, and its limits.")
    openlineage: OpenLineageConfig = Field(
        default_factory=OpenLineageConfig,
        description="Events of OpenLineage: whether ours are sent, and where those of others are read.",
    )
    datazone: DataZoneConfig = Field(
        default_factory=DataZoneConfig, description="The DataZone domain that lineage is posted to, if any."
    )
    sensor: SensorConfig = Field(
        default_factory=SensorConfig, description="What runs automatically, and when."
    )
    checks: Annotated[bool, FromVariables((PREFIX + "CHECKS",))] = Field(
        default=True,
        description="Asset checks of the Glue tables and the discovery, evaluated with each materialization.",
        examples=[True],
    )
    freshness: FreshnessConfig = Field(
        default_factory=FreshnessConfig, description="Maximum age of a table's data and of the discovery."
    )
    name: Annotated[str, NAME] = Field(
        default="",
        description="Name of this instance, if there are several: a prefix for its jobs, sensor, schedules "
        "and resources.",
        examples=["eu"],
    )
    translation: Annotated[TranslationFn[Node] | None, NodeTranslation()] = Field(
        default=None, description="Attributes of assets, as templates that can use `node` and `spec`."
    )
    defs_state: ResolvedDefsStateConfig = Field(default=STATE, description="Where discoveries are stored.")

    _translator: LineageTranslator = PrivateAttr(default_factory=LineageTranslator)
    #: The components of the code location that load topics into tables.
    _loading: Sequence[TopicToIcebergComponent] = PrivateAttr(default=())
    #: What the current build has produced so far.
    _built: Definitions | None = PrivateAttr(default=None)

    def get_asset_spec(self, node: Node, context: NodeContext) -> AssetSpec:
        """Return the asset of a node: key, group, owners, description and metadata. Override to change it.

        Dependencies are added afterwards, between the keys that this method returns.
        """
        spec = self._translator.get_asset_spec(node, context)
        return self.translation(spec, node) if self.translation else spec

    def execute(
        self, context: AssetExecutionContext, kind: AssetKind, assets: Sequence[Asset]
    ) -> Iterator[Any]:
        """Materialize some assets of one kind. Override to run code before, after or instead."""
        yield from kind.materialize(context, assets)

    def write_state_to_path(self, state_path: Path) -> None:
        """Discover everything on top of the last good state, for `dg utils refresh-defs-state`.

        A discovery that fails raises an error, and the last state stays the newest.
        """
        storage = DefsStateStorage.get()
        last = StateStore(storage, self.defs_state_config.key).last_good() if storage else None
        graph_json.dump(self._discover(last, lambda _line: None), state_path, with_caches=True)

    def build_defs(self, context: ComponentLoadContext) -> Definitions:
        """Build the definitions of the stored state, or those without a state if it cannot be fetched.

        If the storage is down or the file is missing, the location still loads, and its sensor requests a
        new discovery.

        Raises:
            ConfigurationError: another instance in the code location has the same name or stored state.
        """
        if self._built is not None:
            # Another component builds on these definitions, and is itself searched for what it loads.
            return self._built
        instances = context.component_tree.get_all_components(of_type=LineageBridgeComponent)
        _check_distinct(instances)
        self._loading = context.component_tree.get_all_components(of_type=TopicToIcebergComponent)
        built = self.build_stored(context)
        if not instances or instances[0] is self:
            missing = self._placeholders(context, built, instances)
            return Definitions.merge(built, Definitions(assets=missing)) if missing else built
        return built

    def _placeholders(
        self, context: ComponentLoadContext, built: Definitions, instances: Sequence[LineageBridgeComponent]
    ) -> list[AssetSpec]:
        """Placeholders for what the code location's assets load and no instance has found."""
        own_keys = any(each._translates_keys for each in instances)
        self._built = built
        try:
            everything = [built, *other_definitions(context)]
        finally:
            self._built = None
        return placeholders(everything, AssetNames(self.name), lambda key: own_keys or is_default_key(key))

    @property
    def _translates_keys(self) -> bool:
        """Whether keys of assets may be others than the default ones."""
        return self._has_own_hook or self.translation is not None

    @property
    def _has_own_hook(self) -> bool:
        return type(self).get_asset_spec is not LineageBridgeComponent.get_asset_spec

    def fetch_error(self, error: Exception) -> LineageBridgeError:
        key, storage = self.defs_state_config.key, DefsStateStorage.get()
        version = loading_version(key)
        if storage is None or not version:
            return super().fetch_error(error)
        return StateStore(storage, key).fetch_error(version, error)

    def warn_unusable(self, error: LineageBridgeError) -> None:
        _log.warning("%s", MissingDiscovery.of(error, AssetNames(self.name)).text)

    def definitions_of(
        self, state_path: Path | None, problem: LineageBridgeError | None = None
    ) -> Definitions:
        """The definitions of a state; without one, the sensor, the refresh job, and jobs that fail."""
        with kept_objects():
            return self._definitions(state_path, problem)

    def _definitions(self, state_path: Path | None, problem: LineageBridgeError | None = None) -> Definitions:
        key, names, settings = self.defs_state_config.key, AssetNames(self.name), self._settings()
        instance = None
        if state_path is not None:
            try:
                discovery = read_state(state_path)
            except LineageBridgeError as error:
                problem = self._unusable(error)
            else:
                instance = self._instance(discovery, names, settings)
        missing = MissingDiscovery.of(problem, names)
        inventory = instance.inventory if instance else None
        refresh = refresh_job(
            names,
            key,
            self._discover,
            events=self._events(settings),
            loaded_version=loading_version(key),
            discovery_asset=self.checks,
            carried_limit=self.freshness.carried_limit,
        )
        push = push_job(instance) if instance else failing_job(names.push_job, missing)
        upkeep = (
            upkeep_job(instance, self.spark.history_days, self._run_retention(names))
            if instance
            else failing_job(names.upkeep_job, missing)
        )
        impact = impact_job(instance) if instance else failing_job(names.impact_job, missing)
        lineage = lineage_job(names, inventory, missing)
        on = self.sensor.running
        lists = ListClient(settings)
        watched = inventory if self.checks and self.freshness.limits else None
        return Definitions(
            assets=self._assets(instance) if instance else [missing.asset(names)],
            jobs=[refresh, push, lineage, upkeep, impact],
            sensors=[
                lineage_sensor(
                    names,
                    key,
                    loaded_tables(loading_version(key), inventory, settings.push),
                    lists,
                    [refresh, lineage],
                    interval_seconds=self.sensor.interval_seconds,
                    running=on,
                    budget_seconds=self.sensor.budget_seconds,
                    checks=self.checks,
                    update=list_updates(settings),
                    sweep=SweepSettings(
                        lists.page, lists.tables, self.sensor.sweep_minutes * 60.0, self.sensor.sweep_repair
                    ),
                )
            ],
            schedules=[
                *refresh_schedule(names, refresh, self.sensor.refresh_cron, on),
                *(push_schedule(names, push, self.sensor.push_cron, on) if instance else []),
                *(upkeep_schedule(names, upkeep, self.sensor.upkeep_cron, on) if instance else []),
                *nightly_schedule(names, lineage, inventory, self.sensor.nightly_cron, on),
                *freshness_schedule(names, lineage, watched, self.freshness.check_cron, on),
            ],
            resources=self._resources(names, inventory),
            # All steps of a run share one process, hence one Spark session, computation and commit.
            executor=in_process_executor,
        )

    def _run_retention(self, names: AssetNames) -> RunRetention | None:
        """Which runs the upkeep deletes: the component's, and those of the components that load topics."""
        loads = [LoadNames(each.name) for each in self._loading]
        jobs = {*names.jobs, *(job for each in loads for job in (each.job, each.upkeep))}
        days = self.sensor.run_days
        return RunRetention(days, None if self.sensor.all_runs else frozenset(jobs)) if days else None

    def _settings(self) -> SettingsReader:
        return SettingsReader(
            {
                "confluent": self.confluent.given(),
                "aws": self.aws.given(),
                "push": self.push.given(),
                "openlineage": self.openlineage.given(),
                "datazone": self.datazone.given(),
                "catalog": self.spark.catalog.given(),
                "catalogs": catalogs_given(self.spark, self.catalogs),
            },
            self.name,
        )

    def contradictions(self) -> Iterator[tuple[tuple[str | int, ...], ConfigurationError]]:
        """What is wrong with the catalogs, which have one name each and fields that must fit together."""
        given = self.spark.catalog.given().get("name") or os.environ.get(PREFIX + "CATALOG_NAME")
        default = given or CatalogSettings().name + (f"_{self.name}" if self.name else "")
        for path, error in contradictions(default, [each.given() for each in self.catalogs]):
            yield ("catalogs", *path), error
        names = {default, S3_TABLES, *(each.given().get("name") for each in self.catalogs)}
        if (lineage := self.spark.lineage_catalog) and lineage not in names:
            yield (
                ("spark", "lineage_catalog"),
                ConfigurationError(
                    f"There is no catalog {lineage}",
                    hint=f"Write one of {', '.join(sorted(filter(None, names)))}, or add it to catalogs.",
                ),
            )

    def _discover(self, last: Discovery | None, progress: Callable[[str], None]) -> Discovery:
        # Imported here: loading needs neither the API clients nor the SQL parser.
        from lineage_bridge_dagster.discovery.discover import discover

        return discover(self._settings()(), last, progress=progress)

    def _instance(
        self, discovery: Discovery, names: AssetNames, settings: SettingsReader
    ) -> ComponentInstance:
        key, include = self.defs_state_config.key, self.include
        shown = Include(include.topics, include.processes, include.external_datasets)
        loaded = loading_version(key)

        # A hook in Python might change a spec in place, which the next load must not take over.
        keeps_specs = not self._has_own_hook and type(self._translator) is LineageTranslator

        def inventory_of(found: Discovery) -> Inventory:
            _inventories[key] = build_inventory(
                as_shown(found, settings),
                self._spec_with_loader,
                shown,
                _inventories.get(key),
                keeps_specs=keeps_specs,
            )
            return _inventories[key]

        def newer(dagster: DagsterInstance) -> Inventory | None:
            found = newer_discovery(dagster, key, loaded)
            return inventory_of(found) if found else None

        own_spark = remote_of(self.spark.spark_config(), os.environ) is None
        return ComponentInstance(
            names,
            inventory_of(discovery),
            settings.push,
            self._events(settings),
            self._namespace,
            own_spark,
            newer,
        )

    def _events(self, settings: SettingsReader) -> LineageEvents:
        return LineageEvents.of(settings, self.name)

    def _spec_with_loader(self, node: Node, context: NodeContext) -> AssetSpec:
        """The spec of a node; a table that an asset of this code location loads depends on that asset."""
        spec = self.get_asset_spec(node, context)
        if context.role is Role.ITSELF and takes_lineage(node):
            found = (each.loader_of(node) for each in self._loading)
            if (loader := next(filter(None, found), None)) is not None:
                return spec.merge_attributes(deps=[loader])
        return spec

    def _assets(self, instance: ComponentInstance) -> list[AssetsDefinition | AssetSpec]:
        return asset_definitions(
            instance,
            self.execute,
            checks=self.checks,
            limits=self.freshness.limits,
            discovery_policy=self.freshness.discovery_policy(self.sensor.refresh_cron),
            carried_limit=self.freshness.carried_limit,
            last=_definitions.setdefault(self.defs_state_config.key, {}),
        )

    @property
    def _namespace(self) -> str:
        """The namespace of the lineage tables. A write replaces all their nodes, so instances share none."""
        namespace = self.spark.namespace
        if not self.name or "namespace" in self.spark.model_fields_set:
            return namespace
        return f"{namespace}_{self.name.lower()}"

    def _resources(self, names: AssetNames, inventory: Inventory | None) -> dict[str, Any]:
        # Imported here: `dg` imports this module only to list the component, which needs no PySpark.
        from lineage_bridge_dagster.spark.io.manager import PySparkIcebergIOManager
        from lineage_bridge_dagster.spark.session import SparkResource

        aws = self.aws.given()
        session = {"region_name": aws.pop("region", None), "profile_name": aws.pop("profile", None)}
        confluent = ConfluentResource(**session, **self.confluent.given())
        spark = SparkResource(
            spark_config=self.spark.spark_config(),
            catalog=self.spark.catalog.given(),
            catalogs=catalogs_given(self.spark, self.catalogs)["named"],
            lineage_catalog=self.spark.lineage_catalog,
            tableflow_places=[
                TableflowPlace(*place)._asdict() for place in tableflow_places(inventory.discovery.graph)
            ]
            if inventory
            else [],
            aws=self.aws.given(),
            secrets=confluent.secrets or [],
            instance=self.name,
        )
        return {
            names.confluent: confluent,
            names.glue: GlueResource(**session, **aws, secrets=confluent.secrets),
            names.spark: spark,
            names.io_manager: PySparkIcebergIOManager(
                spark=spark,
                confluent=confluent,
                namespace=self._namespace,
                database=self.spark.output_database,
                write_mode="overwrite",
                preview_rows=self.spark.preview_rows,
            ),
        }


def _check_distinct(instances: Sequence[LineageBridgeComponent]) -> None:
    """Check that all instances in a code location have names and stored states of their own.

    Raises:
        ConfigurationError: two have the same name, but for capitals, or one state.
    """
    check_names(instances, "the component", "resources, jobs, sensors, lineage tables and stored discoveries")
    keys = Counter(instance.defs_state_config.key for instance in instances)
    for key, count in keys.items():
        if count > 1:
            raise ConfigurationError(
                f"{count} instances of the component store their discoveries under the key {key}.",
                hint="Set a key of its own in the defs_state of each, or leave it out.",
            )
