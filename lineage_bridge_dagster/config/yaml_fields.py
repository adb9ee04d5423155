"""Fields that the sections of several components share."""

from __future__ import annotations

from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.config.value_types import pattern_type, text_type
from lineage_bridge_dagster.config.views import view_of
from lineage_bridge_dagster.config.yaml_schema import Accepts
from lineage_bridge_dagster.config.yaml_section import YamlSection, yaml_type
from lineage_bridge_dagster.dagster_internals.definitions import is_valid_cron_schedule

#: A part of the names of jobs and sensors.
NAME = Accepts(pattern_type(r"[A-Za-z0-9_]*", "a name of letters, digits and underscores"))
CRON = Accepts(
    text_type(
        is_valid_cron_schedule,
        r"^\s*\S+(\s+\S+){4}\s*$|^@\w+$|^\s*$",
        "a cron expression of five fields",
    )
)


@view_of(AwsSettings, yaml_type)
class AwsConfig(YamlSection):
    """Where the Glue Data Catalog is. boto3 looks up what is left empty, as in any AWS client."""
