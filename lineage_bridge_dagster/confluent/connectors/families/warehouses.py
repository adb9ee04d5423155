"""Warehouses, lakehouses and cloud databases."""

from __future__ import annotations

from lineage_bridge_dagster.confluent.connectors import datasets
from lineage_bridge_dagster.confluent.connectors.families.common import table_name
from lineage_bridge_dagster.confluent.connectors.family import Family, SinkContext


def redshift(context: SinkContext, topic: str) -> str:
    config = context.config
    host = config.get("aws.redshift.domain")
    path = (config.get("aws.redshift.database"), table_name(context.config, topic, "public"))
    return datasets.database("redshift", host, config.get("aws.redshift.port"), *path) if host else ""


def azure_sql_dw(context: SinkContext, topic: str) -> str:
    config = context.config
    host, name = config.get("azure.sql.dw.server.name"), config.get("azure.sql.dw.database.name")
    return (
        datasets.database("mssql", host, "", name, table_name(context.config, topic, "dbo")) if host else ""
    )


def snowflake(context: SinkContext, topic: str) -> str:
    config = context.config
    account = datasets.snowflake_account(config.get("snowflake.url.name"))
    mapped = config.pairs("snowflake.topic2table.map", reverse=True).get(topic)
    table = (mapped or datasets.sanitized(topic)).upper()
    path = (config.get("snowflake.database.name").upper(), config.get("snowflake.schema.name").upper(), table)
    return datasets.database("snowflake", account, "", *path) if account else ""


def bigquery(context: SinkContext, topic: str) -> str:
    config = context.config
    project = config.get("project")
    managed = not config.get("defaultDataset")
    dataset = (
        config.get("defaultDataset") or config.pairs("datasets", "=").get(".*", "") or config.get("datasets")
    )
    mapped = config.pairs("topic2table.map", reverse=True).get(topic)
    table = mapped or topic
    if not managed and ":" in topic:
        dataset, _, table = topic.partition(":")
    clean = config.flag("sanitize.topics", True) if managed else config.flag("sanitizeTopics")
    if mapped is None and clean:
        table = datasets.sanitized(table)
    return f"bigquery://{project}.{dataset}.{table}" if project and dataset else ""


def databricks(context: SinkContext, topic: str) -> str:
    config = context.config
    host = datasets.host_of(config.get("delta.lake.host.name"))
    mapped = config.pairs("delta.lake.topic2table.map", reverse=True).get(topic)
    table = mapped or datasets.formatted(config.get("delta.lake.table.format", default="${topic}"), topic)
    path = (config.get("delta.lake.catalog"), config.get("delta.lake.database", default="default"), table)
    return datasets.database("databricks", host, "", *path) if host else ""


def iceberg(context: SinkContext, _topic: str) -> str:
    """The one table for all topics. Of several, the record's value selects one, so the dataset is unknown."""
    config = context.config
    tables = config.items("iceberg.tables")
    root = config.get("iceberg.catalog.warehouse", "iceberg.catalog.uri")
    if len(tables) != 1 or config.flag("iceberg.tables.dynamic-enabled"):
        return ""
    return f"{root.rstrip('/')}/{tables[0]}" if "://" in root else f"iceberg://{tables[0]}"


def spanner(context: SinkContext, topic: str) -> str:
    config = context.config
    keys = ("gcp.spanner.project.id", "gcp.spanner.instance.id", "gcp.spanner.database.id")
    database = ":".join(part for key in keys if (part := config.get(key)))
    return f"spanner://{database}/{table_name(context.config, topic)}"


def bigtable(context: SinkContext, topic: str) -> str:
    config = context.config
    project, instance = config.get("gcp.bigtable.project.id"), config.get("gcp.bigtable.instance.id")
    return f"bigtable://{project}/{instance}/{table_name(context.config, topic)}"


def clickhouse(context: SinkContext, topic: str) -> str:
    config = context.config
    table = config.pairs("topic2TableMap", "=").get(topic, topic)
    path = (config.get("database", default="default"), table)
    host = config.get("hostname")
    return datasets.database("clickhouse", host, config.get("port"), *path) if host else ""


SINKS = (
    Family(
        "redshift",
        ("RedshiftSink",),
        ("io.confluent.connect.aws.redshift.RedshiftSinkConnector",),
        sink=redshift,
    ),
    Family(
        "azure-sql-dw",
        ("AzureSqlDwSink",),
        ("io.confluent.connect.azuresqldw.AzureSqlDwSinkConnector",),
        sink=azure_sql_dw,
    ),
    Family(
        "snowflake",
        ("SnowflakeSink",),
        ("com.snowflake.kafka.connector.SnowflakeSinkConnector",),
        sink=snowflake,
    ),
    Family(
        "bigquery",
        ("BigQuerySink", "BigQueryStorageSink"),
        (
            "com.wepay.kafka.connect.bigquery.BigQuerySinkConnector",
            "io.confluent.connect.bigquerystorage.BigQueryStorageSinkConnector",
        ),
        sink=bigquery,
    ),
    Family(
        "databricks",
        ("DatabricksDeltaLakeSink",),
        ("io.confluent.connect.databricks.deltalake.DatabricksDeltaLakeSinkConnector",),
        sink=databricks,
    ),
    Family(
        "iceberg",
        (),
        (
            "io.tabular.iceberg.connect.IcebergSinkConnector",
            "org.apache.iceberg.connect.IcebergSinkConnector",
        ),
        sink=iceberg,
    ),
    Family(
        "spanner",
        ("SpannerSink",),
        ("io.confluent.connect.gcp.spanner.SpannerSinkConnector",),
        sink=spanner,
    ),
    Family(
        "bigtable",
        ("BigTableSink",),
        ("io.confluent.connect.gcp.bigtable.BigtableSinkConnector",),
        sink=bigtable,
    ),
    Family(
        "clickhouse",
        ("ClickHouseSink",),
        ("com.clickhouse.kafka.connect.ClickHouseSinkConnector",),
        sink=clickhouse,
    ),
)
