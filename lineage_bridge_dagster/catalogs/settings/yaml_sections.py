"""The sections of the YAML that describe catalogs, and pushes to them."""

from __future__ import annotations

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.push_settings import PushSettings
from lineage_bridge_dagster.config.views import view_of
from lineage_bridge_dagster.config.yaml_section import YamlSection, yaml_type


@view_of(PushSettings, yaml_type)
class PushConfig(YamlSection):
    """What a push writes, and its limits. A run of the `push` job can override some of them."""


@view_of(CatalogSettings, yaml_type)
class CatalogConfig(YamlSection):
    """A catalog of Iceberg tables. Empty AWS fields are taken from `aws`."""
