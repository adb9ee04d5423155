"""What an instance of the component sets, read from its YAML file without Dagster's definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from dagster import DagsterError
from dagster.components.resolved.errors import ResolutionException

from lineage_bridge_dagster.config.settings import Given
from lineage_bridge_dagster.config.yaml_fields import (
    AwsConfig,
    CatalogConfig,
    ConfluentConfig,
    PushConfig,
    SparkConfig,
)
from lineage_bridge_dagster.errors import ConfigurationError

_COMPONENT = ".LineageBridgeComponent"


def catalogs_given(spark: SparkConfig, catalogs: Sequence[CatalogConfig]) -> dict[str, Any]:
    """The group `catalogs` of an instance."""
    named = [catalog.given() for catalog in catalogs]
    return {"named": {each["name"]: each for each in named}, "lineage": spark.lineage_catalog}


def read_instance(path: Path) -> Given:
    """The fields by group that a `defs.yaml` sets, with its templates rendered.

    Raises:
        ConfigurationError: it is no YAML, has no instance of the component, or sets a wrong value.
    """
    try:
        documents = [each for each in yaml.safe_load_all(path.read_text()) if isinstance(each, Mapping)]
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}", hint="Pass a defs.yaml.") from error
    found = [each for each in documents if str(each.get("type", "")).endswith(_COMPONENT)]
    if not found:
        raise ConfigurationError(
            f"{path} has no instance of LineageBridgeComponent.",
            hint="Pass the defs.yaml whose type is that of the component.",
        )
    fields = found[0].get("attributes") or {}
    try:
        spark = SparkConfig.resolve_from_dict(fields.get("spark") or {})
        catalogs = [CatalogConfig.resolve_from_dict(each) for each in fields.get("catalogs") or ()]
        return {
            "confluent": ConfluentConfig.resolve_from_dict(fields.get("confluent") or {}).given(),
            "aws": AwsConfig.resolve_from_dict(fields.get("aws") or {}).given(),
            "push": PushConfig.resolve_from_dict(fields.get("push") or {}).given(),
            "catalog": spark.catalog.given(),
            "catalogs": catalogs_given(spark, catalogs),
        }
    except (DagsterError, ResolutionException, KeyError, ValueError) as error:
        raise ConfigurationError(f"{path}: {error}", hint="Correct the value that is named.") from error
