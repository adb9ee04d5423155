"""Tableflow topics and catalog integrations (`tableflow/v1`).

Each list is one cheap request per cluster, so a sensor's tick can afford both.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import AliasPath, BeforeValidator, Field

from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.paging import list_records
from lineage_bridge_dagster.confluent.api.records import ApiRecord
from lineage_bridge_dagster.confluent.api.session import ConfluentSession

R = TypeVar("R", bound=ApiRecord)

#: A setting that is on, off, or not told; another value must not lose the topic.
Flag = Annotated[bool | None, BeforeValidator(lambda value: value if isinstance(value, bool) else None)]


class RecordErrorHandling(ApiRecord):
    mode: str = ""
    target: str = ""


class TableflowConfig(ApiRecord):
    """How a table is written. Retention is in milliseconds, as text: of snapshots, and of rows."""

    enable_compaction: Flag = None
    enable_partitioning: Flag = None
    retention_ms: str = ""
    data_retention_ms: str = ""
    record_failure_strategy: str = ""
    error_handling: RecordErrorHandling | None = None
    metadata_column_naming_scheme: str = ""


class TableflowStorage(ApiRecord):
    """Where a table is: `Managed`, `ByobAws` or `AzureDataLakeStorageGen2`, each with fields of its own."""

    kind: str = ""
    bucket_name: str = ""
    bucket_region: str = ""
    storage_account_name: str = ""
    container_name: str = ""
    storage_region: str = ""
    provider_integration_id: str = ""
    table_path: str = ""


class TableflowSpec(ApiRecord):
    display_name: str
    suspended: bool = False
    config: TableflowConfig = Field(default_factory=TableflowConfig)
    storage: TableflowStorage = Field(default_factory=TableflowStorage)
    table_formats: tuple[str, ...] = ()


class CatalogSyncStatus(ApiRecord):
    catalog_integration_id: str = ""
    catalog_type: str = ""
    sync_status: str = ""
    error_message: str = ""


class FailingFormat(ApiRecord):
    format: str = ""
    error_message: str = ""


class TableflowStatus(ApiRecord):
    phase: str = ""
    write_mode: str = ""
    error_message: str = ""
    catalog_sync_statuses: tuple[CatalogSyncStatus, ...] = ()
    failing_table_formats: tuple[FailingFormat, ...] = ()


class TableflowTopic(ApiRecord):
    """`tableflow/v1` TableflowTopic. It has no id; its display name is the Kafka topic's name."""

    list_path = "/tableflow/v1/tableflow-topics"

    spec: TableflowSpec
    status: TableflowStatus = Field(default_factory=TableflowStatus)
    #: RFC 3339: when Tableflow was enabled.
    created_at: str = Field("", validation_alias=AliasPath("metadata", "created_at"))

    @property
    def display_name(self) -> str:
        return self.spec.display_name

    @property
    def phase(self) -> str:
        return self.status.phase

    @property
    def formats(self) -> tuple[str, ...]:
        """The table formats; the API's default is ICEBERG."""
        return self.spec.table_formats or ("ICEBERG",)


class IntegrationConfig(ApiRecord):
    """`tableflow/v1`: AwsGlue, Snowflake or Unity; only Glue's database name is read."""

    kind: str
    custom_database: str = ""


class IntegrationSpec(ApiRecord):
    display_name: str = ""
    suspended: bool = False
    config: IntegrationConfig


class IntegrationStatus(ApiRecord):
    """`last_sync_at` is RFC 3339, empty before the first sync."""

    phase: str = ""
    error_message: str = ""
    last_sync_at: str = ""


class CatalogIntegration(ApiRecord):
    """`tableflow/v1` CatalogIntegration."""

    list_path = "/tableflow/v1/catalog-integrations"

    id: str
    spec: IntegrationSpec
    status: IntegrationStatus = Field(default_factory=IntegrationStatus)

    @property
    def phase(self) -> str:
        return self.status.phase

    @property
    def kind(self) -> str:
        return self.spec.config.kind

    @property
    def custom_database(self) -> str:
        """The configured Glue database; empty means that it is named after the Kafka cluster's id."""
        return self.spec.config.custom_database

    @property
    def is_glue(self) -> bool:
        return self.kind.lower() == "awsglue"


def list_tableflow(session: ConfluentSession, record: type[R], environment: str, cluster: str) -> list[R]:
    """Read a list of what Tableflow materializes of a cluster; raises as `list_records`."""
    # Both are required: with only one of them the API returns 400.
    params = {"environment": environment, "spec.kafka_cluster": cluster}
    url = session.control_url(record.list_path)
    return list_records(session, record, url, Access("tableflow", (cluster, environment)), params)
