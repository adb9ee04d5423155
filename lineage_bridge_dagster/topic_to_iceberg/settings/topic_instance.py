"""An instance of the component that loads topics, read from its YAML without Dagster's definitions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lineage_bridge_dagster.catalogs.settings.yaml_sections import CatalogConfig
from lineage_bridge_dagster.config.instance_file import component_fields, wrong_values
from lineage_bridge_dagster.config.yaml_fields import AwsConfig
from lineage_bridge_dagster.confluent.cluster_settings import KafkaConfig
from lineage_bridge_dagster.confluent.resource import ConfluentConfig
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster.spark.settings import SparkConfig, catalogs_given
from lineage_bridge_dagster.topic_to_iceberg.settings.load_plan import CatalogKinds, LoadPlan, catalog_kinds
from lineage_bridge_dagster.topic_to_iceberg.settings.topic_entries import DefaultsConfig, TopicEntryConfig

_COMPONENT = "TopicToIcebergComponent"


@dataclass(frozen=True)
class TopicInstance:
    """What a `defs.yaml` says of the topics, their cluster and their catalogs."""

    kafka: KafkaConfig
    topics: list[TopicEntryConfig]
    defaults: DefaultsConfig
    kinds: CatalogKinds
    settings: Settings

    def plan(self, cluster: str) -> LoadPlan:
        """Which topics are loaded and how, with the tables of a cluster of this id."""
        return LoadPlan(self.topics, self.defaults, database=cluster, catalogs=self.kinds)


def read_topic_instance(path: Path) -> TopicInstance:
    """Read a `defs.yaml`, with its templates rendered, and the settings that it leaves to the environment.

    Raises:
        ConfigurationError: it is not YAML, has no instance of the component, or sets a wrong value.
    """
    fields = component_fields(path, _COMPONENT)
    name = str(fields.get("name") or "")
    with wrong_values(path):
        spark = SparkConfig.resolve_from_dict(fields.get("spark") or {})
        catalogs = [CatalogConfig.resolve_from_dict(each) for each in fields.get("catalogs") or ()]
        kinds = catalog_kinds(spark, catalogs, name)
        given = {
            "confluent": ConfluentConfig.resolve_from_dict(fields.get("confluent") or {}).given(),
            "aws": AwsConfig.resolve_from_dict(fields.get("aws") or {}).given(),
            "catalog": {**spark.catalog.given(), "name": kinds.default},
            "catalogs": catalogs_given(spark, catalogs),
        }
        return TopicInstance(
            KafkaConfig.resolve_from_dict(fields.get("kafka") or {}),
            [TopicEntryConfig.resolve_from_dict(each) for each in fields.get("topics") or ()],
            DefaultsConfig.resolve_from_dict(fields.get("defaults") or {}),
            kinds,
            Settings.from_env(given=given, groups=["confluent", "catalogs"]),
        )
