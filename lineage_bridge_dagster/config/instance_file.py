"""Instances of components, read from their YAML files without Dagster's definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from dagster import DagsterError
from dagster.components.resolved.errors import ResolutionException

from lineage_bridge_dagster.errors import ConfigurationError


def component_fields(path: Path, component: str) -> Mapping[str, Any]:
    """The attributes of the first instance of a component in a `defs.yaml`, with its templates as they are.

    Raises:
        ConfigurationError: it is not YAML, or has no instance of the component.
    """
    try:
        documents = [each for each in yaml.safe_load_all(path.read_bytes()) if isinstance(each, Mapping)]
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
