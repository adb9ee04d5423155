"""The Confluent settings in the YAML, and as a Dagster resource."""

from __future__ import annotations

from dagster import ConfigurableResource
from pydantic import Field, PrivateAttr, field_validator

from lineage_bridge_dagster.config.known_fields import known_fields
from lineage_bridge_dagster.config.secrets import CachedSecrets
from lineage_bridge_dagster.config.value_types import split_names
from lineage_bridge_dagster.config.views import optional_field, view_of
from lineage_bridge_dagster.config.yaml_section import YamlSection, yaml_type
from lineage_bridge_dagster.confluent.settings import ConfluentGroups, ConfluentSettings


@view_of(ConfluentSettings, yaml_type, leave_out={"credentials", "max_attempts"})
class ConfluentConfig(YamlSection):
    """Where Confluent is, and what to read."""


class ConfluentSettingsResource(ConfigurableResource):  # type: ignore[type-arg]
    """Where Confluent is, which keys to use, and what to read.

    API keys come from `LINEAGE_BRIDGE_*_API_KEY` and `_SECRET` variables, or from AWS Secrets Manager, each
    time an asset runs. A field that is left empty comes from its `LINEAGE_BRIDGE_*` variable.
    """

    api_url: str | None = optional_field(ConfluentSettings, "api_url")
    environments: list[str] | None = optional_field(ConfluentSettings, "environments")
    clusters: list[str] | None = optional_field(ConfluentSettings, "clusters")
    timeout_seconds: float | None = optional_field(ConfluentSettings, "timeout_seconds")
    max_concurrency: int | None = optional_field(ConfluentSettings, "max_concurrency")
    secrets: list[str] | None = optional_field(ConfluentSettings, "secrets")
    region_name: str | None = Field(default=None, description="AWS region of these secrets.")
    profile_name: str | None = Field(default=None, description="AWS profile that may read them.")

    _known = known_fields
    # A run with many topics calls `settings` for each of them.
    _cached_secrets: CachedSecrets = PrivateAttr(default_factory=CachedSecrets)

    def settings(self) -> ConfluentSettings:
        """Read the settings in force, API keys included.

        Raises:
            ConfigurationError: a value is malformed, a key has no secret, or a secret cannot be read.
        """
        fields = {name: getattr(self, name) for name in ConfluentSettings.model_fields if hasattr(self, name)}
        aws = {"region": self.region_name, "profile": self.profile_name}
        given = {"confluent": fields, "aws": aws}
        return ConfluentGroups.from_env(given=given, secrets=self._cached_secrets).confluent

    def renewed(self) -> ConfluentSettings:
        """Read them again, those in AWS Secrets Manager too, which `settings` reads every five minutes.

        Raises:
            ConfigurationError: as `settings`.
        """
        self._cached_secrets.forget()
        return self.settings()

    @field_validator("environments", "clusters", "secrets", mode="before")
    @classmethod
    def _names(cls, value: str | list[str] | None) -> list[str] | None:
        return None if value is None else split_names(value)
