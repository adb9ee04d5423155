"""The settings of a catalog of Iceberg tables. `catalog_properties` turns them into properties."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from lineage_bridge_dagster.catalogs.settings import tableflow_catalog
from lineage_bridge_dagster.catalogs.settings.tableflow_catalog import TABLEFLOW, TableflowPlace
from lineage_bridge_dagster.config import glue_iceberg
from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.config.value_types import NameList, Region, RoleArn, Url
from lineage_bridge_dagster.config.variables import Follows, FromVariables, followed_by
from lineage_bridge_dagster.errors import ConfigurationError

#: Catalogs that move the metadata pointer without a compare-and-swap: of two concurrent commits one is lost.
_UNSAFE = frozenset({"hadoop", "filesystem", "file", "in-memory", "memory"})

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

#: A placeholder from the documentation that was not replaced: `https://glue.{region}.amazonaws.com/iceberg`.
_PLACEHOLDER = re.compile(r"<[^<>]*>|\{[^{}]*\}")


def secret_variables(name: str) -> dict[str, str]:
    """The variables with the secrets of a catalog among others, unless its settings name others.

    Each has its own, so that no secret is sent to another catalog.
    """
    prefix = f"{PREFIX}CATALOG_{name}".upper()
    return {"credential_variable": f"{prefix}_CREDENTIAL", "token_variable": f"{prefix}_TOKEN"}


class CatalogSettings(BaseModel):
    """A catalog of Iceberg tables.

    It holds no secret: AWS credentials come from the SDK's credential chain, those of other catalogs from the
    environment variable named here.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field("glue", description="Name of the catalog in Spark: letters, digits and underscores.")
    type: Literal["glue", "rest", "tableflow", "jdbc", "hive"] = Field(
        "glue",
        description="glue: the AWS Glue Data Catalog; rest: an Iceberg REST catalog, such as Glue's Iceberg "
        "endpoint; tableflow: Tableflow's own REST catalogs, one for each environment and region; jdbc: a "
        "database; hive: a Hive metastore.",
    )
    warehouse: str | None = Field(
        None,
        description="Location of new tables (s3://bucket/prefix); for rest, the name of the warehouse, which "
        "is account:s3tablescatalog/bucket for the tables of an S3 Tables bucket.",
        examples=["s3://bucket/warehouse"],
    )
    region: Annotated[str | None, Follows("aws", "region")] = Field(
        None, description="AWS region of the catalog and of S3."
    )
    catalog_id: Annotated[str | None, Follows("aws", "catalog_id")] = Field(
        None, description="Account id of the Glue catalog; by default the caller's account."
    )
    profile: Annotated[str | None, Follows("aws", "profile")] = Field(
        None, description="Named profile of the AWS configuration."
    )
    role_arn: Annotated[RoleArn | None, Follows("aws", "role_arn")] = Field(
        None, description="Role to assume for Glue and S3."
    )
    glue_endpoint: Annotated[
        Url | None, Follows("aws", "endpoint_url"), FromVariables((PREFIX + "CATALOG_GLUE_ENDPOINT",))
    ] = Field(None, description="Endpoint of Glue; by default AWS_ENDPOINT_URL_GLUE or AWS_ENDPOINT_URL.")
    s3_endpoint: Url | None = Field(
        None, description="Endpoint of S3; by default AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL."
    )
    s3_path_style: bool | None = Field(
        None, description="Use path-style bucket addresses; by default only with an S3 endpoint."
    )
    uri: str | None = Field(
        None, description="Base URL of a REST catalog; JDBC URL of a database; Thrift URL of a metastore."
    )
    signing_name: str | None = Field(
        None,
        description="Service that requests to a REST catalog are signed for by SigV4; by default glue for "
        "Glue's Iceberg endpoint, and no signature elsewhere.",
        examples=["glue"],
    )
    signing_region: Region | None = Field(
        None,
        description="Region that requests are signed for; by default that of an AWS endpoint, else region.",
        examples=["us-east-1"],
    )
    oauth2_server_uri: Url | None = Field(
        None,
        description="URL that issues a REST catalog's OAuth2 tokens; by default v1/oauth/tokens below uri.",
        examples=["https://login.example.com/oauth2/token"],
    )
    scope: str | None = Field(
        None, description="Scope of the OAuth2 tokens; by default catalog.", examples=["catalog"]
    )
    credential_variable: str = Field(
        PREFIX + "CATALOG_CREDENTIAL",
        description="Environment variable with a REST catalog's OAuth2 client credentials, as id:secret; for "
        "a database, with user:password.",
    )
    token_variable: str = Field(
        PREFIX + "CATALOG_TOKEN", description="Environment variable with a REST catalog's bearer token."
    )
    namespaces: NameList = Field(
        default_factory=list,
        description="Namespaces whose tables are read, a list or comma-separated; empty: all.",
        examples=["sales, orders"],
    )
    discover: Literal["all", "connected"] | None = Field(
        None,
        description="Which tables of a rest catalog become assets. all: every one; connected: those that a "
        "known process writes, or that carry our lineage. Default: all if namespaces are named, else "
        "connected.",
        examples=["all"],
    )
    read_only: bool = Field(False, description="Refuse writes to this catalog.", examples=[True])
    properties: Annotated[dict[str, str], FromVariables()] = Field(
        default_factory=dict,
        repr=False,
        description="Further catalog properties, passed to Spark and PyIceberg unchanged.",
    )

    @field_validator("type", mode="before")
    @classmethod
    def _safe_for_concurrent_commits(cls, value: Any) -> Any:
        if isinstance(value, str) and value.strip().lower() in _UNSAFE:
            raise ConfigurationError(
                f"A {value} catalog is not safe for concurrent commits: of two commits at once, one is lost.",
                hint="Use type: glue, or type: rest with the uri of an Iceberg REST catalog.",
            )
        return value

    @model_validator(mode="before")
    @classmethod
    def _tableflows_take_no_writes(cls, data: Any) -> Any:
        return (
            {**data, "read_only": True} if isinstance(data, dict) and data.get("type") == TABLEFLOW else data
        )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not _NAME.fullmatch(self.name):
            raise ConfigurationError(
                f"Spark does not accept the catalog name {self.name!r}.",
                hint="Use letters, digits and underscores, starting with a letter, such as glue.",
            )
        if self.type == TABLEFLOW:
            tableflow_catalog.check(self.name, self.uri)
            return self
        for field in ("uri", "warehouse"):
            if left := _PLACEHOLDER.search(getattr(self, field) or ""):
                raise ConfigurationError(
                    f"The {field} of catalog {self.name!r} still has the placeholder {left[0]}.",
                    hint=f"Write the value itself in place of {left[0]}.",
                )
        # The endpoint of a catalog of Glue follows from the region, which may be that of `aws`.
        implied = self.type == "rest" and glue_iceberg.is_glue_catalog(self.warehouse)
        if self.type != "glue" and not self.uri and not implied:
            kind = {"rest": "REST", "jdbc": "JDBC", "hive": "Hive"}[self.type]
            raise ConfigurationError(
                f"The {kind} catalog {self.name!r} has no uri.",
                hint=f"Set its uri; for spark.catalog, {PREFIX}CATALOG_URI does so, and ICEBERG_REST_URI for "
                f"{glue_iceberg.S3_TABLES}.",
            )
        if self.type == "rest":
            glue_iceberg.check(self.name, self.uri, self.warehouse, self.signing_name)
        return self

    @property
    def discovers_all(self) -> bool:
        """Whether every table becomes an asset.

        Who names namespaces wants to see their tables. A whole catalog may have thousands that have nothing
        to do with Kafka: each is a call at every discovery, and an asset without lineage.
        """
        return self.discover == "all" or (self.discover is None and bool(self.namespaces))

    @property
    def glue_account(self) -> str | None:
        """The account whose own Glue tables these are: empty for the caller's, None for other tables."""
        if self.type == "glue":
            return self.catalog_id or ""
        own = self.type == "rest" and self.signing_name == "glue" and ":" not in (self.warehouse or ":")
        return self.warehouse if own else None

    @property
    def speaks_rest(self) -> bool:
        """Whether it is asked in the protocol of Iceberg's REST catalogs."""
        return self.type in ("rest", TABLEFLOW)

    @property
    def nests_namespaces(self) -> bool:
        """Whether a namespace may have others within it: those of Glue and of S3 Tables have none."""
        return self.type == "rest" and not self.signing_name

    @property
    def is_one_catalog(self) -> bool:
        """Whether it stands for itself: an entry for Tableflow stands for the catalogs of all environments,
        unless its uri is that of one."""
        return self.type != TABLEFLOW or tableflow_catalog.is_one_catalog(self.uri)

    def for_tableflow(self, place: TableflowPlace) -> Self | None:
        """The catalog of a place; None if this is not one of Tableflow's, or that of another place."""
        if self.type != TABLEFLOW or not place.is_known:
            return None
        if self.is_one_catalog:
            return self if tableflow_catalog.covers(self.uri or "", place) else None
        return self.model_copy(
            update={
                "name": tableflow_catalog.name_of(self.name, place),
                "uri": tableflow_catalog.address(self.uri, place),
                "region": self.region or place.region,
            }
        )

    def beside(self, aws: BaseModel) -> Self:
        """Take what is not set, of the fields that follow those of the Glue catalog, from there.

        Raises:
            ConfigurationError: the catalog signs its requests, and no region is known; or the regions of its
                settings differ.
        """
        followed = {name: followed_by(field) for name, field in type(self).model_fields.items()}
        update = {
            name: getattr(aws, other.name)
            for name, other in followed.items()
            if other and not getattr(self, name)
        }
        if self.type == "rest":
            update |= self._signed(update.get("region"))
        return self.model_copy(update=update)

    def _signed(self, home: str | None) -> dict[str, str]:
        """The fields that follow from how requests to a REST catalog are signed, in the region of `aws`."""
        signing = glue_iceberg.signing(
            self.name, self.uri, self.warehouse, self.signing_name, self.signing_region, self.region
        )
        if signing is None:
            return {}
        region = signing.region or home
        if not region:
            raise ConfigurationError(
                f"Requests to catalog {self.name!r} are signed, and no AWS region is set.",
                hint=f"Set AWS_REGION (or {PREFIX}AWS_REGION), or signing_region of the catalog.",
            )
        return {
            "signing_name": signing.name,
            "signing_region": region,
            "region": self.region or region,
            "uri": self.uri or glue_iceberg.endpoint_of(region),
        }
