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
from lineage_bridge_dagster.config.variables import PREFIX, FromVariables
from lineage_bridge_dagster.errors import ConfigurationError

#: Fields that follow the Glue catalog's own (`aws`) where they are not set themselves.
_AWS_FIELDS = {
    "region": "region",
    "profile": "profile",
    "role_arn": "role_arn",
    "catalog_id": "catalog_id",
    "glue_endpoint": "endpoint_url",
}

#: Catalogs that move the metadata pointer without a compare-and-swap: of two concurrent commits one is lost.
_UNSAFE = frozenset({"hadoop", "filesystem", "file", "in-memory", "memory"})

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def with_aws_fields(catalog: Mapping[str, Any], aws: Mapping[str, Any]) -> dict[str, Any]:
    """The fields set for the catalog, those of AWS where it has none of its own.

    >>> with_aws_fields({"warehouse": "s3://lake/w"}, {"region": "eu-west-1"})
    {'region': 'eu-west-1', 'warehouse': 's3://lake/w'}
    """
    shared = {name: aws[field] for name, field in _AWS_FIELDS.items() if aws.get(field)}
    return {**shared, **{name: value for name, value in catalog.items() if value not in (None, "")}}


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
    region: Annotated[str | None, FromVariables((PREFIX + "AWS_REGION",))] = Field(
        None, description="AWS region of the catalog and of S3."
    )
    catalog_id: Annotated[str | None, FromVariables((PREFIX + "AWS_CATALOG_ID",))] = Field(
        None, description="Account id of the Glue catalog; by default the caller's account."
    )
    profile: Annotated[str | None, FromVariables((PREFIX + "AWS_PROFILE",))] = Field(
        None, description="Named profile of the AWS configuration."
    )
    role_arn: Annotated[RoleArn | None, FromVariables((PREFIX + "AWS_ROLE_ARN",))] = Field(
        None, description="Role to assume for Glue and S3."
    )
    glue_endpoint: Annotated[
        Url | None, FromVariables((PREFIX + "CATALOG_GLUE_ENDPOINT", PREFIX + "AWS_ENDPOINT_URL"))
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
            if region := self._region(env):
                properties["client.assume-role.region"] = region
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
        if region := self._region(env):
            properties["client.region"] = region
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

    def _region(self, env: Mapping[str, str]) -> str | None:
        return self.region or env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION")
