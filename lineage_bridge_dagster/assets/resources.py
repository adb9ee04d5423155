"""Everything outside that assets work with: Glue, Spark, the brokers, behind one object each.

Clients are made when an asset first needs one, so that definitions load while every API is down, without a
JVM and without a credential.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dagster import AssetExecutionContext, OpExecutionContext
from dagster_aws.utils import ResourceWithBoto3Configuration
from pydantic import Field

from lineage_bridge_dagster.assets.chains import WriteLineage
from lineage_bridge_dagster.assets.freshness import Unseen
from lineage_bridge_dagster.assets.inventory import Inventory
from lineage_bridge_dagster.assets.progress import Progress, by_table
from lineage_bridge_dagster.assets.table_commits import Commits, ReadCommits, read_commits
from lineage_bridge_dagster.assets.tables import Push
from lineage_bridge_dagster.assets.topics import TopicFacts
from lineage_bridge_dagster.config.catalog import CatalogSettings
from lineage_bridge_dagster.config.settings import AwsSettings, PushSettings, Settings
from lineage_bridge_dagster.glue.reader import GlueReader
from lineage_bridge_dagster.glue.results import PushReport
from lineage_bridge_dagster.iceberg.snapshots import SnapshotReader
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import Node
from lineage_bridge_dagster.text import plural

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient
    from mypy_boto3_s3 import S3Client

GLUE = "glue"
SPARK = "spark"
IO_MANAGER = "lineage_io_manager"


class GlueResource(ResourceWithBoto3Configuration):
    """The Glue Data Catalog, by dagster-aws's conventions for AWS sessions.

    What is left empty comes from `LINEAGE_BRIDGE_AWS_*`, then from boto3's own chain.
    """

    role_arn: str | None = Field(default=None, description="Role to assume for Glue.")
    catalog_id: str | None = Field(
        default=None, description="Account id of the catalog; the caller's by default."
    )

    def aws_settings(self) -> AwsSettings:
        """Who signs in where; what is left empty comes from `LINEAGE_BRIDGE_AWS_*`."""
        fields = {
            "region": self.region_name,
            "profile": self.profile_name,
            "endpoint_url": self.endpoint_url,
            "role_arn": self.role_arn,
            "catalog_id": self.catalog_id,
        }
        return Settings.from_env(given={"aws": fields}, groups=["aws"]).aws

    def client(self) -> GlueClient:
        """A new client.

        Raises:
            ConfigurationError: no region, or an unknown profile.
        """
        from lineage_bridge_dagster.glue.client import glue_client

        return glue_client(self.aws_settings())

    def storage_client(self, catalog: CatalogSettings) -> S3Client:
        """A new client for the bucket of the tables, with the same rights.

        Raises:
            ConfigurationError: no region, or an unknown profile.
        """
        from lineage_bridge_dagster.config.aws import s3_client

        return s3_client(
            self.aws_settings(), endpoint_url=catalog.s3_endpoint, path_style=catalog.s3_path_style
        )


class Outside:
    """How assets reach the outside. Tests hand over a subclass, or resources of their own."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        *,
        namespace: str = "lineage_bridge",
        push: Callable[[], PushSettings] | None = None,
        catalog: Callable[[], CatalogSettings] | None = None,
    ) -> None:
        self._settings = settings
        self._catalog = catalog or (lambda: settings().catalog)
        self._push_settings = push or (lambda: settings().push)
        self._namespace = namespace

    @property
    def settings(self) -> Settings:
        """Read when asked for, so that a malformed variable fails the asset and not the code location."""
        return self._settings()

    @property
    def push_settings(self) -> PushSettings:
        """What a push writes; asks for no secret, for Glue needs none of Confluent's."""
        return self._push_settings()

    def push(self, context: AssetExecutionContext) -> Push:
        """How tables are pushed, under the settings in force."""
        settings = self.push_settings

        def push_tables(discovery: Discovery, table_ids: Collection[str]) -> PushReport:
            from lineage_bridge_dagster.glue.push import push_tables as push

            progress = Progress("Pushing tables to Glue", len(table_ids))
            client = context.resources.glue.client()
            report = push(
                discovery, client, settings, tables=table_ids, progress=by_table(progress, context.log.info)
            )
            context.log.info(progress.summary())
            return report

        return Push(settings, push_tables)

    def chain_writer(self, context: AssetExecutionContext) -> WriteLineage:
        """Stores chains through the run's one Spark session; it starts only when this is called."""

        def write(inventory: Inventory, table_ids: Sequence[str], _run_id: str) -> dict[str, Any]:
            from lineage_bridge_dagster.spark.chains.write import write_lineage

            spark = context.resources.spark
            context.log.info("Computing the chains of %s on Spark", plural(len(table_ids), "table"))
            began = time.monotonic()
            session = spark.spark_session
            context.log.info("Spark is there after %.1f s", time.monotonic() - began)
            catalog = spark.catalog_config.name
            done = write_lineage(
                session,
                inventory.discovery,
                table_ids=table_ids,
                catalog=catalog,
                namespace=self._namespace,
                progress=context.log.info,
            )
            context.log.info(
                "Chains: %s with %s in all, %d of them changed, in %.0f s",
                plural(done.tables, "table"),
                plural(done.rows, "hop"),
                done.changed,
                time.monotonic() - began,
            )
            return {
                "lineage_bridge/lineage_table": f"{catalog}.{self._namespace}.upstream_chains",
                # As text: JavaScript, and so the UI, would round an integer of this size.
                "lineage_bridge/snapshot_id": str(done.snapshot_id or ""),
            }

        return write

    def read_topics(self, nodes: Iterable[Node]) -> Iterator[tuple[Node, TopicFacts | Exception]]:
        """Facts of topics, one connection a cluster."""
        from lineage_bridge_dagster.assets.topic_facts import read_topics

        return read_topics(nodes, self.settings.confluent)

    def read_unseen(
        self, since_ms: Iterable[tuple[Node, int | None]]
    ) -> Iterator[tuple[Node, Unseen | Exception]]:
        """What topics hold after a time, one connection a cluster."""
        from lineage_bridge_dagster.assets.topic_facts import read_unseen

        return read_unseen(since_ms, self.settings.confluent)

    def commit_reader(self, context: AssetExecutionContext | OpExecutionContext) -> ReadCommits:
        """Reads what tables last committed, from Glue and from the tables' bucket."""

        def read(tables: Sequence[Node]) -> Commits:
            glue = context.resources.glue
            client = glue.client()
            snapshots = SnapshotReader(glue.storage_client(self._catalog()))
            return read_commits(tables, GlueReader(client), snapshots, client.meta.region_name)

        return read
