"""The section of the YAML about events of OpenLineage."""

from __future__ import annotations

from lineage_bridge_dagster.config.views import view_of
from lineage_bridge_dagster.config.yaml_section import YamlSection, yaml_type
from lineage_bridge_dagster.openlineage.settings import OpenLineageSettings


@view_of(OpenLineageSettings, yaml_type)
class OpenLineageConfig(YamlSection):
    """Events of OpenLineage."""
