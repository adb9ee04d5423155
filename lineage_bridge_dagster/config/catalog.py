"""The catalog that holds the Iceberg tables, and its configuration in Spark.

Property names are those of Iceberg's `AwsProperties`, `AwsClientProperties`, `S3FileIOProperties` and
`CatalogProperties`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from lineage_bridge_dagster.config.value_types import RoleArn, Url
from lineage_bridge_dagster.config.variables import PREFIX, Follows, FromVariables, followed_by
from lineage_bridge_dagster.errors import ConfigurationError

#: Catalogs that move the metadata pointer without a compare-and-swap: of two concurrent commits one is lost.
_UNSAFE = frozenset({"hadoop", "filesystem", "file", "in-memory", "memory"})

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class CatalogSettings(BaseModel):
    """The catalog of the Iceberg tables.

    It holds no secret: AWS credentials come from the SDK's credential chain, a REST catalog's from the
    environment variable named here.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field("glue", description="Name of the catalog in Spark: letters, digits and underscores.")
    type: Literal["glue", "rest"] = Field(
        "glue", description="glue: the AWS Glue Data Catalog; rest: an Iceberg REST catalog."
    )
    warehouse: str | None = Field(
        None,
        description="Location of new tables (s3://bucket/prefix); for rest, the name of the warehouse.",
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
    uri: str | None = Field(None, description="Base URL of a REST catalog.")
    credential_variable: str = Field(
        PREFIX + "CATALOG_CREDENTIAL",
        description="Environment variable with a REST catalog's OAuth2 client credentials, as id:secret.",
    )
    token_variable: str = Field(
        PREFIX + "CATALOG_TOKEN", description="Environment variable with a REST catalog's bearer token."
    )
    properties: Annotated[dict[str, str], FromVariables()] = Field(
        default_factory=dict,
        repr=False,
        description="Further catalog properties, passed to Spark unchanged.",
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

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not _NAME.fullmatch(self.name):
            raise ConfigurationError(
                f"Spark does not accept the catalog name {self.name!r}.",
                hint="Use letters, digits and underscores, starting with a letter, such as glue.",
            )
        if self.type == "rest" and not self.uri:
            raise ConfigurationError(
                f"The REST catalog {self.name!r} has no uri.", hint=f"Set uri, or {PREFIX}CATALOG_URI."
            )
        return self

    def beside(self, aws: BaseModel) -> Self:
        """Take what is not set, of the fields that follow those of the Glue catalog, from there."""
        followed = {name: followed_by(field) for name, field in type(self).model_fields.items()}
        return self.model_copy(
            update={
                name: getattr(aws, other.name)
                for name, other in followed.items()
                if other and not getattr(self, name)
            }
        )

    def spark_conf(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """Spark's configuration of the catalog: `spark.sql.catalog.<name>` and the properties below it."""
        env = os.environ if env is None else env
        prefix = f"spark.sql.catalog.{self.name}"
        properties = self._aws(env)
        if self.type == "glue":
            properties["catalog-impl"] = "org.apache.iceberg.aws.glue.GlueCatalog"
            # Iceberg checks names against Hive's rules, and Tableflow's (`lkc-abc123`, `orders.v1`) fail.
            properties["glue.skip-name-validation"] = "true"
        else:
            properties["type"] = "rest"
            properties.update(self._rest(env))
        properties["io-impl"] = "org.apache.iceberg.aws.s3.S3FileIO"
        # A session that caches tables keeps reading the snapshot that it loaded first.
        properties["cache-enabled"] = "false"
        if self.role_arn:
            properties["client.factory"] = "org.apache.iceberg.aws.AssumeRoleAwsClientFactory"
            properties["client.assume-role.arn"] = self.role_arn
            if self.region:
                properties["client.assume-role.region"] = self.region
        properties.update(self.properties)
        return {
            prefix: "org.apache.iceberg.spark.SparkCatalog",
            **{f"{prefix}.{key}": value for key, value in properties.items()},
        }

    def java_options(self) -> str:
        """JVM options for the AWS SDK that no catalog property covers."""
        return f"-Daws.profile={self.profile}" if self.profile else ""

    def _aws(self, env: Mapping[str, str]) -> dict[str, str]:
        default_endpoint = env.get("AWS_ENDPOINT_URL")
        properties: dict[str, str] = {}
        if self.warehouse:
            properties["warehouse"] = self.warehouse
        if self.region:
            properties["client.region"] = self.region
        if self.type == "glue":
            if endpoint := self.glue_endpoint or env.get("AWS_ENDPOINT_URL_GLUE") or default_endpoint:
                properties["glue.endpoint"] = endpoint
            if self.catalog_id:
                properties["glue.id"] = self.catalog_id
        endpoint = self.s3_endpoint or env.get("AWS_ENDPOINT_URL_S3") or default_endpoint
        if endpoint:
            properties["s3.endpoint"] = endpoint
        if self.s3_path_style or (self.s3_path_style is None and endpoint):
            properties["s3.path-style-access"] = "true"
        return properties

    def _rest(self, env: Mapping[str, str]) -> dict[str, str]:
        properties = {"uri": self.uri or ""}
        if credential := env.get(self.credential_variable):
            properties["credential"] = credential
        if token := env.get(self.token_variable):
            properties["token"] = token
        return properties
