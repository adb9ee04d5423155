"""Provider integrations (`pim/v1`): the roles by which Confluent reaches an AWS account."""

from __future__ import annotations

from pydantic import Field

from lineage_bridge_dagster.confluent.api.paging import list_control
from lineage_bridge_dagster.confluent.api.records import ApiRecord
from lineage_bridge_dagster.confluent.api.session import ConfluentSession


class AwsIntegrationConfig(ApiRecord):
    """`AwsIntegrationConfig`: Confluent's role assumes the customer's with the external id."""

    kind: str = ""
    iam_role_arn: str = ""
    external_id: str = ""
    customer_iam_role_arn: str = ""


class ProviderIntegration(ApiRecord):
    """`pim/v1` Integration."""

    id: str
    display_name: str = ""
    config: AwsIntegrationConfig = Field(default_factory=AwsIntegrationConfig)


class ProviderIntegrationClient:
    """Lists an environment's integrations with AWS; raises `ConfluentError`."""

    def __init__(self, session: ConfluentSession) -> None:
        self._session = session

    def integrations(self, environment: str) -> list[ProviderIntegration]:
        found = list_control(self._session, ProviderIntegration, "/pim/v1/integrations", environment)
        return [integration for integration in found if integration.config.kind == "AwsIntegrationConfig"]
