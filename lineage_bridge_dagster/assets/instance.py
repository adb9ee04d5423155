"""One instance of the component: what its assets, checks and jobs share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dagster import AssetExecutionContext, DagsterInstance, OpExecutionContext

from lineage_bridge_dagster.assets.inventory import Inventory
from lineage_bridge_dagster.assets.lineage_events import LineageEvents
from lineage_bridge_dagster.assets.resources import ConfluentResource, GlueResource
from lineage_bridge_dagster.assets.run_cache import RunCache
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.specs.names import AssetNames

if TYPE_CHECKING:
    from lineage_bridge_dagster.spark.session import SparkResource

Context = AssetExecutionContext | OpExecutionContext


@dataclass(frozen=True)
class ComponentInstance:
    """The discovery that an instance shows, the names of its definitions and the resources behind them.

    Attributes:
        push_settings: reads what a push writes when something runs, so that a malformed variable fails that
            run and not the code location.
        events: sends events of OpenLineage.
        namespace: database of the lineage tables.
        newer: the assets of a newer discovery than `inventory` shows, if one is stored.
        own_spark: whether each run starts a Spark of its own, and does not use a Spark Connect server.
        cache: results of the runs in this process.
    """

    names: AssetNames
    inventory: Inventory
    push_settings: Callable[[], PushSettings]
    events: LineageEvents
    namespace: str = "lineage_bridge"
    own_spark: bool = True
    newer: Callable[[DagsterInstance], Inventory | None] = lambda _: None
    cache: RunCache = field(default_factory=RunCache)

    def current(self, context: Context) -> ComponentInstance:
        """The instance with the newest stored discovery, which all steps of a run share.

        A run may have waited in the queue, or been planned by a code server that has not reloaded. It must
        not replace the lineage of a newer discovery.
        """
        newer = self.cache.get(context.run.run_id, "newer", lambda: self.newer(context.instance))
        return replace(self, inventory=newer) if newer else self

    def confluent(self, context: Context) -> ConfluentResource:
        resource: ConfluentResource = getattr(context.resources, self.names.confluent)
        return resource

    def glue(self, context: Context) -> GlueResource:
        resource: GlueResource = getattr(context.resources, self.names.glue)
        return resource

    def spark(self, context: Context) -> SparkResource:
        resource: SparkResource = getattr(context.resources, self.names.spark)
        return resource
