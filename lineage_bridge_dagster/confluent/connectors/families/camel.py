"""Connectors of Apache Camel: each is made from a kamelet, whose properties name one thing outside Kafka.

Before version 1.0, each was made from a component of Camel, for both directions.

Source: the properties of each connector in apache/camel-kafka-connector.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import parse_qsl

from lineage_bridge_dagster.config.aws_partitions import domain_of
from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import (
    KeyedDataset,
    key_values,
    keyed,
    per_topic,
)
from lineage_bridge_dagster.confluent.connectors.families.http import api_url
from lineage_bridge_dagster.confluent.connectors.families.jdbc import query_flows
from lineage_bridge_dagster.confluent.connectors.families.messaging import (
    event_hub,
    mqtt_topic,
    service_bus_entity,
)
from lineage_bridge_dagster.confluent.connectors.families.object_stores import s3_object
from lineage_bridge_dagster.confluent.connectors.family import (
    SourceContext,
    WrittenTopic,
    sink_family,
    source_family,
)
from lineage_bridge_dagster.confluent.connectors.relational import Database, database_of, name_parts

#: The table of an SQL or CQL statement, or the object of one of Salesforce.
_TABLE = re.compile(r"\b(?:INTO|FROM|UPDATE)\s+([^\s(),;]+)", re.IGNORECASE)

#: `user@` or `user:password@`, in front of an address.
_USER = re.compile(r"^[^/]*@")


def _reader(dataset: KeyedDataset) -> Callable[[SourceContext], Iterator[WrittenTopic]]:
    def source(context: SourceContext) -> Iterator[WrittenTopic]:
        for topic in context.config.items("topics") or [""]:
            yield WrittenTopic(topic, dataset(context.config))

    return source


def _queried(rule: naming.Rule, part: str, within: str = "") -> Callable[..., str]:
    """A rule, one part of which is the table of a query, and another what the table's name starts with."""

    def dataset(query: str, **parts: str) -> str:
        found = _TABLE.search(query)
        before, _, name = (found[1] if found else "").rpartition(".")
        return rule(**{**parts, part: name, **({within: before} if within and before else {})})

    return dataset


def _gcs_object(bucket: str, path: str = "") -> str:
    return naming.GCS(bucket=bucket.rpartition(":::")[2], path=path)


def _sqs_queue(arn: str) -> str:
    """A queue by its ARN, `arn:aws:sqs:{region}:{account}:{queue}`; its name lacks the account."""
    parts = arn.split(":")
    if len(parts) != 6:
        return ""
    return naming.SQS(region=parts[3], domain=domain_of(parts[3]), account=parts[4], queue=parts[5])


_RULES: Mapping[str, Callable[..., str]] = {
    "api_url": api_url,
    "cassandra_table": _queried(naming.CASSANDRA, "table", "keyspace"),
    "event_hub": event_hub,
    "gcs_object": _gcs_object,
    "mqtt_topic": mqtt_topic,
    "s3_object": s3_object,
    "salesforce_object": _queried(naming.SALESFORCE, "object"),
    "service_bus_entity": service_bus_entity,
    "sqs_queue": _sqs_queue,
}
#: Kamelets with the same properties, the rule of `naming` or of this module that names what they read or
#: write, and the property of each part of it; `=0` is a constant.
_KAMELETS = """
aws-kinesis-source aws-kinesis-sink: KINESIS region=region stream=stream
aws-kinesis-firehose-sink: FIREHOSE region=region stream=streamName
aws-sqs-source aws-sqs-sink aws-sqs-fifo-sink aws-sqs-batch-sink: sqs_queue arn=queueNameOrArn
google-pubsub-source: PUBSUB_SUBSCRIPTION project=projectId subscription=subscriptionName
google-pubsub-sink: PUBSUB_TOPIC project=projectId topic=topicName
azure-eventhubs-source azure-eventhubs-sink:
    event_hub namespace=namespaceName domain==servicebus.windows.net hub=eventhubName
azure-servicebus-source azure-servicebus-sink:
    service_bus_entity connection=connectionString entity=topicOrQueueName
jms-apache-activemq-source jms-apache-activemq-sink jms-apache-artemis-source jms-apache-artemis-sink
    jms-pooled-apache-artemis-source jms-pooled-apache-artemis-sink:
    ACTIVE_MQ host=brokerURL destination=destinationName
jms-amqp-10-source jms-amqp-10-sink: JMS host=remoteURI destination=destinationName
jms-ibm-mq-source jms-ibm-mq-sink: IBM_MQ host=serverName port=serverPort destination=destinationName
kafka-source kafka-sink kafka-batch-source kafka-not-secured-source kafka-not-secured-sink
    kafka-scram-source kafka-scram-sink kafka-ssl-source kafka-ssl-sink
    kafka-apicurio-registry-not-secured-source kafka-apicurio-registry-not-secured-sink
    kafka-azure-schema-registry-source kafka-azure-schema-registry-sink
    kafka-batch-apicurio-registry-not-secured-source kafka-batch-apicurio-registry-source
    kafka-batch-azure-schema-registry-source kafka-not-secured-apicurio-registry-json-source
    kafka-not-secured-apicurio-registry-source kafka-not-secured-apicurio-registry-sink:
    KAFKA host=bootstrapServers topic=topic
mqtt-source mqtt-sink mqtt5-source mqtt5-sink: mqtt_topic address=brokerUrl topic=topic
nats-source nats-sink: NATS host=servers subject=subject
pulsar-source pulsar-sink: PULSAR host=serviceUrl tenant=tenant namespace=namespaceName topic=topic
spring-rabbitmq-source: AMQP host=host port=port virtual_host=vhost name=queues
spring-rabbitmq-sink: AMQP host=host port=port virtual_host=vhost name=exchangeName
aws-ddb-streams-source aws-ddb-sink: DYNAMODB region=region table=table
aws-s3-source: s3_object bucket=bucketNameOrArn path=prefix
aws-s3-sink aws-s3-streaming-upload-sink: s3_object bucket=bucketNameOrArn
ceph-source ceph-sink minio-source minio-sink ibm-cos-sink: s3_object bucket=bucketName
ibm-cos-source: s3_object bucket=bucketName path=prefix
google-storage-source: gcs_object bucket=bucketNameOrArn path=prefix
google-storage-event-based-source google-storage-sink: gcs_object bucket=bucketNameOrArn
azure-storage-blob-source azure-storage-blob-changefeed-source azure-storage-blob-event-based-source
    azure-storage-blob-sink azure-storage-blob-append-sink:
    AZURE_BLOB account=accountName container=containerName
azure-storage-datalake-source azure-storage-datalake-sink:
    AZURE_DATA_LAKE account=accountName container=fileSystemName
azure-cosmosdb-source azure-cosmosdb-sink:
    COSMOS host=databaseEndpoint database=databaseName container=containerName
cassandra-source cassandra-sink:
    cassandra_table host=connectionHost port=connectionPort keyspace=keyspace query=query
couchbase-sink: COUCHBASE host=couchbaseHostname bucket=bucket
elasticsearch-search-source elasticsearch-index-sink: ELASTICSEARCH host=hostAddresses index=indexName
opensearch-search-source opensearch-index-sink: OPENSEARCH host=hostAddresses index=indexName
solr-source solr-sink: SOLR host=servers collection=collection
google-bigquery-sink: BIGQUERY project=projectId dataset=dataset table=table
mongodb-changes-stream-source mongodb-source mongodb-sink:
    MONGODB host=hosts database=database collection=collection
redis-source redis-sink: REDIS host=redisHost port=redisPort database==0
ftp-source ftp-sink: FTP host=connectionHost port=connectionPort path=directoryName
ftps-source ftps-sink: FTPS host=connectionHost port=connectionPort path=directoryName
sftp-source sftp-sink: SFTP host=connectionHost port=connectionPort path=directoryName
file-watch-source: LOCAL_FILE file=filePath
http-source http-sink http-secured-source http-secured-sink azure-functions-sink: api_url base=url
salesforce-source: salesforce_object host=loginUrl query=query
salesforce-create-sink salesforce-composite-upsert-sink: SALESFORCE host=loginUrl object=sObjectName
aws-cloudwatch-sink: CLOUDWATCH_METRICS namespace=cwNamespace
aws-lambda-sink: LAMBDA region=region function=function
google-functions-sink: CLOUD_FUNCTIONS project=projectId function=functionName
splunk-hec-sink: SPLUNK host=splunkUrl index=index
splunk-source splunk-sink: SPLUNK host=serverHostname index=index
"""
#: Kamelets of databases, `{name}-source` and `{name}-sink`; `=kind` is that of a JDBC URL, if it differs.
_DATABASES = """
postgresql mysql mariadb sqlserver snowflake databricks oracle-database=oracle aws-redshift=redshift
"""
_CONNECTION = {
    "connection.host": "serverName | serverHostname | instanceUrl",
    "connection.port": "serverPort",
    "connection.user": "username",
    "db.name": "databaseName",
}
#: The same of components, with the path of their endpoints' URLs, and the direction if the entry is of one.
#: Their properties stand in the path or the query of an endpoint, or are the component's.
_COMPONENTS = """
amqp destinationType:destinationName: JMS host=connectionFactory.remoteURI destination=destinationName
aws-s3 bucketNameOrArn: s3_object bucket=bucketNameOrArn
aws-sqs queueNameOrArn: sqs_queue arn=queueNameOrArn
aws2-kinesis streamName: KINESIS region=region stream=streamName
aws2-kinesis-firehose streamName Sink: FIREHOSE region=region stream=streamName
aws2-lambda function Sink: LAMBDA region=region function=function
aws2-s3 bucketNameOrArn: s3_object bucket=bucketNameOrArn
aws2-sqs queueNameOrArn: sqs_queue arn=queueNameOrArn
arangodb database Sink: ARANGODB host=host port=port database=database collection=documentCollection
azure-storage-blob accountName/containerName: AZURE_BLOB account=accountName container=containerName
cql hosts:port/keyspace: cassandra_table host=hosts port=port keyspace=keyspace query=cql
elasticsearch-rest clusterName Sink: ELASTICSEARCH host=hostAddresses index=indexName
file directoryName: LOCAL_FILE file=directoryName
filewatch path Source: LOCAL_FILE file=path
ftp host:port/directoryName: FTP host=host port=port path=directoryName
ftps host:port/directoryName: FTPS host=host port=port path=directoryName
google-pubsub projectId:destinationName Source:
    PUBSUB_SUBSCRIPTION project=projectId subscription=destinationName
google-pubsub projectId:destinationName Sink: PUBSUB_TOPIC project=projectId topic=destinationName
hdfs hostName:port/path: HDFS host=hostName port=port path=path
minio bucketName: s3_object bucket=bucketName
nats topic: NATS host=servers subject=topic
rabbitmq exchangeName: AMQP host=hostname port=portNumber name=exchangeName
sjms2 destinationType:destinationName:
    ACTIVE_MQ host=connection-factory.brokerURL destination=destinationName
sftp host:port/directoryName: SFTP host=host port=port path=directoryName
"""


def _class(name: str, direction: str) -> str:
    package = name.replace("-", "")
    return f"org.apache.camel.kafkaconnector.{package}.Camel{package.capitalize()}{direction}Connector"


def _dataset(dataset: str, *places: str) -> KeyedDataset:
    """What an entry names, by keys that start with `places`."""
    rule, *parts = dataset.split()
    keys = {
        part: key.replace("=", "= ") if key.startswith("=") else " | ".join(each + key for each in places)
        for part, _, key in (each.partition("=") for each in parts)
    }
    return keyed(_RULES.get(rule) or getattr(naming, rule), "camel.", **keys)


def _declare(name: str, direction: str, named: KeyedDataset) -> None:
    if direction == "Sink":
        sink_family(f"camel-{name}", _class(name, direction))(per_topic(named))
    else:
        source_family(f"camel-{name}", _class(name, direction))(_reader(named))


def _declare_database(name: str, kind: str) -> None:
    """Declare the source and the sink of a database, whose tables are in a query."""

    def database(config: Config, place: str) -> Database | None:
        values = key_values(place, **_CONNECTION)(config, "")
        return database_of(config.with_values(**values), kind)

    def source(context: SourceContext) -> Iterator[WrittenTopic]:
        config, place = context.config, f"camel.kamelet.{name}-source."
        for topic in config.items("topics"):
            yield from query_flows(context, database(config, place), config.get(f"{place}query"), topic)

    def target(config: Config) -> str:
        place = f"camel.kamelet.{name}-sink."
        found, reached = _TABLE.search(config.get(f"{place}query")), database(config, place)
        return reached.table(*reached.folded(name_parts(found[1]))) if found and reached else ""

    source_family(f"camel-{name}-source", _class(f"{name}-source", "Source"))(source)
    sink_family(f"camel-{name}-sink", _class(f"{name}-sink", "Sink"))(per_topic(target))


def _by_url(named: KeyedDataset, side: str, syntax: str) -> KeyedDataset:
    """A component's dataset, whose properties may also be in `camel.{side}.url`.

    Args:
        side: `source` or `sink`.
        syntax: The path of the URL, such as `host:port/directoryName`; only its first part must be there.
    """
    first, *rest = re.findall(r"(\W?)(\w+)", syntax)
    parts = [f"(?P<{first[1]}>[^/:]*)", *(f"(?:{sign}(?P<{name}>[^/:]*))?" for sign, name in rest)]
    path = re.compile("".join([*parts[:-1], parts[-1].replace("[^/:]", ".")]), re.DOTALL)

    def dataset(config: Config, name: str = "", /) -> str:
        address, _, query = config.get(f"camel.{side}.url").partition(":")[2].partition("?")
        if match := path.fullmatch(_USER.sub("", address.removeprefix("//"))):
            found = {f"{side}.path.{key}": value for key, value in match.groupdict("").items() if value}
            found |= {f"{side}.endpoint.{key}": value for key, value in parse_qsl(query)}
            config = config.with_values(**{f"camel.{key}": value for key, value in found.items()})
        return named(config, name)

    return dataset


for _entry in re.split(r"\n(?=\S)", _KAMELETS.strip()):
    _names, _what = _entry.split(":", maxsplit=1)
    for _name in _names.split():
        _declare(_name, _name.rpartition("-")[2].capitalize(), _dataset(_what, f"kamelet.{_name}."))
for _entry in _DATABASES.split():
    _name, _, _kind = _entry.partition("=")
    _declare_database(_name, _kind or _name)
for _entry in re.split(r"\n(?=\S)", _COMPONENTS.strip()):
    _names, _what = re.split(r":\s", _entry, maxsplit=1)
    _name, _syntax, *_directions = _names.split()
    for _direction in _directions or ("Source", "Sink"):
        _side = _direction.lower()
        _places = (f"{_side}.path.", f"{_side}.endpoint.", f"component.{_name}.")
        _declare(_name, _direction, _by_url(_dataset(_what, *_places), _side, _syntax))
