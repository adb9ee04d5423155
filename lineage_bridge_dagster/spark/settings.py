"""The section of the YAML about Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import Field

from lineage_bridge_dagster.catalogs.settings.yaml_sections import CatalogConfig
from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.config.variables import FromVariables
from lineage_bridge_dagster.config.yaml_errors import Path
from lineage_bridge_dagster.config.yaml_schema import Accepts
from lineage_bridge_dagster.config.yaml_section import YamlSection
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.spark.connect_address import MASTER, REMOTE, remote_of


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


def catalogs_given(spark: SparkConfig, catalogs: Sequence[CatalogConfig]) -> dict[str, Any]:
    """The group `catalogs` of an instance."""
    named = [catalog.given() for catalog in catalogs]
    return {"named": {each["name"]: each for each in named}, "lineage": spark.lineage_catalog}
