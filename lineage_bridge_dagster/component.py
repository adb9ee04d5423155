"""The component: a stored discovery becomes assets, jobs, a sensor and schedules.

A user edits its YAML instance in `defs/`. To change more, subclass it and override one of two hooks:
`get_asset_spec`, which decides how a node looks as an asset, and `execute`, which wraps what materializing
does. Everything else is private.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from dagster import (
    AssetExecutionContext,
    AssetsDefinition,
    AssetSpec,
    ComponentLoadContext,
    Definitions,
    in_process_executor,
    scaffold_with,
)
from dagster.components import DefsStateConfig, DefsStateConfigArgs, ResolvedDefsStateConfig
from dagster.components.component.state_backed_component import StateBackedComponent
from dagster.components.utils.translation import TranslationFn
from pydantic import Field, PrivateAttr

from lineage_bridge_dagster.assets.bundles import bundle_definitions
from lineage_bridge_dagster.assets.chains import chain_assets
from lineage_bridge_dagster.assets.checks import discovery_asset, table_checks
from lineage_bridge_dagster.assets.examples import example_assets
from lineage_bridge_dagster.assets.instance import ComponentInstance
from lineage_bridge_dagster.assets.inventory import Asset, Include, build_inventory
from lineage_bridge_dagster.assets.kinds import AssetKind
from lineage_bridge_dagster.assets.resources import ConfluentResource, GlueResource
from lineage_bridge_dagster.assets.tables import table_assets
from lineage_bridge_dagster.assets.topics import topic_assets
from lineage_bridge_dagster.automation.freshness_schedule import freshness_schedule
from lineage_bridge_dagster.automation.jobs import lineage_job, push_job, refresh_job
from lineage_bridge_dagster.automation.schedules import nightly_schedule, push_schedule, refresh_schedule
from lineage_bridge_dagster.automation.sensor import lineage_sensor, loaded_tables
from lineage_bridge_dagster.automation.state import StateStore, read_state, say_unreadable
from lineage_bridge_dagster.automation.watched_lists import outside_lister
from lineage_bridge_dagster.config.catalog import with_aws_fields
from lineage_bridge_dagster.config.freshness import FreshnessConfig
from lineage_bridge_dagster.config.reader import SettingsReader
from lineage_bridge_dagster.config.scaffold import InstanceScaffolder
from lineage_bridge_dagster.config.variables import PREFIX, FromVariables
from lineage_bridge_dagster.config.yaml_fields import (
    NAME,
    AwsConfig,
    ConfluentConfig,
    IncludeConfig,
    PushConfig,
    SensorConfig,
    SparkConfig,
)
from lineage_bridge_dagster.config.yaml_section import YamlSection
from lineage_bridge_dagster.dagster_internals import DefinitionsLoadContext, DefsStateStorage
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.spark.io.manager import PySparkIcebergIOManager
from lineage_bridge_dagster.spark.session import SparkResource
from lineage_bridge_dagster.specs.graph_view import NodeContext
from lineage_bridge_dagster.specs.names import Names
from lineage_bridge_dagster.specs.translation import NodeTranslation
from lineage_bridge_dagster.specs.translator import LineageTranslator

_STATE = DefsStateConfigArgs(
    # LOCAL_FILESYSTEM removes the last good state before it fetches the next.
    management_type="VERSIONED_STATE_STORAGE",
    # A full discovery at every load would leave the graph empty whenever an API is down.
    refresh_if_dev=False,
)


@scaffold_with(InstanceScaffolder)
class LineageBridgeComponent(StateBackedComponent, YamlSection):
    """Upstream lineage of Confluent Tableflow tables, as assets, pushed into AWS Glue."""

    confluent: ConfluentConfig = Field(
        default_factory=ConfluentConfig, description="Where Confluent is, and what of it to read."
    )
    aws: AwsConfig = Field(default_factory=AwsConfig, description="Where the Glue Data Catalog is.")
    spark: SparkConfig = Field(
        default_factory=SparkConfig, description="The Spark session and the catalog of the Iceberg tables."
    )
    include: IncludeConfig = Field(
        default_factory=IncludeConfig, description="Which nodes show as assets; lineage itself stays whole."
    )
    push: PushConfig = Field(default_factory=PushConfig, description="What a push writes, and its bounds.")
    sensor: SensorConfig = Field(default_factory=SensorConfig, description="What runs by itself, and when.")
    checks: Annotated[bool, FromVariables((PREFIX + "CHECKS",))] = Field(
        default=True,
        description="Asset checks of the Glue tables and of the discovery, run with each materialization.",
        examples=[True],
    )
    freshness: FreshnessConfig = Field(
        default_factory=FreshnessConfig, description="How late a table's data and the discovery may be."
    )
    name: Annotated[str, NAME] = Field(
        default="",
        description="Put before the names of jobs, sensor and schedules, where a location has two instances.",
        examples=["eu"],
    )
    translation: Annotated[TranslationFn[Node] | None, NodeTranslation()] = Field(
        default=None, description="Attributes of assets, as templates over `node` and `spec`."
    )
    defs_state: ResolvedDefsStateConfig = Field(
        default=_STATE, description="Where the stored discoveries are kept."
    )

    _translator: LineageTranslator = PrivateAttr(default_factory=LineageTranslator)
    #: Whether the stored state, if any, was at hand when the definitions were built last.
    _fetched: bool = PrivateAttr(default=False)

    @property
    def defs_state_config(self) -> DefsStateConfig:
        key = f"LineageBridgeComponent[{self.name}]" if self.name else "LineageBridgeComponent"
        return DefsStateConfig.from_args(self.defs_state, default_key=key)

    def get_asset_spec(self, node: Node, context: NodeContext) -> AssetSpec:
        """How a node looks as an asset: key, group, owners, description, metadata. Override to change any.

        Dependencies are added afterwards, between whatever keys come out of here.
        """
        spec = self._translator.get_asset_spec(node, context)
        return self.translation(spec, node) if self.translation else spec

    def execute(
        self, context: AssetExecutionContext, kind: AssetKind, assets: Sequence[Asset]
    ) -> Iterator[Any]:
        """Materialize some assets of a kind. Override to do something before, after or instead."""
        yield from kind.materialize(context, assets)

    def write_state_to_path(self, state_path: Path) -> None:
        """Discover everything on top of the last good state, for `dg utils refresh-defs-state`.

        A discovery that fails raises, and then the last state stays the newest.
        """
        storage = DefsStateStorage.get()
        last = StateStore(storage, self.defs_state_config.key).last_good() if storage else None
        graph_json.dump(self._discover(last, lambda _line: None), state_path, with_caches=True)

    def build_defs(self, context: ComponentLoadContext) -> Definitions:
        """The definitions of the stored state; where it can't be fetched, those of none.

        Its storage may be down, or its file gone: the location loads, and the sensor has a state made anew.
        """
        self._fetched = False
        try:
            return super().build_defs(context)
        except Exception as error:
            if self._fetched:
                raise
            say_unreadable(error)
            return self.build_defs_from_state(context, None)

    def build_defs_from_state(
        self,
        context: ComponentLoadContext,  # noqa: ARG002 - a state is all that they are built from
        state_path: Path | None,
    ) -> Definitions:
        """The definitions of a state. Without one: the sensor and the refresh, which see to it."""
        self._fetched = True
        with _no_collections():
            return self._definitions(state_path)

    def _definitions(self, state_path: Path | None) -> Definitions:
        key, names, source = self.defs_state_config.key, Names(self.name), self._source()
        instance = self._instance(state_path, names, source) if state_path else None
        inventory = instance.inventory if instance else None
        refresh = refresh_job(
            names, key, self._discover, loaded_version=_version(key), discovery_asset=self.checks
        )
        push = push_job(instance) if instance else None
        lineage = lineage_job(names, inventory)
        on = self.sensor.running
        watched = inventory if self.checks and self.freshness.limits else None
        return Definitions(
            assets=self._assets(instance) if instance else [],
            jobs=[refresh, *([push] if push else []), lineage],
            sensors=[
                lineage_sensor(
                    names,
                    key,
                    loaded_tables(_version(key), inventory, source.push),
                    outside_lister(source),
                    [refresh, lineage],
                    interval_seconds=self.sensor.interval_seconds,
                    running=on,
                    budget_seconds=self.sensor.budget_seconds,
                )
            ],
            schedules=[
                *refresh_schedule(names, refresh, self.sensor.refresh_cron, on),
                *(push_schedule(names, push, self.sensor.push_cron, on) if push else []),
                *nightly_schedule(names, lineage, inventory, self.sensor.nightly_cron, on),
                *freshness_schedule(names, lineage, watched, self.freshness.check_cron, on),
            ],
            resources=self._resources(names),
            # The ops of a run share one process: one Spark session, one computation, one commit.
            executor=in_process_executor,
        )

    def _source(self) -> SettingsReader:
        return SettingsReader(
            {
                "confluent": self.confluent.given(),
                "aws": self.aws.given(),
                "push": self.push.given(),
                "catalog": self.spark.catalog.given(),
            }
        )

    def _discover(self, last: Discovery | None, progress: Callable[[str], None]) -> Discovery:
        # Imported here: a load needs neither the clients nor the SQL parser.
        from lineage_bridge_dagster.discovery import discover

        return discover(self._source()(), last, progress=progress)

    def _instance(self, state_path: Path, names: Names, source: SettingsReader) -> ComponentInstance | None:
        discovery = read_state(state_path)
        if discovery is None:
            return None
        include = Include(self.include.topics, self.include.processes, self.include.external_datasets)
        inventory = build_inventory(discovery, self.get_asset_spec, include)
        return ComponentInstance(names, inventory, source.push, self.spark.namespace)

    def _assets(self, instance: ComponentInstance) -> list[AssetsDefinition | AssetSpec]:
        names, inventory = instance.names, instance.inventory
        checks = table_checks(instance, self.freshness.limits) if self.checks else None
        definitions: list[AssetsDefinition | AssetSpec] = [
            asset.spec.replace_attributes(deps=asset.deps) for asset in inventory.external
        ]
        for kind in (topic_assets(instance), chain_assets(instance), table_assets(instance, checks)):
            definitions.extend(
                bundle_definitions(kind, names.op(kind.name), partial(self._execute, kind), names.io_manager)
            )
        if self.include.examples:
            definitions.extend(example_assets(inventory, names.io_manager))
        if self.checks:
            policy = self.freshness.discovery_policy(self.sensor.refresh_cron)
            definitions.extend(discovery_asset(names, inventory, policy))
        return definitions

    def _execute(
        self, kind: AssetKind, context: AssetExecutionContext, assets: Sequence[Asset]
    ) -> Iterator[Any]:
        yield from self.execute(context, kind, assets)

    def _resources(self, names: Names) -> dict[str, Any]:
        confluent, aws = self.confluent.given(), self.aws.given()
        session = {"region_name": aws.pop("region", None), "profile_name": aws.pop("profile", None)}
        spark = SparkResource(
            spark_config=self.spark.spark_config(),
            catalog=with_aws_fields(self.spark.catalog.given(), self.aws.given()),
        )
        return {
            names.confluent: ConfluentResource(**session, **confluent),
            names.glue: GlueResource(**session, **aws),
            names.spark: spark,
            names.io_manager: PySparkIcebergIOManager(
                spark=spark,
                namespace=self.spark.namespace,
                database=self.spark.output_database,
                write_mode="overwrite",
                preview_rows=self.spark.preview_rows,
            ),
        }


@contextmanager
def _no_collections() -> Iterator[None]:
    """Without the cyclic collector: ten thousand tables' specs all stay, and looking through them again and
    again for what could go takes a quarter of the load."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _version(key: str) -> str:
    """The version of the state that the definitions are being built from."""
    info = DefinitionsLoadContext.get().get_defs_key_state_info(key)
    return info.version if info else ""
