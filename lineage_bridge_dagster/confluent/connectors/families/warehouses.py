"""Warehouses and cloud databases, by connectors of their own."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.addresses import host_and_port, redshift_cluster
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import keyed, named_by_topic, table_name
from lineage_bridge_dagster.confluent.connectors.family import (
    Sink,
    SinkContext,
    SourceContext,
    WrittenTopic,
    named_for,
    sink_family,
    source_family,
)
from lineage_bridge_dagster.confluent.connectors.naming import Rule


def _qualified(config: Config, topic: str, database: str, schema: str) -> dict[str, str]:
    """A table in the parts that its name has: `table`, `schema.table` or `database.schema.table`."""
    *path, table = table_name(config, topic).split(".")
    database, schema = [database, *(path or [schema])][-2:]
    return {"database": database, "schema": schema, "table": table}


@sink_family("redshift", "RedshiftSink", "io.confluent.connect.aws.redshift.RedshiftSinkConnector")
def redshift(context: SinkContext, topic: str) -> str:
    config = context.config
    address = config.get("aws.redshift.domain")
    port = config.get("aws.redshift.port") or host_and_port(address)[1]
    path = _qualified(config, topic, config.get("aws.redshift.database"), "public")
    return naming.REDSHIFT(host=redshift_cluster(address), port=port, **path)


@sink_family("azure-sql-dw", "AzureSqlDwSink", "io.confluent.connect.azuresqldw.AzureSqlDwSinkConnector")
def synapse(context: SinkContext, topic: str) -> str:
    """A table of a SQL pool. The pool's name is not part of the dataset's name."""
    config = context.config
    # Self-managed, the address is a JDBC URL.
    address = config.get("azure.sql.dw.server.name", "azure.sql.dw.url")
    host = address.partition("//")[2].partition(";")[0] if address.startswith("jdbc:") else address
    return naming.SYNAPSE(host=host, **_qualified(config, topic, "", "dbo"))


@sink_family(
    "databricks",
    "DatabricksDeltaLakeSink",
    "io.confluent.connect.databricks.deltalake.DatabricksDeltaLakeSinkConnector",
    "io.confluent.connect.databricks.deltalake.azure.AzureDatabricksDeltaLakeSinkConnector",
)
def databricks(context: SinkContext, topic: str) -> str:
    config = context.config
    mapped = config.pairs("delta.lake.topic2table.map").get(topic)
    return naming.UNITY_CATALOG(
        host=config.get("delta.lake.host.name"),
        catalog=config.get("delta.lake.catalog"),
        schema=config.get("delta.lake.database", default="default"),
        table=mapped or table_name(config, topic, "delta.lake.table.format"),
    )


@sink_family("spanner", "SpannerSink", "io.confluent.connect.gcp.spanner.SpannerSinkConnector")
def spanner(context: SinkContext, topic: str) -> str:
    """A table; the project is mostly in the credentials only."""
    config = context.config
    project = config.get("gcp.spanner.project.id")
    if not project:
        context.warnings.append("gcp.spanner.project.id is not set: the instance's full name is not known")
    return naming.SPANNER(
        project=project,
        instance=config.get("gcp.spanner.instance.id"),
        database=config.get("gcp.spanner.database.id"),
        table=table_name(config, topic),
    )


sink_family(
    "bigtable",
    "BigTableSink",
    "io.confluent.connect.gcp.bigtable.BigtableSinkConnector",
    "com.google.cloud.kafka.connect.bigtable.BigtableSinkConnector",
)(
    named_by_topic(
        keyed(
            naming.BIGTABLE,
            project="gcp.bigtable.project.id",
            instance="gcp.bigtable.instance.id",
            table="table.name.format = ${topic}",
        )
    )
)


@sink_family("clickhouse", "ClickHouseSink", "com.clickhouse.kafka.connect.ClickHouseSinkConnector")
def clickhouse(context: SinkContext, topic: str) -> str:
    """A table; the topic may hold the database before a separator."""
    config = context.config
    database, table = config.get("database", default="default"), topic
    separator = config.get("dbTopicSplitChar")
    if config.flag("enableDbTopicSplit") and separator and separator in topic:
        database, _, table = topic.partition(separator)
    return naming.CLICKHOUSE(
        host=config.get("hostname"),
        port=config.get("port"),
        # The connector's own default; the rule's is that of plain HTTP.
        default_port="8443",
        database=database,
        table=config.pairs("topic2TableMap", "=").get(table, table).replace("`", ""),
    )


@sink_family("singlestore", "", "com.singlestore.kafka.SingleStoreSinkConnector")
def singlestore(context: SinkContext, topic: str) -> str:
    config = context.config
    if field := config.get("singlestore.recordToTable.mappingField"):
        context.warnings.append(f"the record's field {field} selects the table, which is not known")
        return ""
    return naming.SINGLESTORE(
        host=config.get("connection.ddlEndpoint", "connection.clientEndpoint"),
        database=config.get("connection.database"),
        table=config.get(f"singlestore.tableName.{topic}", default=topic),
    )


def _mapped(rule: Rule, host: str, database: str, tables: str, port: str = "") -> Sink:
    """A table of the one database, by a map `topic:table,...`, else named for the topic."""

    def sink(context: SinkContext, topic: str) -> str:
        config = context.config
        return rule(
            # An address with a port for loading data leads to the same server as the port for queries.
            host=host_and_port(config.get(host))[0] if port else config.get(host),
            port=config.get(port) if port else "",
            database=config.get(database),
            table=config.pairs(tables).get(topic, topic),
        )

    return sink


@sink_family(
    "doris",
    "",
    "org.apache.doris.kafka.connector.DorisSinkConnector",
    "com.selectdb.kafka.connector.SelectDBSinkConnector",
)
def doris(context: SinkContext, topic: str) -> str:
    if field := context.config.get("record.tablename.field"):
        context.warnings.append(f"the record's field {field} selects the table, which is not known")
        return ""
    keys = ("doris.urls", "doris.database", "doris.topic2table.map", "doris.query.port")
    return str(_mapped(naming.DORIS, *keys)(context, topic))


def _formatted(rule: Rule, prefix: str, database: str, schema: str = "") -> Sink:
    """A table by `table.name.format`, at `{prefix}host` and `{prefix}port`."""

    def sink(context: SinkContext, topic: str) -> str:
        config = context.config
        path = _qualified(config, topic, config.get(database), schema)
        return rule(host=config.get(prefix + "host"), port=config.get(prefix + "port"), **path)

    return sink


_KUDU = keyed(
    naming.KUDU, host="impala.server", port="impala.port", database="kudu.database", table="= ${topic}"
)


@source_family("kudu", "", "io.confluent.connect.kudu.KuduSourceConnector")
def kudu_source(context: SourceContext) -> Iterator[WrittenTopic]:
    """Topics `{topic.prefix}{table}`; with `query`, the prefix alone."""
    config, prefix = context.config, context.config.get("topic.prefix")
    if config.get("query"):
        context.warnings.append("query is set: the tables it reads are not known from the configuration")
        yield WrittenTopic(prefix)
        return
    excluded = config.items("table.blacklist")
    listed = config.items("table.whitelist")
    for table in listed or context.named_like(prefix):
        if table not in excluded:
            yield named_for(prefix + table, _KUDU(config, table), listed=bool(listed))


@sink_family("kudu", "", "io.confluent.connect.kudu.KuduSinkConnector")
def kudu(context: SinkContext, topic: str) -> str:
    return _KUDU(context.config, table_name(context.config, topic))


sink_family("starrocks", "", "com.starrocks.connector.kafka.StarRocksSinkConnector")(
    _mapped(naming.STARROCKS, "starrocks.http.url", "starrocks.database.name", "starrocks.topic2table.map")
)
sink_family("vertica", "", "io.confluent.vertica.VerticaSinkConnector")(
    _formatted(naming.VERTICA, "vertica.", "vertica.database", "public")
)
sink_family("netezza", "", "io.confluent.connect.netezza.NetezzaSinkConnector")(
    _formatted(naming.NETEZZA, "connection.", "connection.database")
)
sink_family("heavyai", "", "io.confluent.connect.omnisci.OmnisciSinkConnector")(
    _formatted(naming.HEAVY_DB, "connection.", "connection.database")
)
