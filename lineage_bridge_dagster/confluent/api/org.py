"""The organization with its environments (`org/v2`), Kafka clusters (`cmk/v2`) and provider integrations.

Those (`pim/v1`) are the roles by which Confluent reaches an AWS account.
"""

from __future__ import annotations

import re

from pydantic import AliasPath, Field

from lineage_bridge_dagster.confluent.api.paging import list_control
from lineage_bridge_dagster.confluent.api.records import ApiRecord
from lineage_bridge_dagster.confluent.api.session import ConfluentSession

#: Within a Confluent Resource Name, `crn://confluent.cloud/organization=.../environment=...`.
_ORGANIZATION = re.compile(r"/organization=([^/]+)")


class Organization(ApiRecord):
    """`org/v2` Organization. A list has one: the key's own."""

    list_path = "/org/v2/organizations"

    id: str
    display_name: str = ""


class Environment(ApiRecord):
    """`org/v2` Environment. Flink's SQL may name it by its display name."""

    list_path = "/org/v2/environments"

    id: str
    display_name: str
    resource_name: str = Field("", validation_alias=AliasPath("metadata", "resource_name"))

    @property
    def organization_id(self) -> str:
        """The id of its organization; empty if the API does not tell."""
        found = _ORGANIZATION.search(self.resource_name)
        return found[1] if found else ""

    @property
    def label(self) -> str:
        return self.display_name or self.id


class Endpoint(ApiRecord):
    """`cmk.v2.Endpoints`: one access point of a privately networked cluster."""

    http_endpoint: str = ""
    kafka_bootstrap_endpoint: str = ""


class ClusterSpec(ApiRecord):
    """Flink's SQL may name a cluster by its display name."""

    display_name: str
    cloud: str = ""
    region: str = ""
    kind: str = Field("", validation_alias=AliasPath("config", "kind"))
    http_endpoint: str = ""
    kafka_bootstrap_endpoint: str = ""
    endpoints: dict[str, Endpoint] = Field(default_factory=dict)


class KafkaCluster(ApiRecord):
    """`cmk/v2` Cluster. Its two endpoints are deprecated in favor of access points; both are read."""

    list_path = "/cmk/v2/clusters"

    id: str
    spec: ClusterSpec
    phase: str = Field("", validation_alias=AliasPath("status", "phase"))

    @property
    def label(self) -> str:
        return self.spec.display_name or self.id

    @property
    def http_endpoint(self) -> str:
        points = (point.http_endpoint for _, point in sorted(self.spec.endpoints.items()))
        return self.spec.http_endpoint or next(filter(None, points), "")

    @property
    def bootstrap_endpoint(self) -> str:
        points = (point.kafka_bootstrap_endpoint for _, point in sorted(self.spec.endpoints.items()))
        return self.spec.kafka_bootstrap_endpoint or next(filter(None, points), "")

    @property
    def is_dedicated(self) -> bool:
        return self.spec.kind.lower() == "dedicated"


class AwsIntegrationConfig(ApiRecord):
    """`AwsIntegrationConfig`: Confluent's role assumes the customer's with the external id."""

    kind: str = ""
    iam_role_arn: str = ""
    external_id: str = ""
    customer_iam_role_arn: str = ""


class ProviderIntegration(ApiRecord):
    """`pim/v1` Integration."""

    list_path = "/pim/v1/integrations"

    id: str
    display_name: str = ""
    config: AwsIntegrationConfig = Field(default_factory=AwsIntegrationConfig)


def aws_integrations(session: ConfluentSession, environment: str) -> list[ProviderIntegration]:
    """An environment's integrations with AWS; raises as `list_control`."""
    found = list_control(session, ProviderIntegration, environment)
    return [integration for integration in found if integration.config.kind == "AwsIntegrationConfig"]
