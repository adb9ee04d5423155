"""The component's fields, as its YAML instance sets them, and the settings that come of them.

A field that is empty in the YAML is read from the environment (`LINEAGE_BRIDGE_*`), as the CLI reads it.
Keys and secrets have no field: they come from the environment or from AWS Secrets Manager, so that they are
in no file, no state and no page of the UI.
"""

from __future__ import annotations

import difflib
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, ValidationError, WithJsonSchema, field_validator

from lineage_bridge_dagster.config.catalog import CatalogConfig
from lineage_bridge_dagster.config.settings import (
    PREFIX,
    AwsSettings,
    ConfluentSettings,
    PushSettings,
    Settings,
    Url,
    text_like,
)
from lineage_bridge_dagster.config.yaml_schema import Takes
from lineage_bridge_dagster.config.yaml_section import YamlSection
from lineage_bridge_dagster.dagster_internals import is_valid_cron_schedule
from lineage_bridge_dagster.errors import ConfigurationError

#: Seconds for which variables out of Secrets Manager are kept, so that a tick every few seconds is cheap.
_SECRETS_KEPT_SECONDS = 300.0


def _cron(text: str) -> str:
    if not is_valid_cron_schedule(text):
        raise ValueError("it is not a cron expression of five fields")
    return text


def _catalog(fields: dict[str, Any]) -> dict[str, Any]:
    for name in fields.keys() - CatalogConfig.model_fields.keys():
        near = difflib.get_close_matches(name, CatalogConfig.model_fields, 1, 0.6)
        raise ValueError(f"a catalog has no {name!r}" + (f" (did you mean {near[0]!r}?)" if near else ""))
    if fields.get("type") not in (None, "", "glue", "rest"):
        raise ValueError(f"type is glue or rest, and not {fields['type']!r}")
    return fields


#: A part of the names of jobs and sensors.
NAME = Takes(text_like(r"[A-Za-z0-9_]*", "a name of letters, digits and underscores"))
_NAMES = Takes(
    Annotated[
        str | list[str],
        WithJsonSchema(
            {
                "type": ["string", "array"],
                "items": {"type": "string"},
                "description": "a name, or a list of names",
            }
        ),
    ]
)
CRON = Takes(
    Annotated[
        str,
        AfterValidator(_cron),
        WithJsonSchema(
            {
                "type": "string",
                "pattern": r"^\s*\S+(\s+\S+){4}\s*$|^@\w+$|^\s*$",
                "description": "a cron expression of five fields",
            }
        ),
    ]
)
_CATALOG = Takes(
    Annotated[
        dict[str, Any],
        AfterValidator(_catalog),
        WithJsonSchema(
            {
                "type": "object",
                "properties": {
                    name: {"description": field.description}
                    for name, field in CatalogConfig.model_fields.items()
                },
                "additionalProperties": False,
                "description": f"a mapping of {', '.join(CatalogConfig.model_fields)}",
            }
        ),
    ]
)
_URL = Takes(Url)
_ROLE = Takes(text_like(r"arn:aws[a-z-]*:iam::\d{12}:role/\S+", "the ARN of a role"))


class ConfluentConfig(YamlSection):
    """Where Confluent is, and what of it to read."""

    like: ClassVar = ConfluentSettings

    api_url: str | None = Field(default=None, description="Base URL of the control plane.")
    environments: Annotated[str | list[str] | None, _NAMES] = Field(
        default=None,
        description="Environment ids or names to read, a list or comma-separated; empty: all.",
        examples=["env-abc123, staging"],
    )
    clusters: Annotated[str | list[str] | None, _NAMES] = Field(
        default=None,
        description="Kafka cluster ids or names to read, a list or comma-separated; empty: all.",
        examples=["lkc-abc123, orders"],
    )
    timeout_seconds: float | str | None = Field(default=None, description="Of one request, in seconds.")
    max_concurrency: int | str | None = Field(default=None, description="Requests in flight at once.")
    secrets: Annotated[str | list[str] | None, _NAMES] = Field(
        default=None,
        description="AWS Secrets Manager secrets with LINEAGE_BRIDGE_* variables in them, by name or ARN. "
        "A variable that is set in the environment wins.",
        examples=["prod/confluent"],
    )


class AwsConfig(YamlSection):
    """Where the Glue Data Catalog is. What is empty is found by boto3's own chain."""

    like: ClassVar = AwsSettings

    region: str | None = Field(default=None, description="AWS region of the Glue catalog.")
    profile: str | None = Field(
        default=None, description="Named profile of the AWS configuration.", examples=["data-platform"]
    )
    endpoint_url: Annotated[str | None, _URL] = Field(
        default=None,
        description="Endpoint for Glue, for private endpoints.",
        examples=["https://vpce-0abc.glue.us-east-1.vpce.amazonaws.com"],
    )
    role_arn: Annotated[str | None, _ROLE] = Field(
        default=None,
        description="Role to assume for Glue.",
        examples=["arn:aws:iam::111122223333:role/lineage"],
    )
    catalog_id: str | None = Field(
        default=None,
        description="Account id of the catalog, in quotes; the caller's by default.",
        examples=['"111122223333"'],
    )


class SparkConfig(YamlSection):
    """The Spark session, which starts when an asset first needs it, and the Iceberg catalog."""

    master: str | None = Field(
        default=None,
        description="Spark master: local[2], spark://host:7077, yarn.",
        examples=["spark://host:7077"],
    )
    conf: dict[str, Any] = Field(
        default_factory=dict, description="Any Spark configuration, by its own keys."
    )
    catalog: Annotated[dict[str, Any], _CATALOG] = Field(
        default_factory=dict,
        description="The catalog of the Iceberg tables (type, warehouse, uri, ...); empty fields come from "
        "LINEAGE_BRIDGE_CATALOG_*.",
        examples=["{warehouse: s3://bucket/warehouse}"],
    )
    namespace: str = Field(
        default="lineage_bridge",
        description="Database of the lineage tables in that catalog.",
        examples=["lineage_bridge"],
    )
    output_database: str = Field(
        default="lineage_bridge",
        description="Database for DataFrames of assets whose key names none.",
        examples=["lineage_bridge"],
    )
    preview_rows: Annotated[int, Takes(Annotated[int, Field(ge=0, le=100)])] = Field(
        default=5,
        description="Rows of a stored DataFrame that its materialization shows; 0 shows none.",
        examples=[5],
    )

    def spark_config(self) -> dict[str, Any]:
        return {**({"spark.master": self.master} if self.master else {}), **self.conf}

    def catalog_fields(self, aws: AwsConfig) -> dict[str, Any]:
        """The catalog's fields; those of AWS are the Glue catalog's own where it does not say otherwise."""
        shared = {
            "region": aws.region,
            "profile": aws.profile,
            "role_arn": aws.role_arn,
            "catalog_id": aws.catalog_id,
            "glue_endpoint": aws.endpoint_url,
        }
        given = {**shared, **self.catalog}
        return {name: value for name, value in given.items() if value not in (None, "")}


class IncludeConfig(YamlSection):
    """Which nodes show as assets. A table's chain and its push hold all of its lineage in any case."""

    topics: bool = Field(default=True, description="Kafka topics.", examples=[True])
    processes: bool = Field(
        default=True, description="Connectors, Flink statements and ksqlDB queries.", examples=[True]
    )
    external_datasets: bool = Field(default=True, description="Datasets outside Confluent.", examples=[True])
    examples: bool = Field(
        default=True,
        description="The sample world's downstream asset, where both of its inputs are there.",
        examples=[True],
    )


class PushConfig(YamlSection):
    """What a push writes, and its bounds. A run of the `push` job may say otherwise for itself."""

    like: ClassVar = PushSettings

    set_parameters: bool | str | None = Field(
        default=None, description="Write the lineage_bridge.* parameters; true by default."
    )
    set_description: bool | str | None = Field(
        default=None, description="Write our block of the description; true by default."
    )
    sql: str | None = Field(
        default=None, description="How SQL is shown: full, redacted, hash or none; redacted by default."
    )
    max_concurrency: int | str | None = Field(default=None, description="Tables pushed at once.")
    max_attempts: int | str | None = Field(
        default=None, description="Tries of one table before it counts as failed."
    )
    max_removal_share: float | str | None = Field(
        default=None, description="Largest share of tables, from 0 to 1, that one push may strip of lineage."
    )


class SensorConfig(YamlSection):
    """What runs by itself, and when."""

    running: bool = Field(
        default=False,
        description="Sensor and schedules are on without anyone turning them on in the UI.",
        examples=[True],
    )
    interval_seconds: Annotated[int, Takes(Annotated[int, Field(gt=0)])] = Field(
        default=10, description="Least time between ticks, in seconds.", examples=[10]
    )
    budget_seconds: Annotated[float, Takes(Annotated[float, Field(gt=0, lt=60)])] = Field(
        default=20.0,
        description="After which a tick leaves the rest to the next; under 60 seconds.",
        examples=[20],
    )
    refresh_cron: Annotated[str, CRON] = Field(
        default="*/15 * * * *",
        description="Schedule of full discoveries, as a cron expression; empty: none.",
        examples=["*/15 * * * *"],
    )
    push_cron: Annotated[str, CRON] = Field(
        default="7 * * * *",
        description="Schedule of pushes that put back lost lineage, as a cron expression; empty: none.",
        examples=["7 * * * *"],
    )
    nightly_cron: Annotated[str, CRON] = Field(
        default="13 2 * * *",
        description="Schedule of full runs: topics, chains, pushes and checks of all, as a cron expression; "
        "empty: none.",
        examples=["13 2 * * *"],
    )

    @field_validator("running", mode="before")
    @classmethod
    def _on_or_off(cls, value: Any) -> Any:
        return False if value in (None, "") else value

    @field_validator("interval_seconds", "budget_seconds")
    @classmethod
    def _above_zero(cls, value: float) -> float:
        # No constraint on the field itself: the YAML's schema would hold a template's text to it.
        if value <= 0:
            raise ValueError("must be above zero")
        return value


def _listed(value: str | list[str] | None) -> list[str]:
    parts = value.split(",") if isinstance(value, str) else value or []
    return [part.strip() for part in parts if part.strip()]


class SettingsSource:
    """The settings in force, read anew at each call: the YAML's fields over the environment's.

    Called when something runs, not when definitions load: keys, secrets and variables that stand in no field
    of the YAML are no business of a load, and a malformed one must not take the code location away.
    """

    def __init__(self, confluent: ConfluentConfig, aws: AwsConfig, push: PushConfig) -> None:
        self._confluent = confluent
        self._aws = aws
        self._push = push
        self._lock = threading.Lock()
        self._secrets: dict[str, str] = {}
        self._secrets_until = 0.0

    def __call__(self) -> Settings:
        """Raises:
        ConfigurationError: a value is malformed, a key came without its secret, or a secret can't be read.
        """
        # A variable that is set to nothing, as an .env template leaves it, says nothing.
        given = {name: value for name, value in os.environ.items() if value}
        base = Settings.from_env({**self._from_secrets_manager(), **given})
        confluent = {
            "environments": _listed(self._confluent.environments),
            "clusters": _listed(self._confluent.clusters),
            "api_url": (self._confluent.api_url or "").rstrip("/"),
            "timeout_seconds": self._confluent.timeout_seconds,
            "max_concurrency": self._confluent.max_concurrency,
        }
        with _named_fields():
            return Settings(
                confluent=ConfluentSettings.model_validate(_over(base.confluent, confluent)),
                aws=AwsSettings.model_validate(_over(base.aws, self._aws.model_dump())),
                push=self._push_over(base.push),
            )

    def push(self) -> PushSettings:
        """What a push writes, for which no key and no secret is needed.

        Raises:
            ConfigurationError: a value of the push is malformed.
        """
        return self._push_over(Settings.from_env(_environment("PUSH_")).push)

    def _push_over(self, base: PushSettings) -> PushSettings:
        with _named_fields():
            return PushSettings.model_validate(_over(base, self._push.model_dump()))

    def _from_secrets_manager(self) -> dict[str, str]:
        names = _listed(self._confluent.secrets)
        if not names:
            return {}
        with self._lock:
            if time.monotonic() >= self._secrets_until:
                from dagster_aws.secretsmanager import SecretsManagerResource

                from lineage_bridge_dagster.assets.resources import secret_variables

                # The region and the profile of everything else: botocore does not know our variables.
                aws = Settings.from_env(_environment("AWS_")).aws
                manager = SecretsManagerResource(
                    region_name=self._aws.region or aws.region,
                    profile_name=self._aws.profile or aws.profile,
                )
                self._secrets = secret_variables(manager, names)
                self._secrets_until = time.monotonic() + _SECRETS_KEPT_SECONDS
            return self._secrets


def _environment(part: str) -> dict[str, str]:
    """The environment's variables of one part (`PUSH_`, `AWS_`), so that another part's error stays away."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith((PREFIX + part, *((part,) if part == "AWS_" else ()))) and value
    }


@contextmanager
def _named_fields() -> Iterator[None]:
    """A malformed field, told by its name and without what stands in it."""
    try:
        yield
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigurationError(
            f"{error.title}, {where}: {first['msg']}",
            hint=f"Correct {where} in the component's defs.yaml, or the variable that it is fed by.",
        ) from None


def _over(base: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The base's fields with the given ones over them; empty ones say nothing."""
    fields = {name: getattr(base, name) for name in type(base).model_fields}
    return {**fields, **{name: value for name, value in given.items() if value not in (None, "", [])}}
