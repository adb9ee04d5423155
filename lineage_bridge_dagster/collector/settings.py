"""The configuration of a collector: the keys of KADA's Glue collector, and those that go further.

A key is read from the file, and where that has none, or an empty text, from the variable
`LINEAGE_BRIDGE_COLLECTOR_{KEY}`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
)

from lineage_bridge_dagster.collector.variables import (
    LANDING_KEY,
    LANDING_SAS,
    LANDING_SECRET,
    MASK_KEY,
    NOT_IN_A_FILE,
    VARIABLES,
    local_variables,
    stored_variables,
)
from lineage_bridge_dagster.config.aws_settings import AwsKeys, AwsSettings
from lineage_bridge_dagster.config.secrets import ReadSecrets, read_secrets
from lineage_bridge_dagster.config.value_types import (
    MAX_CONCURRENCY,
    NameList,
    RoleArn,
    Url,
    as_names,
    pattern_type,
    split_names,
)
from lineage_bridge_dagster.config.variables import read_group
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.lineage.files import read_json
from lineage_bridge_dagster.text import did_you_mean

logger = logging.getLogger(__name__)


def _empty_as_none(value: object) -> object:
    return None if value == "" else value


def _is_written(value: object) -> bool:
    return not isinstance(value, str) or bool(value.strip())


def _account_as_text(value: object) -> object:
    """An account that a file has as a number, in its 12 digits."""
    return f"{value:012d}" if isinstance(value, int) and not isinstance(value, bool) else value


class Sensitivity(StrEnum):
    """Classes of values that can be masked."""

    COMMENTS = "comments"
    PARAMETERS = "parameters"
    LITERALS = "literals"
    LOCATIONS = "locations"
    OWNERS = "owners"
    TAGS = "tags"


Optional = BeforeValidator(_empty_as_none)
if TYPE_CHECKING:
    LandingUrl = str
else:
    LandingUrl = pattern_type(r"[^\x00-\x1f]*[^\s\x00-\x1f][^\x00-\x1f]*", "a folder or a URL")


class LandingSettings(BaseModel):
    """Where the files of an extract are taken. Its secrets come from variables alone."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    url: LandingUrl = Field(description="A folder, s3://bucket/prefix or a container of Azure Blob Storage.")
    region: Annotated[str | None, Optional] = Field(None, description="AWS region of the bucket.")
    role: Annotated[RoleArn | None, Optional] = Field(None, description="ARN of a role to assume for S3.")
    external_id: Annotated[str | None, Optional] = Field(
        None, description="External id that the trust policy of the role asks for."
    )
    kms_key: Annotated[str | None, Optional] = Field(
        None, description="KMS key that S3 encrypts the files with."
    )
    endpoint_url: Annotated[Url | None, Optional] = Field(None, description="Endpoint of S3.")

    _variables: Mapping[str, str] = PrivateAttr(default_factory=local_variables)

    @property
    def key(self) -> str | None:
        """AWS access key id for S3; by default AWS's own credential chain."""
        return self._variables.get(LANDING_KEY)

    @property
    def secret(self) -> str | None:
        """AWS secret access key for S3."""
        return self._variables.get(LANDING_SECRET)

    @property
    def sas(self) -> str | None:
        """SAS token of Azure Blob Storage."""
        return self._variables.get(LANDING_SAS)


def _url_alone(value: object) -> object:
    return {"url": value} if isinstance(value, str) and value else value


class CollectorSettings(BaseModel):
    """What a collector reads, and how it writes it. Secrets are better left to the environment."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, hide_input_in_errors=True)

    key: Annotated[str | None, Optional] = Field(
        None, repr=False, description="AWS access key id; by default AWS's own credential chain."
    )
    secret: Annotated[str | None, Optional] = Field(None, repr=False, description="AWS secret access key.")
    session_token: Annotated[str | None, Optional] = Field(
        None, repr=False, description="AWS session token of temporary keys."
    )
    secrets: NameList = Field(
        default_factory=list,
        description="AWS Secrets Manager secrets with LINEAGE_BRIDGE_COLLECTOR_* variables, by name or ARN.",
    )
    server: str = Field("glue", description="Name of the source in the receiving tool, in each row.")
    regions: Annotated[NameList, Field(min_length=1)] = Field(
        description="AWS regions to read, a list or comma-separated."
    )
    catalog_id: Annotated[str | None, Optional, BeforeValidator(_account_as_text)] = Field(
        None,
        validation_alias=AliasChoices("catalogId", "catalog_id"),
        description="AWS account id of the catalog; by default the caller's account.",
    )
    role: Annotated[RoleArn | None, Optional] = Field(None, description="ARN of a role to assume.")
    external_id: Annotated[str | None, Optional] = Field(
        None, description="External id that the trust policy of the role asks for."
    )
    output_path: Path = Field(Path(), description="Folder of the files; it is made if need be.")
    mask: bool = Field(False, description="Mask sensitive values.")
    mask_classes: Annotated[frozenset[Sensitivity], BeforeValidator(as_names)] = Field(
        frozenset(Sensitivity), min_length=1, description="What is masked: " + ", ".join(Sensitivity) + "."
    )
    compress: bool = Field(False, description="Compress CSV and JSON lines with gzip.")
    lake_formation_tags: bool | Literal["auto"] = Field(
        False,
        description="Extract the Lake Formation tags of databases, tables and columns: true, false, or auto "
        "for where they are allowed.",
    )
    meta_only: bool = Field(True, description="Extract metadata alone, which is all there is.")
    format: Literal["csv", "jsonl", "parquet"] = Field("csv", description="Format of the files.")
    landing: Annotated[LandingSettings | None, BeforeValidator(_url_alone), Optional] = Field(
        None, description="Where the files are taken: a URL, or an object with url and more."
    )
    overlap_seconds: int = Field(
        300,
        ge=0,
        le=3_155_760_000,
        description="How far before the mark reading starts, as clocks differ and tables change meanwhile.",
    )
    max_concurrency: int = Field(
        8, ge=1, le=MAX_CONCURRENCY, description="Databases of a region read at the same time."
    )
    endpoint_url: Annotated[Url | None, Optional] = Field(None, description="Endpoint of Glue.")

    _variables: Mapping[str, str] = PrivateAttr(default_factory=local_variables)

    @property
    def mask_key(self) -> str:
        """The key of the tokens of masked values; empty if none is set."""
        return self._variables.get(MASK_KEY, "")

    @property
    def keys(self) -> AwsKeys | None:
        """The keys of the configuration; None for AWS's own credential chain."""
        if self.key and self.secret:
            return AwsKeys(self.key, self.secret, self.session_token)
        return None

    def aws(self, region: str) -> AwsSettings:
        """The settings of a Glue client in a region."""
        return AwsSettings(
            region=region, role_arn=self.role, catalog_id=self.catalog_id, endpoint_url=self.endpoint_url
        )

    @classmethod
    def of(
        cls,
        values: Mapping[str, Any],
        origin: str = "the configuration",
        *,
        secrets: ReadSecrets = read_secrets,
    ) -> Self:
        """Validate values, with what they leave out, or leave empty, read from variables.

        Args:
            values: by key.
            origin: where they come from, for errors.
            secrets: reads AWS Secrets Manager, if `secrets` names any secrets.

        Raises:
            ConfigurationError: A value is missing, malformed or of an unknown key, or a secret could not be
                read; no value is quoted.
        """
        given = {name: value for name, value in values.items() if value is not None and _is_written(value)}
        variables = local_variables()
        merged = {**read_group("collector", cls, variables), **given}
        try:
            if names := split_names(merged.get("secrets") or []):
                regions = split_names(merged.get("regions") or [])
                variables = {**stored_variables(names, variables, regions, secrets), **variables}
                merged = {**read_group("collector", cls, variables), **given}
            settings = cls.model_validate(merged)
            for region in settings.regions:
                AwsSettings(region=region)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            name = ".".join(map(str, first["loc"])) or "the whole"
            if name in NOT_IN_A_FILE:
                raise ConfigurationError(
                    f"{origin}: {name} is a secret, which no file may hold.",
                    hint=f"Take it out, and set {NOT_IN_A_FILE[name]}, or store that in AWS Secrets Manager.",
                ) from None
            if first["type"] == "missing":
                variable = f", or in {VARIABLES}{name.upper()}" if name in cls.model_fields else ""
                raise ConfigurationError(
                    f"{origin}: {name} is missing.",
                    hint=f"Set it in the configuration{variable}.",
                ) from None
            if first["type"] == "extra_forbidden":
                fields = LandingSettings.model_fields if name.startswith("landing.") else cls.model_fields
                keys = sorted("catalogId" if key == "catalog_id" else key for key in fields)
                close = did_you_mean(str(first["loc"][-1]), keys).strip()
                raise ConfigurationError(
                    f"{origin}: {name} is not a key.", hint=close or f"The keys are: {', '.join(keys)}."
                ) from None
            raise ConfigurationError(
                f"{origin}: {name}: {first['msg'].removeprefix('Value error, ').rstrip('.')}.",
                hint=f"Correct {name}.",
            ) from None
        settings._variables = variables
        if settings.landing:
            settings.landing._variables = variables
        if not settings.meta_only:
            raise ConfigurationError(
                f"{origin}: meta_only is false, and only metadata is extracted.",
                hint="Set meta_only to true, or leave it out.",
            )
        if bool(settings.key) != bool(settings.secret):
            missing = "secret" if settings.key else "key"
            raise ConfigurationError(
                f"{origin}: of key and secret, {missing} is missing.",
                hint=f"Set {missing}, or leave out both to use AWS's own credential chain.",
            )
        return settings


def load_config(path: str | os.PathLike[str], warn: Callable[[str], None] = logger.warning) -> dict[str, Any]:
    """Read the JSON object of a configuration file.

    Args:
        warn: receives a warning for each secret that stands in the file; by default it is logged.

    Raises:
        ConfigurationError: The file cannot be read, or has no JSON object.
    """
    hint = (
        'Name a file with -c that has one object: {"regions": ["us-east-1"], "output_path": "/tmp/output"}.'
    )
    found = read_json(Path(path), hint)
    if not isinstance(found, dict):
        raise ConfigurationError(f"{path} has no JSON object.", hint=hint)
    for key in ("secret", "session_token", "mask_key"):
        if found.get(key):
            warn(
                f"{key} stands in {path}, where others may read it. Leave it out and use a role, or set "
                f"{VARIABLES}{key.upper()}, in the environment or in AWS Secrets Manager."
            )
    return found


def collector_variables() -> dict[str, str]:
    """The variable of each key."""
    return {name: f"{VARIABLES}{name.upper()}" for name in CollectorSettings.model_fields}
