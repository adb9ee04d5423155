"""The Kafka cluster that topics are loaded from, as the YAML names it.

Keys and secrets have no field: those of the brokers and of the Schema Registry come from
`LINEAGE_BRIDGE_KAFKA_API_KEY` and `LINEAGE_BRIDGE_SCHEMA_REGISTRY_API_KEY` (with `_{CLUSTER}` or
`_{ENVIRONMENT}` for one of several), or from AWS Secrets Manager.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from lineage_bridge_dagster.config.value_types import Url
from lineage_bridge_dagster.config.yaml_errors import Path
from lineage_bridge_dagster.config.yaml_schema import Accepts
from lineage_bridge_dagster.config.yaml_section import YamlSection
from lineage_bridge_dagster.errors import ConfigurationError


class KafkaConfig(YamlSection):
    """The Kafka cluster, in Confluent Cloud by its name or id, or self-managed by its addresses."""

    environment: str = Field(
        default="",
        description="Id or name of the cluster's environment in Confluent Cloud; empty: the only one with "
        "such a cluster.",
        examples=["env-abc123"],
    )
    cluster: str = Field(
        default="",
        description="Id or name of the cluster in Confluent Cloud. With bootstrap_servers, the name that "
        "assets, lineage and variables with keys have for a self-managed cluster.",
        examples=["lkc-abc123"],
    )
    bootstrap_servers: str = Field(
        default="",
        description="Addresses of a self-managed cluster's brokers, as [PROTOCOL://]host:port, separated by "
        "commas; PROTOCOL is SASL_SSL (the default elsewhere than on this machine), SSL or PLAINTEXT.",
        examples=["SASL_SSL://broker.example.com:9092"],
    )
    schema_registry_url: Annotated[str, Accepts(Url)] = Field(
        default="",
        description="Base URL of a self-managed cluster's Schema Registry; empty: records stay bytes.",
        examples=["https://registry.example.com"],
    )

    @property
    def is_self_managed(self) -> bool:
        return bool(self.bootstrap_servers)

    @property
    def has_id(self) -> bool:
        """Whether the cluster is given by its id in Confluent Cloud, and not by a name."""
        return re.fullmatch(r"lkc-[a-z0-9]+", self.cluster) is not None

    def contradictions(self) -> Iterator[tuple[Path, ConfigurationError]]:
        if not self.cluster:
            yield (
                (),
                ConfigurationError(
                    "No Kafka cluster is named",
                    hint="Write cluster, for example cluster: lkc-abc123; for a self-managed cluster, a name "
                    "of your own besides bootstrap_servers.",
                ),
            )
        if self.schema_registry_url and not self.is_self_managed:
            yield (
                ("schema_registry_url",),
                ConfigurationError(
                    "The Schema Registry of a cluster in Confluent Cloud is that of its environment",
                    hint="Remove schema_registry_url, or write bootstrap_servers for a self-managed cluster.",
                ),
            )
