"""Warehouses and cloud databases, by connectors of their own.

Sources for BigQuery: TableNameUtils of the connector first published by WePay and continued by Confluent and
Aiven, its TopicToTableResolver before version 2.0, and the templates of Confluent's managed connectors. For
Snowflake: Utils.getTableName and Utils.generateValidName of github.com/snowflakedb/snowflake-kafka-connector.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.addresses import (
    host_and_port,
    redshift_cluster,
    snowflake_account,
)
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import keyed, table_name
from lineage_bridge_dagster.confluent.connectors.families.declared import declare
from lineage_bridge_dagster.confluent.connectors.family import (
    Sink,
    SinkContext,
    SourceContext,
    WrittenTopic,
    named_for,
    sink_family,
    source_family,
)
from lineage_bridge_dagster.confluent.connectors.java_regex import BadRegexError, full_matches, replace_whole
from lineage_bridge_dagster.confluent.connectors.naming import Rule


def _qualified(config: Config, topic: str, database: str, schema: str) -> dict[str, str]:
    """A table in the parts that its name has: `table`, `schema.table` or `database.schema.table`."""
    *path, table = table_name(config, topic).split(".")
    database, schema = [database, *(path or [schema])][-2:]
    return {"database": database, "schema": schema, "table": table}


@sink_family("redshift", "RedshiftSink", "confluent:aws.redshift.RedshiftSinkConnector")
def redshift(context: SinkContext, topic: str) -> str:
    config = context.config
    address = config.get("aws.redshift.domain")
    port = config.get("aws.redshift.port") or host_and_port(address)[1]
    path = _qualified(config, topic, config.get("aws.redshift.database"), "public")
    return naming.REDSHIFT(host=redshift_cluster(address), port=port, **path)


@sink_family("azure-sql-dw", "AzureSqlDwSink", "confluent:azuresqldw.AzureSqlDwSinkConnector")
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
    "confluent:databricks.deltalake.DatabricksDeltaLakeSinkConnector",
    "confluent:databricks.deltalake.azure.AzureDatabricksDeltaLakeSinkConnector",
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


@sink_family("spanner", "SpannerSink", "confluent:gcp.spanner.SpannerSinkConnector")
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


declare(
    """
    bigtable: BIGTABLE project=gcp.bigtable.project.id instance=gcp.bigtable.instance.id
        table=table.name.format=${topic}
        BigTableSink confluent:gcp.bigtable.BigtableSinkConnector
        com.google.cloud.kafka.connect.bigtable.BigtableSinkConnector
    bigquery-table: BIGQUERY project=project dataset=dataset table=table
        com.reproio.kafka.connect.bigquery.BigqueryStorageWriteSinkConnector
    """
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


@sink_family("clickhouse-altinity", "com.altinity.clickhouse.sink.connector.ClickHouseSinkConnector")
def clickhouse_altinity(context: SinkContext, topic: str) -> str:
    """The table of a change event; later versions take its database from the event."""
    config = context.config
    if not (database := config.get("clickhouse.server.database")):
        context.warnings.append(
            "clickhouse.server.database is not set: the record's source.db is the database"
        )
    last = topic.rpartition(".")[2] if topic.count(".") > 1 else ""
    return naming.CLICKHOUSE(
        host=config.get("clickhouse.server.url"),
        port=config.get("clickhouse.server.port"),
        database=database,
        table=config.pairs("clickhouse.topic2table.map").get(topic, last),
    )


@sink_family(
    "singlestore", "com.singlestore.kafka.SingleStoreSinkConnector", "com.memsql.kafka.MemSQLSinkConnector"
)
def singlestore(context: SinkContext, topic: str) -> str:
    config = context.config
    vendor = "memsql" if "memsql" in config.get("connector.class") else "singlestore"
    if field := config.get("singlestore.recordToTable.mappingField"):
        context.warnings.append(f"the record's field {field} selects the table, which is not known")
        return ""
    return naming.SINGLESTORE(
        host=config.get("connection.ddlEndpoint", "connection.clientEndpoint"),
        database=config.get("connection.database"),
        table=config.get(f"{vendor}.tableName.{topic}", default=topic),
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


@source_family("kudu", "confluent:kudu.KuduSourceConnector")
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


@sink_family("kudu", "confluent:kudu.KuduSinkConnector")
def kudu(context: SinkContext, topic: str) -> str:
    return _KUDU(context.config, table_name(context.config, topic))


sink_family("starrocks", "com.starrocks.connector.kafka.StarRocksSinkConnector")(
    _mapped(naming.STARROCKS, "starrocks.http.url", "starrocks.database.name", "starrocks.topic2table.map")
)
sink_family("vertica", "io.confluent.vertica.VerticaSinkConnector")(
    _formatted(naming.VERTICA, "vertica.", "vertica.database", "public")
)
sink_family("netezza", "confluent:netezza.NetezzaSinkConnector")(
    _formatted(naming.NETEZZA, "connection.", "connection.database")
)
sink_family("heavyai", "confluent:omnisci.OmnisciSinkConnector")(
    _formatted(naming.HEAVY_DB, "connection.", "connection.database")
)


def sanitized(name: str) -> str:
    """A name of letters, digits and underscores that does not start with a digit."""
    text = re.sub(r"[^a-zA-Z0-9_]", "_", name)
    return f"_{text}" if text[:1].isdigit() else text


def _by_expression(context: SinkContext, key: str, topic: str) -> str:
    """The value for a topic in a map from expressions, as before version 2.0: `regex=value,...`."""
    for expression, value in context.config.pairs(key, "=").items():
        try:
            if full_matches(expression, [topic]):
                return replace_whole(expression, value, topic)
        except BadRegexError as error:
            context.warnings.append(f"{key}: cannot apply {error}")
    return ""


def _default_dataset(context: SinkContext, topic: str) -> str:
    """The dataset of all topics, or of those that an expression matches."""
    config = context.config
    if dataset := config.get("defaultDataset"):
        return dataset
    listed = config.items("datasets")
    if len(listed) == 1 and "=" not in listed[0]:
        return listed[0]
    dataset = _by_expression(context, "datasets", topic)
    if listed and not dataset:
        context.warnings.append(f"datasets names none for {topic}")
    return dataset


def _sanitizes(config: Config) -> bool:
    managed = "." not in config.get("connector.class")
    return config.flag("sanitize.topics", managed) or config.flag("sanitizeTopics")


@sink_family(
    "bigquery",
    "BigQuerySink BigQueryStorageSink",
    "com.wepay.kafka.connect.bigquery.BigQuerySinkConnector",
    "com.aiven.kafka.connect.bigquery.BigQuerySinkConnector",
    "io.aiven.kafka.connect.bigquery.BigQuerySinkConnector",
    "confluent:bigquerystorage.BigQueryStorageSinkConnector",
)
def bigquery(context: SinkContext, topic: str) -> str:
    """The table of a topic; a router may have made `dataset:table` of the topic."""
    config = context.config
    dataset = _default_dataset(context, topic)
    managed, own = config.pairs("topic2table.map"), config.pairs("topic2TableMap")
    if managed or own:
        # Neither does the connector sanitize the topics that the map lacks.
        table = own.get(topic) or managed.get(topic) or topic
    else:
        prefix, _, table = topic.rpartition(":")
        dataset = prefix or dataset
        table = _by_expression(context, "topicsToTables", topic) or table
        table = sanitized(table) if _sanitizes(config) else table
    return naming.BIGQUERY(project=config.get("project"), dataset=dataset, table=table)


#: From version 4 on; it keeps the topic's name unless told to replace what an identifier cannot hold.
STREAMING = "com.snowflake.kafka.connector.SnowflakeStreamingSinkConnector"
_SANITIZE = "snowflake.compatibility.enable.autogenerated.table.name.sanitization"

_MAP_TOKEN = re.compile(r'"[^"]+"|[^\s:,"]+|[:,]')
_IDENTIFIER = re.compile(r"[_a-zA-Z][_$a-zA-Z0-9]+")


def java_hash(text: str) -> int:
    """Java's `String.hashCode`."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def table_of(topic: str) -> str:
    """The table of a topic that no map names: the topic, or a valid identifier made of it with its hash."""
    if _IDENTIFIER.fullmatch(topic):
        return topic
    text = re.sub(r"[^_$a-zA-Z0-9]", "_", topic.replace(".*", ""))
    if not re.match(r"[_a-zA-Z]", topic):
        text = f"_{text}"
    return f"{text}_{abs(java_hash(topic))}"


def identifier(name: str) -> str:
    """A name as Snowflake stores it: in upper case unless quoted."""
    quoted = len(name) > 2 and name.startswith('"') and name.endswith('"')
    return name[1:-1] if quoted else name.upper()


# A sink asks for each of its topics.
@lru_cache(maxsize=64)
def _entries(text: str) -> tuple[tuple[str, str], ...]:
    """The pairs of `topic:table,...`, in which quotes keep a table's case."""
    tokens = _MAP_TOKEN.findall(text)
    return tuple(
        (key.strip('"'), table)
        for key, colon, table in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if colon == ":" and not {key, table} & {":", ","}
    )


def _snowflake_table(context: SinkContext, topic: str) -> str:
    """The table that the map names for a topic: by its name, else by the first expression that matches it."""
    entries = _entries(context.config.get("snowflake.topic2table.map"))
    replace = context.config.flag("snowflake.topic2table.map.regex.replacement")
    for key, table in entries:
        if key == topic:
            return table
    for key, table in entries:
        try:
            if full_matches(key, [topic]):
                return replace_whole(key, table, topic) if replace else table
        except BadRegexError as error:
            context.warnings.append(f"snowflake.topic2table.map: cannot apply {error}")
    return ""


@sink_family("snowflake", "SnowflakeSink", "com.snowflake.kafka.connector.SnowflakeSinkConnector", STREAMING)
def snowflake(context: SinkContext, topic: str) -> str:
    """The table of a topic."""
    config = context.config
    table = _snowflake_table(context, topic)
    if not table:
        keep = config.get("connector.class") == STREAMING and not config.flag(_SANITIZE)
        table = f'"{topic}"' if keep else table_of(topic)
    # A mapped table may be qualified.
    parts = [identifier(part) for part in ([table] if table.startswith('"') else table.split("."))]
    path = [identifier(config.get(f"snowflake.{part}.name")) for part in ("database", "schema")]
    database, schema, table = [*path[: max(0, 3 - len(parts))], *parts][-3:]
    account = snowflake_account(config.get("snowflake.url.name"))
    return naming.SNOWFLAKE(account=account, database=database, schema=schema, table=table)
