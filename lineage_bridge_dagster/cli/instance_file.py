"""What an instance of the component sets, read from its YAML file without Dagster's definitions."""

from __future__ import annotations

from pathlib import Path

from lineage_bridge_dagster.catalogs.settings.yaml_sections import CatalogConfig, PushConfig
from lineage_bridge_dagster.config.groups import Given
from lineage_bridge_dagster.config.instance_file import component_fields, wrong_values
from lineage_bridge_dagster.config.yaml_fields import AwsConfig
from lineage_bridge_dagster.confluent.resource import ConfluentConfig
from lineage_bridge_dagster.datazone.yaml_section import DataZoneConfig
from lineage_bridge_dagster.openlineage.yaml_section import OpenLineageConfig
from lineage_bridge_dagster.spark.settings import SparkConfig, catalogs_given


def read_instance(path: Path) -> Given:
    """The fields by group that a `defs.yaml` sets, with its templates rendered.

    Raises:
        ConfigurationError: it is not YAML, has no instance of the component, or sets a wrong value.
    """
    fields = component_fields(path, "LineageBridgeComponent")
    with wrong_values(path):
        spark = SparkConfig.resolve_from_dict(fields.get("spark") or {})
        catalogs = [CatalogConfig.resolve_from_dict(each) for each in fields.get("catalogs") or ()]
        return {
            "confluent": ConfluentConfig.resolve_from_dict(fields.get("confluent") or {}).given(),
            "aws": AwsConfig.resolve_from_dict(fields.get("aws") or {}).given(),
            "datazone": DataZoneConfig.resolve_from_dict(fields.get("datazone") or {}).given(),
            "openlineage": OpenLineageConfig.resolve_from_dict(fields.get("openlineage") or {}).given(),
            "push": PushConfig.resolve_from_dict(fields.get("push") or {}).given(),
            "catalog": spark.catalog.given(),
            "catalogs": catalogs_given(spark, catalogs),
        }
