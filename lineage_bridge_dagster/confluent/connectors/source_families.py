"""The families of source connectors. To add a connector class, add a `Family` to `SOURCES`, or a name to one.

A family's function is one of `sources.py`, given a function from a configuration to its dataset.
"""

from __future__ import annotations

from collections.abc import Callable

from lineage_bridge_dagster.confluent.connectors import datasets, sources
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.family import Family


def _no_dataset(_config: Config) -> str:
    return ""


def _url(scheme: str, *keys: str) -> sources.Source:
    """A source with one topic and the dataset `{scheme}://{value}/{value}...`, by the keys of the values."""

    def dataset(config: Config) -> str:
        parts = [datasets.host_of(v) if "://" in (v := config.get(key)) else v for key in keys]
        return f"{scheme}://{'/'.join(parts)}" if all(parts) else ""

    return sources.single_topic(dataset)


def _salesforce_events(config: Config) -> str:
    host = datasets.host_of(config.get("salesforce.instance", default="https://login.salesforce.com"))
    name = config.get("salesforce.cdc.name", "salesforce.platform.event.name", "salesforce.channel.name")
    return f"salesforce://{host}/{name or 'events'}"


def _no_database(_config: Config) -> list[str]:
    """For connectors whose table lists have qualified names."""
    return [""]


def _mssql_databases(config: Config) -> list[str]:
    return config.items("database.names") or [""]


def _sqs(config: Config) -> str:
    return config.get("sqs.url").partition("?")[0]


def _pubsub(config: Config) -> str:
    return f"pubsub://topic:{config.get('gcp.pubsub.project.id')}:{config.get('gcp.pubsub.topic.id')}"


def _event_hub(config: Config) -> str:
    domain = config.get("azure.eventhubs.domain", default="servicebus.windows.net")
    hub = config.get("azure.eventhubs.hub.name")
    return f"eventhubs://{config.get('azure.eventhubs.namespace')}.{domain}/{hub}"


def _service_bus(config: Config) -> str:
    space, entity = config.get("azure.servicebus.namespace"), config.get("azure.servicebus.entity.name")
    return f"servicebus://{space}.servicebus.windows.net/{entity}"


def _s3(config: Config) -> str:
    return datasets.bucket("s3", config.get("s3.bucket.name"), config.get("topics.dir", default="topics"))


def _gcs(config: Config) -> str:
    return datasets.bucket("gs", config.get("gcs.bucket.name"), config.get("topics.dir", default="topics"))


def _azure_blob(config: Config) -> str:
    host = f"{config.get('azblob.account.name')}.blob.core.windows.net"
    return datasets.bucket("https", host, config.get("azblob.container.name"), config.get("topics.dir"))


def _github(config: Config, resource: str) -> str:
    host = datasets.host_of(config.get("github.service.url", default="https://api.github.com"))
    return f"https://{host}/{'+'.join(config.items('github.repositories'))}/{resource}"


def _entity(url: str) -> Callable[[Config, str], str]:
    def dataset(config: Config, name: str) -> str:
        host = datasets.host_of(config.get(url))
        return f"https://{host}/{name}" if host else ""

    return dataset


def _servicenow_table(config: Config, number: int) -> str:
    return (
        f"servicenow://{datasets.host_of(config.get('servicenow.url'))}/{config.get(f'table{number}.name')}"
    )


def _http_api(config: Config, number: int) -> str:
    base, path = config.get("http.api.base.url"), config.get(f"api{number}.http.api.path")
    return f"https://{datasets.host_of(base)}{path}".partition("?")[0] if base else ""


def _cosmos(endpoint: str, name: str) -> Callable[[Config, str], str]:
    def dataset(config: Config, container: str) -> str:
        return (
            f"azurecosmos://{datasets.host_of(config.get(endpoint))}/dbs/{config.get(name)}/colls/{container}"
        )

    return dataset


_DBZ = "io.debezium.connector."
_JDBC_SOURCE = ("io.confluent.connect.jdbc.JdbcSourceConnector", "io.aiven.connect.jdbc.JdbcSourceConnector")
_HTTP_SOURCE = "io.confluent.connect.http.source.GenericHttpSourceConnector"

SOURCES = (
    Family(
        "datagen",
        ("DatagenSource",),
        ("io.confluent.kafka.connect.datagen.DatagenConnector",),
        sources.single_topic(_no_dataset),
    ),
    Family(
        "debezium-postgres",
        ("PostgresCdcSource", "PostgresCdcSourceV2"),
        (_DBZ + "postgresql.PostgresConnector", _DBZ + "v2.postgresql.PostgresConnectorV2"),
        sources.debezium("postgres", _no_database),
    ),
    Family(
        "debezium-mysql",
        ("MySqlCdcSource", "MySqlCdcSourceV2", "MariaDbCdcSource"),
        (
            _DBZ + "mysql.MySqlConnector",
            _DBZ + "v2.mysql.MySqlConnectorV2",
            _DBZ + "mariadb.MariaDbConnector",
            _DBZ + "v2.mariadb.MariaDbConnector",
        ),
        sources.debezium("mysql", _no_database),
    ),
    Family(
        "debezium-sqlserver",
        ("SqlServerCdcSource", "SqlServerCdcSourceV2"),
        (_DBZ + "sqlserver.SqlServerConnector", _DBZ + "v2.sqlserver.SqlServerConnectorV2"),
        sources.debezium("mssql", _mssql_databases),
    ),
    Family(
        "oracle-xstream",
        ("OracleXStreamSource",),
        ("io.confluent.connect.oracle.xstream.cdc.OracleXStreamSourceConnector",),
        sources.debezium("oracle", _no_database),
    ),
    Family(
        "oracle-cdc",
        ("OracleCdcSource",),
        ("io.confluent.connect.oracle.cdc.OracleCdcSourceConnector",),
        sources.oracle_template,
    ),
    Family("jdbc-postgres", ("PostgresSource",), (), sources.jdbc("postgres")),
    Family("jdbc-mysql", ("MySqlSource",), (), sources.jdbc("mysql")),
    Family("jdbc-sqlserver", ("MicrosoftSqlServerSource",), (), sources.jdbc("mssql")),
    Family("jdbc-oracle", ("OracleDatabaseSource",), (), sources.jdbc("oracle")),
    Family("jdbc-db2", ("IbmDb2Source",), (), sources.jdbc("db2")),
    Family("jdbc", (), _JDBC_SOURCE, sources.jdbc("")),
    Family(
        "snowflake",
        ("SnowflakeSource",),
        ("io.confluent.connect.snowflake.jdbc.SnowflakeSourceConnector",),
        sources.jdbc("snowflake"),
    ),
    Family(
        "mongodb",
        ("MongoDbAtlasSource",),
        ("com.mongodb.kafka.connect.MongoSourceConnector",),
        sources.mongodb,
    ),
    Family(
        "s3", ("S3Source",), ("io.confluent.connect.s3.source.S3SourceConnector",), sources.object_store(_s3)
    ),
    Family(
        "gcs", ("GcsSource",), ("io.confluent.connect.gcs.GcsSourceConnector",), sources.object_store(_gcs)
    ),
    Family(
        "azure-blob",
        ("AzureBlobSource",),
        ("io.confluent.connect.azure.blob.storage.AzureBlobStorageSourceConnector",),
        sources.object_store(_azure_blob),
    ),
    Family(
        "kinesis",
        ("KinesisSource",),
        ("io.confluent.connect.kinesis.KinesisSourceConnector",),
        _url("kinesis", "kinesis.region", "kinesis.stream"),
    ),
    Family(
        "sqs",
        ("SqsSource",),
        ("io.confluent.connect.sqs.source.SqsSourceConnector",),
        sources.single_topic(_sqs),
    ),
    Family(
        "pubsub",
        ("PubSubSource",),
        ("io.confluent.connect.gcp.pubsub.PubSubSourceConnector",),
        sources.single_topic(_pubsub),
    ),
    Family(
        "event-hubs",
        ("AzureEventHubsSource",),
        ("io.confluent.connect.azure.eventhubs.EventHubsSourceConnector",),
        sources.single_topic(_event_hub),
    ),
    Family(
        "service-bus",
        ("AzureServiceBusSource",),
        ("io.confluent.connect.azure.servicebus.ServiceBusSourceConnector",),
        sources.single_topic(_service_bus),
    ),
    Family(
        "mqtt",
        ("MqttSource",),
        ("io.confluent.connect.mqtt.MqttSourceConnector",),
        _url("mqtt", "mqtt.server.uri", "mqtt.topics"),
    ),
    Family(
        "rabbitmq",
        ("RabbitMQSource",),
        ("io.confluent.connect.rabbitmq.RabbitMQSourceConnector",),
        _url("amqp", "rabbitmq.host", "rabbitmq.queue"),
    ),
    Family(
        "activemq",
        ("ActiveMQSource",),
        ("io.confluent.connect.activemq.ActiveMQSourceConnector",),
        _url("activemq", "activemq.url", "jms.destination.name"),
    ),
    Family(
        "ibm-mq",
        ("IbmMQSource",),
        ("io.confluent.connect.ibm.mq.IbmMQSourceConnector",),
        _url("ibmmq", "mq.hostname", "jms.destination.name"),
    ),
    Family(
        "jms",
        ("JMSSource",),
        ("io.confluent.connect.jms.JmsSourceConnector",),
        _url("jms", "java.naming.provider.url", "jms.destination.name"),
    ),
    Family(
        "tibco",
        ("TIBCOSource",),
        ("io.confluent.connect.tibco.TibcoSourceConnector",),
        _url("tibco", "tibco.url", "jms.destination.name"),
    ),
    Family(
        "salesforce",
        ("SalesforceBulkApiSource", "SalesforceBulkApiV2Source", "SalesforcePushTopicSource"),
        (
            "io.confluent.connect.salesforce.SalesforceBulkApiSourceConnector",
            "io.confluent.salesforce.SalesforcePushTopicSourceConnector",
        ),
        _url("salesforce", "salesforce.instance", "salesforce.object"),
    ),
    Family(
        "salesforce-events",
        ("SalesforceCdcSource", "SalesforcePlatformEventSource"),
        (
            "io.confluent.salesforce.SalesforceCdcSourceConnector",
            "io.confluent.salesforce.SalesforcePlatformEventSourceConnector",
        ),
        sources.single_topic(_salesforce_events),
    ),
    Family(
        "servicenow",
        ("ServiceNowSource",),
        ("io.confluent.connect.servicenow.ServiceNowSourceConnector",),
        _url("servicenow", "servicenow.url", "servicenow.table"),
    ),
    Family(
        "servicenow-v2", ("ServiceNowSourceV2",), (), sources.numbered("table{n}.topic", _servicenow_table)
    ),
    Family(
        "zendesk",
        ("ZendeskSource",),
        ("io.confluent.connect.zendesk.ZendeskSourceConnector",),
        sources.patterned("zendesk.tables", _entity("zendesk.url"), "ZD_${entityName}"),
    ),
    Family(
        "jira",
        ("JiraSource",),
        ("io.confluent.connect.jira.JiraSourceConnector",),
        sources.patterned("jira.resources", _entity("jira.url"), "${resourceName}"),
    ),
    Family(
        "github",
        ("GithubSource",),
        ("io.confluent.connect.github.GithubSourceConnector",),
        sources.patterned("github.resources", _github, "${resourceName}"),
    ),
    Family(
        "http-v1",
        ("HttpSource",),
        ("io.confluent.connect.http.HttpSourceConnector",),
        sources.patterned("entity.names", _entity("url"), "${entityName}"),
    ),
    Family(
        "http",
        ("HttpSourceV2", "TwitterSource"),
        (_HTTP_SOURCE,),
        sources.numbered("api{n}.topics", _http_api),
    ),
    Family(
        "sftp",
        ("SftpSource",),
        ("io.confluent.connect.sftp.SftpGenericSourceConnector",),
        _url("sftp", "sftp.host", "input.path"),
    ),
    Family(
        "cosmosdb",
        ("CosmosDbSource",),
        ("com.azure.cosmos.kafka.connect.source.CosmosDBSourceConnector",),
        sources.topic_map(
            "connect.cosmos.containers.topicmap",
            _cosmos("connect.cosmos.connection.endpoint", "connect.cosmos.databasename"),
        ),
    ),
    Family(
        "cosmosdb-v2",
        ("CosmosDbSourceV2",),
        ("com.azure.cosmos.kafka.connect.CosmosSourceConnector",),
        sources.topic_map(
            "azure.cosmos.source.containers.topicMap",
            _cosmos("azure.cosmos.account.endpoint", "azure.cosmos.source.database.name"),
        ),
    ),
    Family(
        "couchbase",
        ("CouchbaseSource",),
        ("com.couchbase.connect.kafka.CouchbaseSourceConnector",),
        sources.topic_map(
            "couchbase.collection.to.topic",
            lambda config, _topic: f"couchbase://{config.get('couchbase.bucket')}",
            separator="=",
        ),
    ),
    Family(
        "redis",
        ("RedisKafkaSource",),
        ("io.confluent.connect.rediskafka.RedisKafkaSourceConnector",),
        _url("redis", "redis.host", "redis.stream.name"),
    ),
    Family(
        "influxdb",
        ("InfluxDB2Source",),
        ("io.confluent.influxdb.v2.source.InfluxDB2SourceConnector",),
        _url("influxdb", "influxdb.url", "influxdb.bucket"),
    ),
    Family(
        "cloudwatch-logs",
        ("CloudWatchLogsSource",),
        ("io.confluent.connect.aws.cloudwatch.AwsCloudWatchSourceConnector",),
        sources.cloudwatch,
    ),
    Family(
        "dynamodb",
        ("DynamoDbCdcSource",),
        ("io.confluent.connect.dynamodb.DynamoDBSourceConnector",),
        sources.dynamodb,
    ),
)
