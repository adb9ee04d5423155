"""The engine of the assets on Spark, over topics in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from dagster import DagsterInstance, Definitions, ExecuteInProcessResult

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY
from lineage_bridge_dagster.lineage.loaded_topics import LoadedTopic
from lineage_bridge_dagster.spark.kafka import Offsets
from lineage_bridge_dagster.topic_to_iceberg.component import TopicToIcebergComponent
from lineage_bridge_dagster.topic_to_iceberg.engine import GlueStamps, TableLoader
from lineage_bridge_dagster.topic_to_iceberg.loader import Loader, OpenLoader
from lineage_bridge_dagster.topic_to_iceberg.loading.model import TopicSchemas
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_load import TopicLoad
from lineage_bridge_dagster_tests.spark.records import ORDERS_V1, InMemoryTopic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW_MS = 1_800_000_000_000
VALUES = TopicSchemas(value=ORDERS_V1)


@dataclass
class Engine:
    """The topics of an instance, on Spark.

    Attributes:
        schemas: what fetches the schemas of a topic, by its name.
    """

    spark: SparkSession
    catalog: CatalogSettings
    topics: dict[str, InMemoryTopic] = field(default_factory=dict)
    schemas: Callable[[str], Callable[[], TopicSchemas]] = lambda _topic: lambda: VALUES

    def __call__(self, load: TopicLoad) -> Loader:
        def oldest_unread(offsets: Offsets, ends: Offsets) -> int | None:
            return NOW_MS if any(offsets[p] < end for p, end in ends.items()) else None

        return TableLoader(
            self.spark,
            load,
            self.topics[load.topic],
            self.schemas(load.topic),
            oldest_unread,
            origin=LoadedTopic("env-1", "lkc-abc123", load.topic),
            stamp=GlueStamps(Catalogs.of(self.catalog)),
        )

    def use(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have every instance load with this engine."""
        for name, value in (("AWS_ACCESS_KEY_ID", ACCESS_KEY), ("AWS_SECRET_ACCESS_KEY", SECRET_KEY)):
            monkeypatch.setenv(name, value)

        def open_loaders(_self: TopicToIcebergComponent, *_: Any) -> OpenLoader:
            return self

        monkeypatch.setattr(TopicToIcebergComponent, "open_loaders", open_loaders)


def execute(definitions: Definitions, instance: DagsterInstance) -> ExecuteInProcessResult:
    """Load the topics, whether or not one fails."""
    job = definitions.resolve_job_def("topic_to_iceberg")
    return job.execute_in_process(instance=instance, raise_on_error=False)


def told(result: ExecuteInProcessResult) -> dict[str, dict[str, Any]]:
    """The metadata of a run's materializations by table."""
    return {
        str(event.asset_key.path[-1]): {
            name.removeprefix("lineage_bridge/"): value.value
            for name, value in event.materialization.metadata.items()
        }
        for event in result.get_asset_materialization_events()
        if event.asset_key
    }


def failed_checks(result: ExecuteInProcessResult) -> dict[str, dict[str, str]]:
    """What the checks that failed say, by table and check."""
    found: dict[str, dict[str, str]] = {}
    for each in result.get_asset_check_evaluations():
        if not each.passed:
            found.setdefault(each.asset_key.path[-1], {})[each.check_name] = each.description or ""
    return found
