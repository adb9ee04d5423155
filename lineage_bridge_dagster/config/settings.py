"""The settings: the only place that defines a field's name, type, bounds, description, example and variable.

The sections of the component's YAML (`yaml_fields`) and the options in the push job's launchpad are views of
these models. A field that is empty in a view is read from the environment, then from a `.env` file, then from
AWS Secrets Manager.
"""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from lineage_bridge_dagster.config.addresses import is_in_clear
from lineage_bridge_dagster.config.catalog import CatalogSettings
from lineage_bridge_dagster.config.catalogs import Catalogs, CatalogsSettings
from lineage_bridge_dagster.config.credentials import (
    CLUSTER_CREDENTIALS,
    Credential,
    Plane,
    read_credentials,
    slot_of,
    variable_of,
)
from lineage_bridge_dagster.config.env_file import env_variables
from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.config.profiles import region_of_profile
from lineage_bridge_dagster.config.secrets import ReadSecrets, SecretsManagerSource, read_secrets
from lineage_bridge_dagster.config.tableflow_catalog import TableflowPlace
from lineage_bridge_dagster.config.value_types import NameList, Owner, Region, RoleArn, Url
from lineage_bridge_dagster.config.variables import FromVariables, VariablesSource, variables_of
from lineage_bridge_dagster.errors import ConfigurationError

Given = Mapping[str, Mapping[str, Any]]

_EMPTY: tuple[object, ...] = (None, "", [], {})

#: The most calls at once to one service.
MAX_CONCURRENCY = 64


class ConfluentSettings(BaseModel):
    """Where Confluent is, which keys to use, and what to read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    api_url: Url = Field(
        "https://api.confluent.cloud",
        description="Base URL of the control plane.",
        examples=["https://api.confluent.cloud"],
    )
    #: By slot: a plane (`kafka`), or a plane and a qualifier (`kafka/LKC_ABC123`).
    credentials: Annotated[dict[str, Credential], FromVariables(read=read_credentials)] = Field(
        default_factory=dict, repr=False
    )
    environments: Annotated[NameList, FromVariables((PREFIX + "ENVIRONMENTS",))] = Field(
        default_factory=list,
        description="Environment ids or names to read, a list or comma-separated; empty: all.",
        examples=["env-abc123, staging"],
    )
    clusters: Annotated[NameList, FromVariables((PREFIX + "CLUSTERS",))] = Field(
        default_factory=list,
        description="Kafka cluster ids or names to read, a list or comma-separated; empty: all.",
        examples=["lkc-abc123, orders"],
    )
    timeout_seconds: float = Field(
        30.0, gt=0, description="Timeout of one request, in seconds.", examples=[30]
    )
    max_concurrency: int = Field(
        8, ge=1, le=MAX_CONCURRENCY, description="Concurrent requests.", examples=[8]
    )
    max_attempts: int = Field(5, ge=1, le=20, description="Attempts per request.", examples=[5])
    connector_offsets: bool = Field(
        True,
        description="Ask for the offsets of managed connectors whose configuration leaves open which tables "
        "or topics they read: at most one request per connector and hour; true by default.",
        examples=[True],
    )
    secrets: Annotated[NameList, FromVariables((PREFIX + "SECRETS",))] = Field(
        default_factory=list,
        description="AWS Secrets Manager secrets that contain LINEAGE_BRIDGE_* variables, by name or ARN. "
        "Variables that are set in the environment take precedence.",
        examples=["prod/confluent"],
    )

    @field_validator("api_url")
    @classmethod
    def _encrypted(cls, url: str) -> str:
        if is_in_clear(url):
            raise ValueError("keys are sent there, so it has to be https beyond this machine")
        return url.rstrip("/")

    def credential(self, plane: Plane, *qualifiers: str) -> Credential | None:
        """The key for a plane: that of the first qualifier that has one, else the plane's own.

        Tableflow and Flink also accept a Cloud key (WIRE: a global key), so they fall back on it.
        """
        slots = [*(slot_of(plane, qualifier) for qualifier in qualifiers), slot_of(plane)]
        if plane in ("tableflow", "flink"):
            slots.append("confluent_cloud")
        return next((self.credentials[slot] for slot in slots if slot in self.credentials), None)


class AwsSettings(BaseModel):
    """Where the Glue Data Catalog is. boto3 looks up what is left empty, as in any AWS client."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    region: Annotated[
        Region | None, FromVariables((PREFIX + "AWS_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"))
    ] = Field(None, description="AWS region of the Glue catalog.", examples=["us-east-1"])
    profile: str | None = Field(
        None, description="Named profile of the AWS configuration.", examples=["data-platform"]
    )
    endpoint_url: Url | None = Field(
        None,
        description="Endpoint URL of Glue, such as that of a VPC endpoint.",
        examples=["https://vpce-0abc.glue.us-east-1.vpce.amazonaws.com"],
    )
    role_arn: RoleArn | None = Field(
        None, description="Role to assume for Glue.", examples=["arn:aws:iam::111122223333:role/lineage"]
    )
    catalog_id: str | None = Field(
        None,
        description="AWS account id of the catalog, in quotes; by default the caller's account.",
        examples=['"111122223333"'],
    )


class PushSettings(BaseModel):
    """What a push writes, and its limits."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    set_parameters: bool = Field(
        True, description="Write the lineage_bridge.* parameters; true by default.", examples=[True]
    )
    set_description: bool = Field(
        True, description="Write the lineage block of the description; true by default.", examples=[True]
    )
    sql: Literal["full", "redacted", "hash", "none"] = Field(
        "redacted",
        description="How SQL appears in lineage: full, redacted, hash or none; redacted by default.",
        examples=["redacted"],
    )
    max_concurrency: int = Field(
        8, ge=1, le=MAX_CONCURRENCY, description="Tables pushed concurrently.", examples=[8]
    )
    max_attempts: int = Field(
        8, ge=1, le=50, description="Attempts per table before it counts as failed.", examples=[8]
    )
    owner: Owner = Field(
        "",
        description="Name of this installation in the tables that it pushes to: others leave them alone. "
        "Default: that of the Dagster instance in DAGSTER_HOME, else none.",
        examples=["lineage-prod"],
    )
    take_over: bool = Field(
        False,
        description="Push to tables whose lineage belongs to another installation as well, and become their "
        "owner; false by default.",
        examples=[False],
    )
    max_request_bytes: int = Field(
        512_000,
        ge=10_000,
        description="Largest request to Glue, in bytes. A longer chain is shortened to fit, and a table that "
        "leaves no room is refused.",
        examples=[512_000],
    )
    max_removal_share: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Largest share of tables, from 0 to 1, whose lineage one push may remove.",
        examples=[0.1],
    )


class Settings(BaseSettings):
    """All settings. `from_env` reads them; the constructor reads nothing."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid")

    confluent: ConfluentSettings = Field(default_factory=ConfluentSettings)
    aws: AwsSettings = Field(default_factory=AwsSettings)
    push: PushSettings = Field(default_factory=PushSettings)
    catalog: CatalogSettings = Field(default_factory=CatalogSettings)
    catalogs: CatalogsSettings = Field(default_factory=CatalogsSettings)

    #: What the settings were read from, secrets included.
    _variables: Mapping[str, str] = PrivateAttr(default_factory=dict)

    def all_catalogs(self, places: Iterable[TableflowPlace] = ()) -> Catalogs:
        """`catalog`, which is the default one, and `catalogs`, with the secrets that they name.

        Args:
            places: where Tableflow has tables: an entry for Tableflow stands for a catalog of each.

        Raises:
            ConfigurationError: two have one name, one that is named is missing, or one has no region.
        """
        named, tableflow = self.catalogs.at(places)
        return Catalogs(
            self.catalog,
            {name: catalog.beside(self.aws) for name, catalog in named.items()},
            lineage=self.catalogs.lineage,
            variables=self._variables,
            off=tuple(self.catalogs.off),
            tableflow=tableflow,
            reads_tableflow=self.catalogs.reads_tableflow,
        )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)

    @classmethod
    def from_env(
        cls,
        env: Mapping[str, str] | None = None,
        *,
        given: Given | None = None,
        groups: Collection[str] = ("confluent", "aws", "push", "catalog", "catalogs"),
        secrets: ReadSecrets | None = None,
    ) -> Self:
        """Read the settings from `LINEAGE_BRIDGE_*` variables; boto3 reads AWS's own.

        A region that no variable sets is that of the AWS profile, if it has one.

        Args:
            env: the variables; by default the environment's and those of the project's `.env` file.
            given: fields by group that take precedence; empty ones count as unset.
            groups: the groups to read; `catalogs` includes `catalog`, and both `aws`, whose identity they
                share. The others keep their defaults, and errors in them are ignored.
            secrets: reads AWS Secrets Manager, if `confluent.secrets` names any secrets, whatever the groups.

        Raises:
            ConfigurationError: a value is malformed, a key has no secret, or a secret can't be read.
        """
        variables: list[Mapping[str, str | None]] = [os.environ, env_variables()] if env is None else [env]
        if "catalogs" in groups:
            groups = {*groups, "catalog"}
        if "catalog" in groups:
            groups = {*groups, "aws"}
        not_empty = {
            group: {name: value for name, value in fields.items() if value not in _EMPTY}
            for group, fields in (given or {}).items()
        }
        chosen = {group: fields for group, fields in not_empty.items() if group in groups}
        before = [not_empty, *(VariablesSource(cls, layer, ("confluent", "aws"))() for layer in variables)]
        stored = SecretsManagerSource(cls, secrets or read_secrets, groups, before)
        sources = (
            InitSettingsSource(cls, init_kwargs=chosen),
            *(VariablesSource(cls, layer, groups) for layer in variables),
            stored,
        )
        try:
            settings = cls(_build_sources=(sources, {}))
        except ValidationError as error:
            explained = _explained(cls, error, chosen, ChainMap(*map(dict, variables)))
        else:
            aws = settings.aws
            if env is None and "aws" in groups and not aws.region:
                # Java's SDK and the signatures of requests need it from us; boto3 would find it itself.
                aws = aws.model_copy(update={"region": region_of_profile(aws.profile)})
            beside = settings.model_copy(update={"aws": aws, "catalog": settings.catalog.beside(aws)})
            beside._variables = _merged([*variables, stored.variables])
            return beside
        # Raised outside the except clause: pydantic's error, as its context, would show the value.
        raise explained


def _merged(layers: Sequence[Mapping[str, str | None]]) -> dict[str, str]:
    """The variables that are set and not empty; those of the first layers win."""
    return {name: text for layer in reversed(layers) for name, text in layer.items() if text}


def _explained(
    settings: type[Settings], error: ValidationError, given: Given, variables: Mapping[str, str | None]
) -> ConfigurationError:
    """An error that names the variable, or the field in the YAML, that is wrong."""
    first = error.errors(include_input=False)[0]
    group, name, *inner = (*map(str, first["loc"]), "")
    if name == "credentials" and first["type"] == "missing":
        slot, missing = inner[:2]
        other = "secret" if missing == "key" else "key"
        lacking = variable_of(slot, missing)
        return ConfigurationError(
            f"{variable_of(slot, other)} is set but {lacking} is not.", hint=f"Set {lacking} as well."
        )
    if name == "credentials" and inner[0] == CLUSTER_CREDENTIALS:
        example = '{"lkc-abc123": {"api_key": "...", "api_secret": "..."}}'
        return ConfigurationError(
            f"The variable {CLUSTER_CREDENTIALS} is not a JSON object of keys and secrets by cluster.",
            hint=f"Set it as in {CLUSTER_CREDENTIALS}='{example}'",
        )
    message = first["msg"].removeprefix("Value error, ")
    if name == "named":
        where = ".".join(part for part in inner if part)
        return ConfigurationError(
            f"The setting catalogs.{where} is wrong: {message}",
            hint=f"Correct {inner[1] or 'it'} of the catalog {inner[0]} in the component's defs.yaml, or its "
            "variable.",
        )
    if name in given.get(group, {}):
        return ConfigurationError(
            f"The setting {group}.{name} is wrong: {message}",
            hint=f"Correct {group}.{name} in the component's defs.yaml, or the variable it comes from.",
        )
    model: Any = settings.model_fields[group].annotation
    field = model.model_fields[name]
    names = variables_of(group, name, field)
    variable = next((each for each in (*names, name) if variables.get(each)), (*names, name)[0])
    return ConfigurationError(
        f"The variable {variable} is wrong ({group}.{name}): {message}",
        hint=f"Set it as in {variable}={field.examples[0]}" if field.examples else f"Correct {variable}.",
    )
