"""Configuration, as the CLI reads it from the environment and the component from its YAML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    WithJsonSchema,
)

from lineage_bridge_dagster.errors import ConfigurationError

PREFIX = "LINEAGE_BRIDGE_"

Plane = Literal["confluent_cloud", "kafka", "schema_registry", "flink", "ksqldb", "tableflow"]

_SUFFIX = re.compile(r"[^A-Z0-9]+")


def text_like(pattern: str, what: str) -> object:
    """A text that matches a pattern whole; `what` is its name in an error and in the JSON schema."""
    compiled = re.compile(pattern)

    def check(text: str) -> str:
        if not compiled.fullmatch(text):
            raise ValueError(f"it is not {what}")
        return text

    schema = {"type": "string", "pattern": f"^(?:{pattern})$", "description": what}
    return Annotated[str, AfterValidator(check), WithJsonSchema(schema)]


if TYPE_CHECKING:
    Url = str
    Region = str
else:
    Url = text_like(r"https?://[^\s/?#]+\S*", "a URL with its scheme")
    Region = text_like(r"[a-z]{2,4}(-[a-z]+)+-\d+", "an AWS region")


class Credential(BaseModel):
    """An API key and its secret, sent as HTTP Basic to one plane alone; `variable` is where it came from."""

    model_config = ConfigDict(frozen=True)

    key: str
    secret: SecretStr
    variable: str = ""


class ConfluentSettings(BaseModel):
    """Where Confluent is, with which keys, and what of it to read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    api_url: Url = Field(
        "https://api.confluent.cloud",
        description="Base URL of the control plane.",
        examples=["https://api.confluent.cloud"],
    )
    #: Plane, or plane and upper-cased qualifier (`kafka/LKC_ABC123`) -> credential.
    credentials: dict[str, Credential] = Field(default_factory=dict, repr=False)
    environments: list[str] = Field(
        default_factory=list, description="Environment ids or names to read; empty means all."
    )
    clusters: list[str] = Field(
        default_factory=list, description="Kafka cluster ids or names to read; empty means all."
    )
    timeout_seconds: float = Field(30.0, gt=0, description="Of one request, in seconds.", examples=[30])
    max_concurrency: int = Field(8, ge=1, le=64, description="Requests in flight at once.", examples=[8])
    max_attempts: int = Field(5, ge=1, le=20, description="Tries of one request.", examples=[5])

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

    region: Region | None = Field(None, description="AWS region of the Glue catalog.", examples=["us-east-1"])
    profile: str | None = Field(None, description="Named profile of the AWS configuration.")
    endpoint_url: str | None = Field(None, description="Endpoint for Glue, for private endpoints.")
    role_arn: str | None = Field(None, description="Role to assume for Glue.")
    catalog_id: str | None = Field(None, description="Account id of the catalog; the caller's by default.")


class PushSettings(BaseModel):
    """What a push writes, and its bounds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    set_parameters: bool = Field(True, description="Write the lineage_bridge.* parameters.", examples=[True])
    set_description: bool = Field(True, description="Write our block of the description.", examples=[True])
    sql: Literal["full", "redacted", "hash", "none"] = Field(
        "redacted", description="How SQL text is shown and pushed.", examples=["redacted"]
    )
    max_concurrency: int = Field(8, ge=1, le=64, description="Tables pushed at once.", examples=[8])
    max_attempts: int = Field(
        8, ge=1, le=50, description="Tries of one table before it counts as failed.", examples=[8]
    )
    max_removal_share: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Largest share of tables that one push may strip of their lineage.",
        examples=[0.1],
    )


def variable_of(part: str, field: str) -> str:
    """The variable of a setting.

    >>> variable_of("push", "sql"), variable_of("confluent", "clusters")
    ('LINEAGE_BRIDGE_PUSH_SQL', 'LINEAGE_BRIDGE_CLUSTERS')
    """
    if part == "confluent" and field in ("environments", "clusters", "secrets"):
        return PREFIX + field.upper()
    return f"{PREFIX}{part.upper()}_{field.upper()}"


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
            part, field, *_ = (*map(str, first["loc"]), "")
            variable = variable_of(part, field)
            if (part, field) == ("aws", "region") and not env.get(variable):
                variable = next(name for name in ("AWS_REGION", "AWS_DEFAULT_REGION") if env.get(name))
            example = cls.model_fields[part].annotation.model_fields[field].examples  # type: ignore[union-attr]
            # The value itself is not shown: a URL may hold a password. Nor is the error that shows it.
            raise ConfigurationError(
                f"The variable {variable} is wrong ({part}.{field}): {first['msg']}",
                hint=f"Set it as in {variable}={example[0]}" if example else f"Correct {variable}.",
            ) from None


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
