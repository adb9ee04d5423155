"""The sections of the component's YAML.

A field of `confluent`, `aws`, `push` or `spark.catalog` that is empty in the YAML is read from the
environment (`LINEAGE_BRIDGE_*`), as the CLI reads it. Keys and secrets have no field: they come from the
environment or from AWS Secrets Manager, so that no file, state or page of the UI contains them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field, field_validator

from lineage_bridge_dagster.config.catalog import CatalogSettings
from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.config.settings import AwsSettings, ConfluentSettings, PushSettings
from lineage_bridge_dagster.config.spark_remote import MASTER, REMOTE, remote_of
from lineage_bridge_dagster.config.value_types import pattern_type, text_type
from lineage_bridge_dagster.config.variables import FromVariables
from lineage_bridge_dagster.config.views import view_of
from lineage_bridge_dagster.config.yaml_errors import Path
from lineage_bridge_dagster.config.yaml_schema import Accepts
from lineage_bridge_dagster.config.yaml_section import YamlSection, yaml_type
from lineage_bridge_dagster.dagster_internals import is_valid_cron_schedule
from lineage_bridge_dagster.errors import ConfigurationError

#: A part of the names of jobs and sensors.
NAME = Accepts(pattern_type(r"[A-Za-z0-9_]*", "a name of letters, digits and underscores"))
CRON = Accepts(
    text_type(
        is_valid_cron_schedule,
        r"^\s*\S+(\s+\S+){4}\s*$|^@\w+$|^\s*$",
        "a cron expression of five fields",
    )
)


@view_of(ConfluentSettings, yaml_type, leave_out={"credentials", "max_attempts"})
class ConfluentConfig(YamlSection):
    """Where Confluent is, and what to read."""


@view_of(AwsSettings, yaml_type)
class AwsConfig(YamlSection):
    """Where the Glue Data Catalog is. boto3 looks up what is left empty, as in any AWS client."""


@view_of(PushSettings, yaml_type)
class PushConfig(YamlSection):
    """What a push writes, and its limits. A run of the `push` job can override some of them."""


@view_of(CatalogSettings, yaml_type)
class CatalogConfig(YamlSection):
    """A catalog of Iceberg tables. Empty AWS fields are taken from `aws`."""


class SparkConfig(YamlSection):
    """The Spark session, which starts when an asset first needs it, and the Iceberg catalog."""

    master: str | None = Field(
        default=None,
        description="Spark master: local[2], spark://host:7077, yarn.",
        examples=["spark://host:7077"],
    )
    remote: str | None = Field(
        default=None,
        description="Spark Connect server that runs already, in place of a master: sc://host:15002. Its "
        "token is read from LINEAGE_BRIDGE_SPARK_TOKEN.",
        examples=["sc://host:15002"],
    )
    conf: dict[str, Any] = Field(
        default_factory=dict, description="Further Spark configuration, by property name."
    )
    catalog: CatalogConfig = Field(
        default_factory=CatalogConfig,
        description="The default catalog of the Iceberg tables (type, warehouse, uri, ...), and that of the "
        "lineage tables unless lineage_catalog names another; empty fields come from "
        "LINEAGE_BRIDGE_CATALOG_*.",
        examples=["{warehouse: s3://bucket/warehouse}"],
    )
    lineage_catalog: Annotated[str, FromVariables((PREFIX + "LINEAGE_CATALOG",))] = Field(
        default="",
        description="Name of the catalog of the lineage tables, one of catalogs. Default: the catalog above.",
        examples=["lake"],
    )
    namespace: Annotated[str, FromVariables((PREFIX + "NAMESPACE",))] = Field(
        default="lineage_bridge",
        description="Database of the lineage tables in their catalog. An instance with a name has "
        "lineage_bridge_{name} if this is not set.",
        examples=["lineage_bridge"],
    )
    history_days: Annotated[float, Accepts(Annotated[float, Field(ge=0)])] = Field(
        default=90.0,
        description="Days for which every snapshot of the lineage tables can be queried; upkeep ends older "
        "ones, except for the newest.",
        examples=[90],
    )
    output_database: str = Field(
        default="lineage_bridge",
        description="Database of output tables for assets whose key has only one part.",
        examples=["lineage_bridge"],
    )
    preview_rows: Annotated[int, Accepts(Annotated[int, Field(ge=0, le=100)])] = Field(
        default=5,
        description="Rows of each written DataFrame to show in its materialization; 0 shows none.",
        examples=[5],
    )

    def spark_config(self) -> dict[str, Any]:
        named = {MASTER: self.master, REMOTE: self.remote}
        return {**{key: value for key, value in named.items() if value}, **self.conf}

    def contradictions(self) -> Iterator[tuple[Path, ConfigurationError]]:
        """A server's address that cannot be used."""
        try:
            remote_of(self.spark_config())
        except ConfigurationError as error:
            yield ("remote",) if self.remote else ("conf",), error


class IncludeConfig(YamlSection):
    """Which nodes become assets. Chains and pushes always contain all lineage."""

    topics: bool = Field(default=True, description="Kafka topics.", examples=[True])
    processes: bool = Field(
        default=True, description="Connectors, Flink statements and ksqlDB queries.", examples=[True]
    )
    external_datasets: bool = Field(default=True, description="Datasets outside Confluent.", examples=[True])
    examples: Annotated[bool, FromVariables((PREFIX + "EXAMPLES",))] = Field(
        default=False,
        description="Example assets downstream of the demo's sample topic and table, if both exist.",
        examples=[True],
    )


class SensorConfig(YamlSection):
    """What runs automatically, and when."""

    running: Annotated[bool, FromVariables((PREFIX + "SENSORS",))] = Field(
        default=False,
        description="Start the sensor and the schedules without a click in the UI.",
        examples=[True],
    )
    interval_seconds: Annotated[int, Accepts(Annotated[int, Field(gt=0)])] = Field(
        default=10, description="Minimum time between ticks, in seconds.", examples=[10]
    )
    budget_seconds: Annotated[float, Accepts(Annotated[float, Field(gt=0, lt=60)])] = Field(
        default=20.0,
        description="Time budget of a tick, in seconds, under 60; the next tick continues where it ended.",
        examples=[20],
    )
    sweep_minutes: Annotated[float, Accepts(Annotated[float, Field(ge=0)])] = Field(
        default=5.0,
        description="Minutes between the starts of two sweeps, which compare whole tables with what was "
        "pushed; 0: none.",
        examples=[5],
    )
    sweep_repair: bool = Field(
        default=True,
        description="Push lineage again that a sweep finds lost; otherwise it is only reported.",
        examples=[True],
    )
    refresh_cron: Annotated[str, CRON, FromVariables((PREFIX + "REFRESH_CRON",))] = Field(
        default="*/15 * * * *",
        description="Schedule of full discoveries, as a cron expression; empty: none.",
        examples=["*/15 * * * *"],
    )
    push_cron: Annotated[str, CRON, FromVariables((PREFIX + "PUSH_CRON",))] = Field(
        default="7 * * * *",
        description="Schedule of pushes that restore lost lineage, as a cron expression; empty: none.",
        examples=["7 * * * *"],
    )
    nightly_cron: Annotated[str, CRON, FromVariables((PREFIX + "NIGHTLY_CRON",))] = Field(
        default="13 2 * * *",
        description="Schedule of full runs (all topics, chains, pushes and checks), as a cron expression; "
        "empty: none.",
        examples=["13 2 * * *"],
    )
    upkeep_cron: Annotated[str, CRON, FromVariables((PREFIX + "UPKEEP_CRON",))] = Field(
        default="43 3 * * *",
        description="Schedule of the upkeep of the lineage tables, as a cron expression; empty: none.",
        examples=["43 3 * * *"],
    )

    @field_validator("running", mode="before")
    @classmethod
    def _empty_is_off(cls, value: Any) -> Any:
        return False if value in (None, "") else value

    @field_validator("interval_seconds", "budget_seconds")
    @classmethod
    def _above_zero(cls, value: float) -> float:
        # No bounds on the field itself: the YAML's schema would apply them to a template's text.
        if value <= 0:
            raise ValueError("must be above zero")
        return value
