"""The settings of a discovery outside Dagster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.settings import Settings


def discovery_settings(given: Mapping[str, Any] | None = None) -> Settings:
    """Read the settings of a discovery.

    Args:
        given: fields of `confluent` that take precedence; empty ones count as unset.

    Raises:
        ConfigurationError: there is no Confluent key, or a setting is malformed.
    """
    settings = Settings.from_env(given={"confluent": given or {}})
    if not settings.confluent.credentials:
        raise ConfigurationError(
            "No Confluent key is set.",
            hint="Set LINEAGE_BRIDGE_CONFLUENT_CLOUD_API_KEY and ..._SECRET, in the environment or in .env; "
            "or pass a lineage_graph.json with --graph.",
        )
    return settings
