"""Configuration, as the CLI reads it from the environment and the component from its YAML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from lineage_bridge_dagster.errors import ConfigurationError

PREFIX = "LINEAGE_BRIDGE_"

Plane = Literal["confluent_cloud", "kafka", "schema_registry", "flink", "ksqldb", "tableflow"]

_SUFFIX = re.compile(r"[^A-Z0-9]+")


class Credential(BaseModel):
    """An API key and its secret, sent as HTTP Basic to one plane alone; `variable` is where it came from."""

    model_config = ConfigDict(frozen=True)

    key: str
    secret: SecretStr
    variable: str = ""


class ConfluentSettings(BaseModel):
    """Where Confluent is, with which keys, and what of it to read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    api_url: str = Field("https://api.confluent.cloud", description="Base URL of the control plane.")
    #: Plane, or plane and upper-cased qualifier (`kafka/LKC_ABC123`) -> credential.
    credentials: dict[str, Credential] = Field(default_factory=dict, repr=False)
    environments: list[str] = Field(
        default_factory=list, description="Environment ids or names to read; empty means all."
    )
    clusters: list[str] = Field(
        default_factory=list, description="Kafka cluster ids or names to read; empty means all."
    )
    timeout_seconds: float = Field(30.0, gt=0, description="Of one request, in seconds.")
    max_concurrency: int = Field(8, ge=1, le=64, description="Requests in flight at once.")
    max_attempts: int = Field(5, ge=1, le=20, description="Tries of one request.")

    def credential(self, plane: Plane, *qualifiers: str) -> Credential | None:
        """The key for a plane: the most specific qualifier's, else the plane's own.

        Tableflow and Flink also take a Cloud key (WIRE: a global key), so they fall back on it.
        """
        for qualifier in qualifiers:
            found = self.credentials.get(f"{plane}/{_SUFFIX.sub('_', qualifier.upper())}")
            if found is not None:
                return found
        found = self.credentials.get(plane)
        if found is None and plane in ("tableflow", "flink"):
            return self.credentials.get("confluent_cloud")
        return found


class AwsSettings(BaseModel):
    """Where Glue is. Everything left empty is found by boto3's own chain."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    region: str | None = Field(None, description="AWS region of the Glue catalog.")
    profile: str | None = Field(None, description="Named profile of the AWS configuration.")
    endpoint_url: str | None = Field(None, description="Endpoint for Glue, for private endpoints.")
    role_arn: str | None = Field(None, description="Role to assume for Glue.")
    catalog_id: str | None = Field(None, description="Account id of the catalog; the caller's by default.")


class PushSettings(BaseModel):
    """What a push writes, and its bounds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    set_parameters: bool = Field(True, description="Write the lineage_bridge.* parameters.")
    set_description: bool = Field(True, description="Write our block of the description.")
    sql: Literal["full", "redacted", "hash", "none"] = Field(
        "redacted", description="How SQL text is shown and pushed."
    )
    max_concurrency: int = Field(8, ge=1, le=64, description="Tables pushed at once.")
    max_attempts: int = Field(8, ge=1, le=50, description="Tries of one table before it counts as failed.")
    max_removal_share: float = Field(
        0.1, ge=0, le=1, description="Largest share of tables that one push may strip of their lineage."
    )


class Settings(BaseModel):
    """All of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    confluent: ConfluentSettings = Field(default_factory=ConfluentSettings)
    aws: AwsSettings = Field(default_factory=AwsSettings)
    push: PushSettings = Field(default_factory=PushSettings)

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Read `LINEAGE_BRIDGE_*`; AWS's own variables are boto3's to read.

        Raises:
            ConfigurationError: a value is malformed, or a key came without its secret.
        """
        confluent: dict[str, object] = {"credentials": credentials_from_env(env)}
        if url := env.get(PREFIX + "CONFLUENT_API_URL"):
            confluent["api_url"] = url.rstrip("/")
        for name in ("environments", "clusters"):
            if text := env.get(PREFIX + name.upper()):
                confluent[name] = [part.strip() for part in text.split(",") if part.strip()]
        for name in ("timeout_seconds", "max_concurrency", "max_attempts"):
            if text := env.get(f"{PREFIX}CONFLUENT_{name.upper()}"):
                confluent[name] = text
        aws = {
            "region": env.get(PREFIX + "AWS_REGION")
            or env.get("AWS_REGION")
            or env.get("AWS_DEFAULT_REGION"),
            "profile": env.get(PREFIX + "AWS_PROFILE") or None,
            "endpoint_url": env.get(PREFIX + "AWS_ENDPOINT_URL") or None,
            "role_arn": env.get(PREFIX + "AWS_ROLE_ARN") or None,
            "catalog_id": env.get(PREFIX + "AWS_CATALOG_ID") or None,
        }
        push = {
            name: env[PREFIX + "PUSH_" + name.upper()]
            for name in PushSettings.model_fields
            if env.get(PREFIX + "PUSH_" + name.upper())
        }
        try:
            return cls.model_validate({"confluent": confluent, "aws": aws, "push": push})
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise ConfigurationError(
                f"{where}: {first['msg']}", hint=f"Correct the {PREFIX}* variable behind {where}."
            ) from error


def credentials_from_env(env: Mapping[str, str]) -> dict[str, Credential]:
    """`LINEAGE_BRIDGE_{PLANE}_API_KEY[_{QUALIFIER}]` with the `..._API_SECRET...` of the same ending.

    The qualifier is a cluster, environment or `{cloud}_{region}`, upper-cased, with `_` for anything else
    than letters and digits: `LINEAGE_BRIDGE_KAFKA_API_KEY_LKC_ABC123`.
    """
    planes = ("confluent_cloud", "kafka", "schema_registry", "flink", "ksqldb", "tableflow")
    pattern = re.compile(rf"{PREFIX}({'|'.join(p.upper() for p in planes)})_API_(KEY|SECRET)(?:_(.+))?$")
    found: dict[str, Credential] = {}
    for name, value in sorted(env.items()):
        match = pattern.fullmatch(name)
        if match is None or not value:
            continue
        plane, half, qualifier = match.groups()
        other = name.replace(f"_API_{half}", f"_API_{'SECRET' if half == 'KEY' else 'KEY'}")
        if not env.get(other):
            raise ConfigurationError(f"{name} is set but {other} is not.", hint=f"Set {other} as well.")
        if half == "KEY":
            place = plane.lower() + (f"/{qualifier}" if qualifier else "")
            found[place] = Credential(key=value, secret=SecretStr(env[other]), variable=name)
    return found
