"""Upstream lineage of Confluent Tableflow tables, as Dagster assets and in AWS Glue.

The names of `__all__` are the public API, see docs/api.md; everything else may change.
"""

import os
from typing import TYPE_CHECKING

if os.environ.get("LINEAGE_BRIDGE_LOG_FORMAT") == "json":
    # Before anything is logged: a run's process and a code server import the package first of all.
    from lineage_bridge_dagster.config.json_logs import write_json_logs

    write_json_logs()

if TYPE_CHECKING:
    from lineage_bridge_dagster.api import chains, connector_lineage, discover, push, sql_lineage
    from lineage_bridge_dagster.assets.resources import ConfluentResource, GlueResource
    from lineage_bridge_dagster.catalogs.settings.catalogs_resource import CatalogsResource
    from lineage_bridge_dagster.collector.assets.component import InventoryCollectorComponent
    from lineage_bridge_dagster.component import LineageBridgeComponent
    from lineage_bridge_dagster.spark.io.iceberg_manager import IcebergIOManager
    from lineage_bridge_dagster.spark.io.manager import PySparkIcebergIOManager
    from lineage_bridge_dagster.spark.session import SparkResource
    from lineage_bridge_dagster.specs.translator import LineageTranslator
    from lineage_bridge_dagster.topic_to_iceberg.component import TopicToIcebergComponent

    __version__: str

__all__ = [
    "CatalogsResource",
    "ConfluentResource",
    "GlueResource",
    "IcebergIOManager",
    "InventoryCollectorComponent",
    "LineageBridgeComponent",
    "LineageTranslator",
    "PySparkIcebergIOManager",
    "SparkResource",
    "TopicToIcebergComponent",
    "chains",
    "connector_lineage",
    "discover",
    "push",
    "sql_lineage",
]

#: Where each name is. It is imported when it is first used: modules are also run before the package's
#: requirements are installed, and one name should not cost the import of all.
_MODULES = {
    "CatalogsResource": "lineage_bridge_dagster.catalogs.settings.catalogs_resource",
    "ConfluentResource": "lineage_bridge_dagster.assets.resources",
    "GlueResource": "lineage_bridge_dagster.assets.resources",
    "IcebergIOManager": "lineage_bridge_dagster.spark.io.iceberg_manager",
    "InventoryCollectorComponent": "lineage_bridge_dagster.collector.assets.component",
    "LineageBridgeComponent": "lineage_bridge_dagster.component",
    "LineageTranslator": "lineage_bridge_dagster.specs.translator",
    "PySparkIcebergIOManager": "lineage_bridge_dagster.spark.io.manager",
    "SparkResource": "lineage_bridge_dagster.spark.session",
    "TopicToIcebergComponent": "lineage_bridge_dagster.topic_to_iceberg.component",
    "chains": "lineage_bridge_dagster.api",
    "connector_lineage": "lineage_bridge_dagster.api",
    "discover": "lineage_bridge_dagster.api",
    "push": "lineage_bridge_dagster.api",
    "sql_lineage": "lineage_bridge_dagster.api",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version

            return version("lineage-bridge-dagster")
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_MODULES[name]), name)

    def __dir__() -> list[str]:
        return [*globals(), *_MODULES]
