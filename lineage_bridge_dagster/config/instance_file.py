"""What an instance of the component sets, read from its YAML file without Dagster's definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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

_COMPONENT = "LineageBridgeComponent"


def catalogs_given(spark: SparkConfig, catalogs: Sequence[CatalogConfig]) -> dict[str, Any]:
    """The group `catalogs` of an instance."""
    named = [catalog.given() for catalog in catalogs]
    return {"named": {each["name"]: each for each in named}, "lineage": spark.lineage_catalog}


def read_instance(path: Path) -> Given:
    """The fields by group that a `defs.yaml` sets, with its templates rendered.

    Raises:
        ConfigurationError: it is no YAML, has no instance of the component, or sets a wrong value.
    """
    fields = component_fields(path, _COMPONENT)
    with wrong_values(path):
        spark = SparkConfig.resolve_from_dict(fields.get("spark") or {})
        catalogs = [CatalogConfig.resolve_from_dict(each) for each in fields.get("catalogs") or ()]
        return {
            "confluent": ConfluentConfig.resolve_from_dict(fields.get("confluent") or {}).given(),
            "aws": AwsConfig.resolve_from_dict(fields.get("aws") or {}).given(),
            "push": PushConfig.resolve_from_dict(fields.get("push") or {}).given(),
            "catalog": spark.catalog.given(),
            "catalogs": catalogs_given(spark, catalogs),
        }


def component_fields(path: Path, component: str) -> Mapping[str, Any]:
    """The attributes of the first instance of a component in a `defs.yaml`, with its templates as they are.

    Raises:
        ConfigurationError: it is no YAML, or has no instance of the component.
    """
    try:
        documents = [each for each in yaml.safe_load_all(path.read_text()) if isinstance(each, Mapping)]
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}", hint="Pass a defs.yaml.") from error
    found = [each for each in documents if str(each.get("type", "")).endswith(f".{component}")]
    if not found:
        raise ConfigurationError(
            f"{path} has no instance of {component}.",
            hint="Pass the defs.yaml whose type is that of the component.",
        )
    return found[0].get("attributes") or {}


@contextmanager
def wrong_values(path: Path) -> Iterator[None]:
    """Name the file of a field that does not resolve.

    Raises:
        ConfigurationError: one has a wrong value.
    """
    try:
        yield
    except (DagsterError, ResolutionException, KeyError, ValueError) as error:
        raise ConfigurationError(f"{path}: {error}", hint="Correct the value that is named.") from error
