"""The catalog that holds the Iceberg tables, as Spark and as PyIceberg want to be told of it.

Property names are those of Iceberg's `AwsProperties`, `AwsClientProperties`, `S3FileIOProperties` and
`CatalogProperties`, and of PyIceberg's configuration page.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from lineage_bridge_dagster.errors import ConfigurationError

PREFIX = "LINEAGE_BRIDGE_CATALOG_"

#: Implementations that move a pointer without a compare-and-swap, so that the later of two commits wins.
_UNSAFE = frozenset({"hadoop", "filesystem", "file", "in-memory", "memory"})

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class CatalogConfig(BaseModel):
    """One catalog. It holds no secret: AWS credentials come by the SDKs' own chain, a REST catalog's from
    the environment variable that is named here.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field("glue", description="Name of the catalog in Spark: letters, digits and underscores.")
    type: Literal["glue", "rest"] = Field(
        "glue", description="glue: the AWS Glue Data Catalog; rest: an Iceberg REST catalog."
    )
    warehouse: str | None = Field(
        None, description="Where new tables go (s3://bucket/prefix); for rest, the warehouse's name."
    )
    region: str | None = Field(None, description="AWS region of the catalog and of S3.")
    catalog_id: str | None = Field(
        None, description="Account id of the Glue catalog; the caller's by default."
    )
    profile: str | None = Field(None, description="Named profile of the AWS configuration.")
    role_arn: str | None = Field(None, description="Role to assume for Glue and S3.")
    glue_endpoint: str | None = Field(
        None, description="Endpoint of Glue; else AWS_ENDPOINT_URL_GLUE or AWS_ENDPOINT_URL."
    )
    s3_endpoint: str | None = Field(
        None, description="Endpoint of S3; else AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL."
    )
    s3_path_style: bool | None = Field(
        None, description="Address buckets by path; by default only where an S3 endpoint is set."
    )
    uri: str | None = Field(None, description="Base URL of a REST catalog.")
    credential_variable: str = Field(
        PREFIX + "CREDENTIAL",
        description="Environment variable with a REST catalog's OAuth2 client, as id:secret.",
    )
    token_variable: str = Field(
        PREFIX + "TOKEN", description="Environment variable with a REST catalog's bearer token."
    )
    properties: dict[str, str] = Field(
        default_factory=dict,
        repr=False,
        description="Further catalog properties, given to Spark and PyIceberg as they are.",
    )

    @field_validator("type", mode="before")
    @classmethod
    def _safe_for_concurrent_commits(cls, value: Any) -> Any:
        if isinstance(value, str) and value.strip().lower() in _UNSAFE:
            raise ConfigurationError(
                f"A {value} catalog is not safe for concurrent commits: of two writers one would be lost.",
                hint="Use type: glue, or type: rest with the uri of an Iceberg REST catalog.",
            )
        return value

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if not _NAME.fullmatch(self.name):
            raise ConfigurationError(
                f"The catalog name {self.name!r} is not one that Spark takes.",
                hint="Use letters, digits and underscores, a letter first, such as glue.",
            )
        if self.type == "rest" and not self.uri:
            raise ConfigurationError(
                f"The REST catalog {self.name!r} has no uri.", hint=f"Set uri, or {PREFIX}URI."
            )
        return self

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None, **overrides: Any) -> Self:
        """Read `LINEAGE_BRIDGE_CATALOG_*` and the AWS variables of the product.

        Raises:
            ConfigurationError: a value is malformed or the type is not safe.
        """
        env = os.environ if env is None else env
        values: dict[str, Any] = {}
        for field in ("name", "type", "warehouse", "uri", "glue_endpoint", "s3_endpoint", "s3_path_style"):
            if value := env.get(PREFIX + field.upper()):
                values[field] = value
        for field in ("region", "profile", "role_arn", "catalog_id"):
            if value := env.get(f"LINEAGE_BRIDGE_AWS_{field.upper()}"):
                values[field] = value
        values.update({key: value for key, value in overrides.items() if value is not None})
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise ConfigurationError(
                f"catalog {where}: {first['msg']}", hint=f"Correct {PREFIX}{where.upper()}."
            ) from error

    def spark_conf(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """What goes under `spark.sql.catalog.<name>`, the class first."""
        env = os.environ if env is None else env
        prefix = f"spark.sql.catalog.{self.name}"
        properties = self._shared(env)
        if self.type == "glue":
            properties["catalog-impl"] = "org.apache.iceberg.aws.glue.GlueCatalog"
            # Tableflow's own names (`lkc-abc123`, `orders.v1`) fail Iceberg's check for Hive's sake.
            properties["glue.skip-name-validation"] = "true"
        else:
            properties["type"] = "rest"
            properties.update(self._rest(env))
        properties["io-impl"] = "org.apache.iceberg.aws.s3.S3FileIO"
        # A session that caches tables goes on reading the snapshot it first saw.
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
        """What the JVM's AWS SDK must be told outside the catalog's properties."""
        return f"-Daws.profile={self.profile}" if self.profile else ""

    def pyiceberg_properties(self, env: Mapping[str, str] | None = None) -> dict[str, str]:
        """Properties for `pyiceberg.catalog.load_catalog(name, **properties)`.

        With `role_arn` PyIceberg assumes the role for S3 alone; hand its Glue catalog a client of that role.
        """
        env = os.environ if env is None else env
        properties = {"type": self.type, **self._shared(env)}
        if self.type == "rest":
            properties.update(self._rest(env))
        if self.profile:
            properties["client.profile-name"] = self.profile
        if self.role_arn:
            properties["client.role-arn"] = self.role_arn
        properties.update(self.properties)
        return properties

    def _shared(self, env: Mapping[str, str]) -> dict[str, str]:
        """The properties that both libraries call by one name."""
        everywhere = env.get("AWS_ENDPOINT_URL")
        properties: dict[str, str] = {}
        if self.warehouse:
            properties["warehouse"] = self.warehouse
        if region := self._region(env):
            properties["client.region"] = region
        if self.type == "glue":
            if endpoint := self.glue_endpoint or env.get("AWS_ENDPOINT_URL_GLUE") or everywhere:
                properties["glue.endpoint"] = endpoint
            if self.catalog_id:
                properties["glue.id"] = self.catalog_id
        endpoint = self.s3_endpoint or env.get("AWS_ENDPOINT_URL_S3") or everywhere
        if endpoint:
            properties["s3.endpoint"] = endpoint
        if self.s3_path_style or (self.s3_path_style is None and endpoint):
            properties["s3.path-style-access"] = "true"
            properties["s3.force-virtual-addressing"] = "false"
        return properties

    def _rest(self, env: Mapping[str, str]) -> dict[str, str]:
        found = {"uri": self.uri or ""}
        if credential := env.get(self.credential_variable):
            found["credential"] = credential
        if token := env.get(self.token_variable):
            found["token"] = token
        return found

    def _region(self, env: Mapping[str, str]) -> str | None:
        return self.region or env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION")
