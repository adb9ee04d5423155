"""The settings of Confluent: where it is, its keys, and what is read."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator

from lineage_bridge_dagster.config.addresses import is_in_clear
from lineage_bridge_dagster.config.credentials import (
    Credential,
    Plane,
    explain_credential,
    read_credentials,
    slot_of,
)
from lineage_bridge_dagster.config.groups import SettingsGroups
from lineage_bridge_dagster.config.prefix import PREFIX, SECRETS
from lineage_bridge_dagster.config.value_types import MAX_CONCURRENCY, NameList, Url
from lineage_bridge_dagster.config.variables import FromVariables


class ConfluentSettings(BaseModel):
    """Where Confluent is, which keys to use, and what to read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    api_url: Url = Field(
        "https://api.confluent.cloud",
        description="Base URL of the control plane.",
        examples=["https://api.confluent.cloud"],
    )
    #: By slot: a plane (`kafka`), or a plane and a qualifier (`kafka/LKC_ABC123`).
    credentials: Annotated[
        dict[str, Credential], FromVariables(read=read_credentials, explain=explain_credential)
    ] = Field(default_factory=dict, repr=False)
    environments: Annotated[NameList, FromVariables((PREFIX + "ENVIRONMENTS",))] = Field(
        default_factory=list,
        description="Environment ids or names to read, a list or comma-separated; empty: all.",
        examples=["env-abc123, staging"],
    )
    clusters: Annotated[NameList, FromVariables((PREFIX + "CLUSTERS",))] = Field(
        default_factory=list,
        description="Ids or names of the Kafka clusters whose tables to read, a list or comma-separated; "
        "empty: all. What feeds them in other clusters is read as well.",
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
    secrets: Annotated[NameList, FromVariables((SECRETS,))] = Field(
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
        """The key for a plane: of the first qualifier that has a key, else the plane's own.

        Tableflow and Flink also accept a Cloud key (WIRE: a global key), so they fall back on it.
        """
        slots = [*(slot_of(plane, qualifier) for qualifier in qualifiers), slot_of(plane)]
        if plane in ("tableflow", "flink"):
            slots.append("confluent_cloud")
        return next((self.credentials[slot] for slot in slots if slot in self.credentials), None)


class ConfluentGroups(SettingsGroups):
    """The settings of Confluent, with those of AWS."""

    confluent: ConfluentSettings = Field(default_factory=ConfluentSettings)
