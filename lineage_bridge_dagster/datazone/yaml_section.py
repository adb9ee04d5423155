"""The section of the YAML about DataZone."""

from __future__ import annotations

from lineage_bridge_dagster.config.views import view_of
from lineage_bridge_dagster.config.yaml_section import YamlSection, yaml_type
from lineage_bridge_dagster.datazone.settings import DataZoneSettings


@view_of(DataZoneSettings, yaml_type)
class DataZoneConfig(YamlSection):
    """Lineage in a domain of Amazon DataZone, or of SageMaker Unified Studio."""
