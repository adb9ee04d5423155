"""The catalogs of Iceberg tables as a Dagster resource."""

from __future__ import annotations

from typing import Any

from dagster import ConfigurableResource
from pydantic import Field, PrivateAttr

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import CatalogGroups, Catalogs
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TableflowPlace
from lineage_bridge_dagster.config.known_fields import known_fields
from lineage_bridge_dagster.config.secrets import CachedSecrets


class CatalogsResource(ConfigurableResource):  # type: ignore[type-arg]
    """Where Iceberg tables are. It needs neither Spark nor Java."""

    catalog: dict[str, Any] = Field(
        default_factory=dict,
        description="The default catalog of the Iceberg tables: the fields of CatalogSettings. Fields left "
        "out come from LINEAGE_BRIDGE_CATALOG_*, AWS's own from `aws`.",
    )
    catalogs: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="Further catalogs by name: the fields of CatalogSettings. AWS's own come from `aws`.",
    )
    lineage_catalog: str = Field(
        "", description="Name of the catalog of the lineage tables; by default that of `catalog`."
    )
    aws: dict[str, Any] = Field(
        default_factory=dict,
        description="Where the Glue Data Catalog is: the fields of AwsSettings. Fields left out come from "
        "LINEAGE_BRIDGE_AWS_*.",
    )
    secrets: list[str] = Field(
        default_factory=list,
        description="AWS Secrets Manager secrets that contain LINEAGE_BRIDGE_* variables, by name or ARN.",
    )
    tableflow_places: list[dict[str, str]] = Field(
        default_factory=list,
        description="Where Tableflow has tables: organization, environment, cloud and region of each of its "
        "own catalogs, for an entry of catalogs of type tableflow.",
    )
    instance: str = Field(
        "",
        description="Name of the component's instance, which its default catalog is named after by default.",
    )

    _known = known_fields
    # The catalogs are asked for by every input and output.
    _cached_secrets: CachedSecrets = PrivateAttr(default_factory=CachedSecrets)

    @property
    def all_catalogs(self) -> Catalogs:
        """The catalogs, with the fields that the environment sets.

        Raises:
            ConfigurationError: one is malformed, or not safe for concurrent commits; a secret can't be read.
        """
        given = {
            "catalog": self.catalog,
            "catalogs": {"named": self.catalogs, "lineage": self.lineage_catalog},
            "aws": self.aws,
            "confluent": {"secrets": self.secrets},
        }
        settings = CatalogGroups.from_env(given=given, groups=["catalogs"], secrets=self._cached_secrets)
        default = settings.catalog
        if self.instance and "name" not in default.model_fields_set:
            # All instances share one Spark session, in which a name stands for one catalog.
            default = default.model_copy(update={"name": f"{default.name}_{self.instance}"})
        return settings.model_copy(update={"catalog": default}).all_catalogs(
            TableflowPlace(**place) for place in self.tableflow_places
        )

    @property
    def catalog_config(self) -> CatalogSettings:
        """The default catalog. It raises as `all_catalogs` does."""
        return self.all_catalogs.default
