"""Datasets that sink connectors write: one function per family, from a topic to its dataset."""

from __future__ import annotations

import re
from collections.abc import Callable

from lineage_bridge_dagster.confluent.connectors import datasets
from lineage_bridge_dagster.confluent.connectors.config import Config

#: Configuration and topic -> the dataset that the topic's records are written to, "" when it is unknown.
Sink = Callable[[Config, str], str]


def table_name(config: Config, topic: str, default_schema: str = "") -> str:
    """The table of a topic by `table.name.format`, in the default schema unless it names one."""
    table = datasets.formatted(config.get("table.name.format", default="${topic}"), topic)
    return table if "." in table or not default_schema else f"{default_schema}.{table}"


def s3(config: Config, topic: str) -> str:
    name = config.get("s3.bucket.name", "s3.bucket")
    return datasets.bucket("s3", name, config.get("topics.dir", default="topics"), topic) if name else ""


def gcs(config: Config, topic: str) -> str:
    name = config.get("gcs.bucket.name")
    return datasets.bucket("gs", name, config.get("topics.dir", default="topics"), topic) if name else ""


def azure_blob(config: Config, topic: str) -> str:
    account, container = config.get("azblob.account.name"), config.get("azblob.container.name")
    if not (account and container):
        return ""
    folder = config.get("topics.dir", default="topics")
    return datasets.bucket("https", f"{account}.blob.core.windows.net", container, folder, topic)


def azure_data_lake(config: Config, topic: str) -> str:
    account = config.get("azure.datalake.gen2.account.name")
    container = config.get("azure.datalake.gen2.container.name", default="topics")
    folder = config.get("topics.dir", default="topics")
    authority = f"{container}@{account}.dfs.core.windows.net"
    return datasets.bucket("abfss", authority, folder, topic) if account else ""


def relational(scheme: str) -> Sink:
    """A JDBC sink, by managed keys or `connection.url`; `table.name.format` may contain a schema."""

    def sink(config: Config, topic: str) -> str:
        parsed = datasets.jdbc(config.get("connection.url"))
        kind, host, port, name = parsed or (
            scheme,
            config.get("connection.host"),
            config.get("connection.port"),
            config.get("db.name"),
        )
        if not host or not kind:
            return ""
        schema = {"postgres": "public", "mssql": "dbo"}.get(kind, "")
        return datasets.database(kind, host, port, name, table_name(config, topic, schema))

    return sink


def redshift(config: Config, topic: str) -> str:
    host = config.get("aws.redshift.domain")
    path = (config.get("aws.redshift.database"), table_name(config, topic, "public"))
    return datasets.database("redshift", host, config.get("aws.redshift.port"), *path) if host else ""


def azure_sql_dw(config: Config, topic: str) -> str:
    host, name = config.get("azure.sql.dw.server.name"), config.get("azure.sql.dw.database.name")
    return datasets.database("mssql", host, "", name, table_name(config, topic, "dbo")) if host else ""


def snowflake(config: Config, topic: str) -> str:
    account = datasets.snowflake_account(config.get("snowflake.url.name"))
    mapped = config.pairs("snowflake.topic2table.map", reverse=True).get(topic)
    table = (mapped or datasets.sanitized(topic)).upper()
    path = (config.get("snowflake.database.name").upper(), config.get("snowflake.schema.name").upper(), table)
    return datasets.database("snowflake", account, "", *path) if account else ""


def bigquery(config: Config, topic: str) -> str:
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


def mongodb(config: Config, topic: str) -> str:
    host = datasets.host_of(config.get("connection.host", "connection.uri"))
    name = config.get(f"topic.override.{topic}.database", "database")
    collection = config.get(f"topic.override.{topic}.collection", "collection", default=topic)
    return datasets.database("mongodb", *host.partition(":")[::2], name, collection) if host and name else ""


def dynamodb(config: Config, topic: str) -> str:
    region = config.get("aws.dynamodb.region", "kafka.region")
    return f"dynamodb://{region}/{table_name(config, topic)}"


def elasticsearch(config: Config, topic: str) -> str:
    host = datasets.host_of(config.get("connection.url"))
    mapped = config.pairs("topic.to.external.resource.mapping").get(topic)
    stream = config.get("data.stream.type", default="none").lower()
    if mapped:
        index = mapped
    elif stream not in ("", "none"):
        space = datasets.formatted(config.get("data.stream.namespace", default="${topic}"), topic).lower()
        index = "-".join((stream, config.get("data.stream.dataset"), space))
    else:
        index = topic.lower()
    return f"elasticsearch://{host}/{index}" if host else ""


def opensearch(config: Config, topic: str) -> str:
    host = datasets.host_of(config.get("instance.url"))
    number = config.number_of("index{n}.topic", topic)
    return f"opensearch://{host}/{config.get(f'index{number}.name')}" if host and number else ""


def databricks(config: Config, topic: str) -> str:
    host = datasets.host_of(config.get("delta.lake.host.name"))
    mapped = config.pairs("delta.lake.topic2table.map", reverse=True).get(topic)
    table = mapped or datasets.formatted(config.get("delta.lake.table.format", default="${topic}"), topic)
    path = (config.get("delta.lake.catalog"), config.get("delta.lake.database", default="default"), table)
    return datasets.database("databricks", host, "", *path) if host else ""


def iceberg(config: Config, _topic: str) -> str:
    """The one table for all topics. Of several, the record's value selects one, so the dataset is unknown."""
    tables = config.items("iceberg.tables")
    root = config.get("iceberg.catalog.warehouse", "iceberg.catalog.uri")
    if len(tables) != 1 or config.flag("iceberg.tables.dynamic-enabled"):
        return ""
    return f"{root.rstrip('/')}/{tables[0]}" if "://" in root else f"iceberg://{tables[0]}"


def spanner(config: Config, topic: str) -> str:
    keys = ("gcp.spanner.project.id", "gcp.spanner.instance.id", "gcp.spanner.database.id")
    database = ":".join(part for key in keys if (part := config.get(key)))
    return f"spanner://{database}/{table_name(config, topic)}"


def bigtable(config: Config, topic: str) -> str:
    project, instance = config.get("gcp.bigtable.project.id"), config.get("gcp.bigtable.instance.id")
    return f"bigtable://{project}/{instance}/{table_name(config, topic)}"


def cosmos(endpoint: str, name: str, topics: str) -> Sink:
    """A container of Cosmos DB, by the keys of its endpoint, its database and its `topic#container` map."""

    def sink(config: Config, topic: str) -> str:
        host, container = datasets.host_of(config.get(endpoint)), config.pairs(topics, "#").get(topic)
        return f"azurecosmos://{host}/dbs/{config.get(name)}/colls/{container}" if host and container else ""

    return sink


def clickhouse(config: Config, topic: str) -> str:
    table = config.pairs("topic2TableMap", "=").get(topic, topic)
    path = (config.get("database", default="default"), table)
    host = config.get("hostname")
    return datasets.database("clickhouse", host, config.get("port"), *path) if host else ""


def couchbase(config: Config, topic: str) -> str:
    mapped = config.pairs("couchbase.topic.to.collection", "=").get(topic)
    path = (config.get("couchbase.bucket"), mapped or config.get("couchbase.default.collection"))
    host = datasets.host_of(config.get("couchbase.seed.nodes"))
    return datasets.database("couchbase", host, "", *path) if path[0] else ""


def http(config: Config, topic: str) -> str:
    if base := config.get("http.api.base.url"):
        if number := config.number_of("api{n}.topics", topic):
            base = base.rstrip("/") + datasets.formatted(config.get(f"api{number}.http.api.path"), topic)
        return _without_credentials(base)
    return _without_credentials(datasets.formatted(config.get("http.api.url", "function.url"), topic))


def _without_credentials(url: str) -> str:
    """The URL without user part and query, which often contain keys; empty for one without a scheme."""
    scheme, middle, rest = url.partition("://")
    if not middle:
        return ""
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}".partition("?")[0]


def aws_lambda(config: Config, topic: str) -> str:
    name = config.pairs("aws.lambda.topic2function.map", reverse=True).get(topic) or config.get(
        "aws.lambda.function.name"
    )
    return f"lambda://{config.get('aws.lambda.region', 'kafka.region')}/{name}" if name else ""


def salesforce(config: Config, topic: str) -> str:
    host = datasets.host_of(config.get("salesforce.instance", default="https://login.salesforce.com"))
    if number := config.number_of("salesforce.object{n}.topics", topic):
        return f"salesforce://{host}/{config.get(f'salesforce.object{number}')}"
    name = config.get("salesforce.object", "salesforce.platform.event.name")
    return f"salesforce://{host}/{name}" if name else ""


def templated(template: str) -> Sink:
    """A dataset composed of configuration values (`{key}`) and `{topic}`; unknown when a value is missing."""
    keys = [key for key in re.findall(r"\{([^{}]+)\}", template) if key != "topic"]

    def sink(config: Config, topic: str) -> str:
        values = {key: config.get(key) for key in keys}
        if not all(values.values()):
            return ""
        text = template.replace("{topic}", topic)
        for key, value in values.items():
            # Of an address only the host is used, as in the datasets of source connectors.
            address = key.endswith((".url", ".uri")) or "://" in value
            text = text.replace(f"{{{key}}}", datasets.host_of(value) if address else value)
        return datasets.formatted(text, topic)

    return sink


def redis(config: Config, _topic: str) -> str:
    host = datasets.host_of(config.get("redis.hosts", "redis.host", "redis.hostname"))
    return f"redis://{host}/{config.get('redis.database', default='0')}" if host else ""
