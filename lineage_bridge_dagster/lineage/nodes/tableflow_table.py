"""Topics' Tableflow tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lineage_bridge_dagster.lineage.glue_names import GluePlace, glue_table_name
from lineage_bridge_dagster.lineage.nodes.attribute import Api, attribute
from lineage_bridge_dagster.lineage.nodes.catalog_reports import CommitReport, GlueReport
from lineage_bridge_dagster.lineage.nodes.node import Node, NodeType, kind
from lineage_bridge_dagster.lineage.nodes.values import (
    CatalogIntegrationState,
    CatalogSync,
    ErrorHandling,
    FormatError,
    read_text,
)


@kind(NodeType.TABLEFLOW_TABLE)
class TableflowNode(Node, GlueReport, CommitReport):
    """A topic's Tableflow table; what its own catalog reports is in the fields of `CommitReport`."""

    __slots__ = ()

    #: The topic; without a value, the qualified name `{cluster}.{topic}` without its cluster.
    topic: str = attribute(
        Api.TABLEFLOW,
        otherwise=lambda table: table.qualified_name.removeprefix(f"{table.cluster_id}."),
    )
    #: Its own catalog is that of the environment and of the cluster's region, whatever the bucket's is.
    organization_id: str = attribute(Api.TABLEFLOW)
    cluster_cloud: str = attribute(Api.TABLEFLOW)
    cluster_region: str = attribute(Api.TABLEFLOW)
    #: Where Glue should have it: see `expected_place`.
    glue_database: str = attribute(Api.TABLEFLOW, Api.INTEGRATIONS)
    glue_table: str = attribute(Api.TABLEFLOW, Api.INTEGRATIONS)
    #: Where Glue has it, as `database.table`.
    glue_table_found: str = attribute()
    #: The storage location that Tableflow reports.
    table_path: str = attribute(Api.TABLEFLOW)
    #: The catalogs that the table is synced to or integrated with, such as `AWS_GLUE`.
    catalog_types: Sequence[str] = attribute(Api.TABLEFLOW, Api.INTEGRATIONS)
    catalog_sync: Sequence[CatalogSync] = attribute(Api.TABLEFLOW)
    #: Whether the cluster's catalog integrations could be read; None in a graph that does not tell.
    catalog_integrations_read: bool | None = attribute(Api.INTEGRATIONS)
    #: The catalog integrations of the cluster, whether or not they sync this topic.
    catalog_integrations: Sequence[CatalogIntegrationState] = attribute(Api.INTEGRATIONS)
    #: By integration, the ISO 8601 time of its last sync.
    catalog_last_sync: Mapping[str, Any] = attribute(Api.INTEGRATIONS, volatile=True)
    created_at: str = attribute(Api.TABLEFLOW)
    phase: str = attribute(Api.TABLEFLOW)
    error: str = attribute(Api.TABLEFLOW)
    write_mode: str = attribute(Api.TABLEFLOW)
    table_formats: Sequence[str] = attribute(Api.TABLEFLOW)
    suspended: bool = attribute(Api.TABLEFLOW)
    #: What becomes of a record that cannot be a row.
    error_handling: ErrorHandling = attribute(Api.TABLEFLOW)
    #: The region of its bucket, else of its cluster.
    region: str = attribute(Api.TABLEFLOW)
    warnings: Sequence[str] = attribute(Api.TABLEFLOW, carried=False)
    #: `Managed`, `ByobAws` or `AzureDataLakeStorageGen2`; the fields after it are of the last two.
    storage_kind: str = attribute(Api.TABLEFLOW)
    bucket_name: str = attribute(Api.TABLEFLOW)
    storage_account_name: str = attribute(Api.TABLEFLOW)
    container_name: str = attribute(Api.TABLEFLOW)
    provider_integration_id: str = attribute(Api.TABLEFLOW)
    #: Milliseconds that snapshots are kept; rows have `data_retention_ms`.
    retention_ms: int | None = attribute(Api.TABLEFLOW)
    data_retention_ms: int | None = attribute(Api.TABLEFLOW)
    enable_compaction: bool | None = attribute(Api.TABLEFLOW)
    enable_partitioning: bool | None = attribute(Api.TABLEFLOW)
    metadata_column_naming_scheme: str = attribute(Api.TABLEFLOW)
    failing_table_formats: Sequence[FormatError] = attribute(Api.TABLEFLOW)

    @property
    def expected_place(self) -> GluePlace | None:
        """Where Tableflow should put the table in Glue, in lower case; None without a known database.

        Discovery sets `glue_database`: the integration's custom database, else the cluster's id. Where it
        did not (integrations unknown or ambiguous) the cluster's id is not assumed: a database of that name
        may hold a table from before a custom database was configured.
        """
        database = self.glue_database
        table = glue_table_name(self.glue_table or self.topic)
        return GluePlace(database.lower(), table) if database and table else None

    @property
    def own_catalog(self) -> tuple[str, str, str, str]:
        """Whose own catalog has the table: organization, environment, cloud and region of its cluster.

        What is not known is empty.
        """
        return (self.organization_id, self.environment_id or "", self.cluster_cloud, self.cluster_region)

    def last_sync(self, integration: str) -> str:
        """When an integration synced its catalog last, as ISO 8601; empty if that is unknown or never."""
        return read_text(self.catalog_last_sync.get(integration))
