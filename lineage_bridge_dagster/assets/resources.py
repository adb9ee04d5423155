"""The resources for Confluent and Glue; the one for Spark is `spark.session.SparkResource`.

They create clients when an asset first needs one, so that definitions load while every API is down and
without a credential. Secrets are never fields of a resource: Dagster's UI shows those.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dagster import ConfigurableResource
from pydantic import PrivateAttr

from lineage_bridge_dagster.assets.topic_facts import Backlog, TopicFacts, read_backlogs, read_topics
from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.config.aws_settings import AwsSettings
from lineage_bridge_dagster.config.groups import Given, SettingsGroups
from lineage_bridge_dagster.config.known_fields import known_fields
from lineage_bridge_dagster.config.secrets import CachedSecrets
from lineage_bridge_dagster.config.views import optional_field
from lineage_bridge_dagster.confluent.resource import ConfluentSettingsResource
from lineage_bridge_dagster.confluent.settings import ConfluentSettings
from lineage_bridge_dagster.lineage.model import Node

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_s3 import S3Client


class ConfluentResource(ConfluentSettingsResource):
    """Confluent Cloud and the brokers of its Kafka clusters.

    API keys come from `LINEAGE_BRIDGE_*_API_KEY` and `_SECRET` variables, or from AWS Secrets Manager, each
    time an asset runs. A field that is left empty comes from its `LINEAGE_BRIDGE_*` variable.
    """

    def read_topics(self, nodes: Iterable[Node]) -> Iterator[tuple[Node, TopicFacts | Exception]]:
        """Read topics from their brokers, over one connection per cluster."""
        return read_topics(nodes, self.settings())

    def read_backlogs(
        self, since_ms: Iterable[tuple[Node, int | None]]
    ) -> Iterator[tuple[Node, Backlog | Exception]]:
        """Read what topics received after a time, over one connection per cluster."""
        return read_backlogs(since_ms, self.settings())


class GlueResource(ConfigurableResource):  # type: ignore[type-arg]
    """The Glue Data Catalog.

    A field that is left empty comes from its `LINEAGE_BRIDGE_AWS_*` variable, then from boto3's own chain, as
    keys always do.
    """

    region_name: str | None = optional_field(AwsSettings, "region")
    profile_name: str | None = optional_field(AwsSettings, "profile")
    endpoint_url: str | None = optional_field(AwsSettings, "endpoint_url")
    role_arn: str | None = optional_field(AwsSettings, "role_arn")
    catalog_id: str | None = optional_field(AwsSettings, "catalog_id")
    secrets: list[str] | None = optional_field(ConfluentSettings, "secrets")

    _known = known_fields
    _cached_secrets: CachedSecrets = PrivateAttr(default_factory=CachedSecrets)

    def aws_settings(self) -> AwsSettings:
        """Read the settings in force.

        Raises:
            ConfigurationError: a value is malformed, or a secret cannot be read.
        """
        fields = {
            "region": self.region_name,
            "profile": self.profile_name,
            "endpoint_url": self.endpoint_url,
            "role_arn": self.role_arn,
            "catalog_id": self.catalog_id,
        }
        given: Given = {"aws": fields, "confluent": {"secrets": self.secrets}}
        return SettingsGroups.from_env(given=given, groups=["aws"], secrets=self._cached_secrets).aws

    def client(self) -> GlueClient:
        """Return a new client.

        Raises:
            ConfigurationError: no region, or an unknown profile.
        """
        from lineage_bridge_dagster.catalogs.glue.client import glue_client

        return glue_client(self.aws_settings())

    def storage_client(self, catalog: CatalogSettings) -> S3Client:
        """Return a new client for the bucket of the tables, with the same rights.

        Raises:
            ConfigurationError: no region, or an unknown profile.
        """
        from lineage_bridge_dagster.config.aws import s3_client

        return s3_client(
            self.aws_settings(), endpoint_url=catalog.s3_endpoint, path_style=catalog.s3_path_style
        )
