"""Connectors of Apache Camel: each is made from a kamelet, whose properties name one thing outside Kafka.

Before version 1.0, each was made from a component of Camel, for both directions.

Source: the properties of each connector in apache/camel-kafka-connector.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from lineage_bridge_dagster.config.aws_partitions import domain_of
from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.families.common import KeyedDataset, keyed, per_topic
from lineage_bridge_dagster.confluent.connectors.families.object_stores import s3_object
from lineage_bridge_dagster.confluent.connectors.family import (
    SourceContext,
    WrittenTopic,
    sink_family,
    source_family,
)

#: The table of an SQL or CQL statement.
_TABLE = re.compile(r"\b(?:INTO|FROM|UPDATE)\s+([\w.]+)", re.IGNORECASE)


def _reader(dataset: KeyedDataset) -> Callable[[SourceContext], Iterator[WrittenTopic]]:
    def source(context: SourceContext) -> Iterator[WrittenTopic]:
        for topic in context.config.items("topics") or [""]:
            yield WrittenTopic(topic, dataset(context.config))

    return source


def _table_of(rule: naming.Rule, default_schema: str = "") -> Callable[..., str]:
    def dataset(query: str, **parts: str) -> str:
        found = _TABLE.search(query)
        schema, _, table = (found[1] if found else "").rpartition(".")
        return rule(schema=schema or default_schema, table=table, **parts)

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
    "cassandra_table": _table_of(naming.CASSANDRA),
    "mssql_table": _table_of(naming.MSSQL, "dbo"),
    "mysql_table": _table_of(naming.MYSQL),
    "postgres_table": _table_of(naming.POSTGRES, "public"),
    "gcs_object": _gcs_object,
    "s3_object": s3_object,
    "sqs_queue": _sqs_queue,
}
#: Kamelets with the same properties, the rule of `naming` or of this module that names what they read or
#: write, and the property of each part of it; `=0` is a constant.
_KAMELETS = """
aws-kinesis-source aws-kinesis-sink: KINESIS region=region stream=stream
aws-kinesis-firehose-sink: FIREHOSE region=region stream=streamName
aws-sqs-source aws-sqs-sink: sqs_queue arn=queueNameOrArn
google-pubsub-source: PUBSUB_SUBSCRIPTION project=projectId subscription=subscriptionName
google-pubsub-sink: PUBSUB_TOPIC project=projectId topic=topicName
jms-apache-activemq-source jms-apache-activemq-sink: ACTIVE_MQ host=brokerURL destination=destinationName
jms-ibm-mq-source jms-ibm-mq-sink: IBM_MQ host=serverName port=serverPort destination=destinationName
kafka-source kafka-sink: KAFKA host=bootstrapServers topic=topic
mqtt-source mqtt-sink: MQTT host=brokerUrl topic=topic
nats-source nats-sink: NATS host=servers subject=subject
pulsar-source pulsar-sink: PULSAR host=serviceUrl tenant=tenant namespace=namespaceName topic=topic
aws-ddb-streams-source aws-ddb-sink: DYNAMODB region=region table=table
aws-s3-source: s3_object bucket=bucketNameOrArn path=prefix
aws-s3-sink aws-s3-streaming-upload-sink: s3_object bucket=bucketNameOrArn
ceph-source ceph-sink minio-source minio-sink: s3_object bucket=bucketName
google-storage-source: gcs_object bucket=bucketNameOrArn path=prefix
google-storage-sink: gcs_object bucket=bucketNameOrArn
azure-storage-blob-source azure-storage-blob-sink azure-storage-blob-append-sink:
    AZURE_BLOB account=accountName container=containerName
azure-storage-datalake-source azure-storage-datalake-sink:
    AZURE_DATA_LAKE account=accountName container=fileSystemName
azure-cosmosdb-source azure-cosmosdb-sink:
    COSMOS host=databaseEndpoint database=databaseName container=containerName
cassandra-source cassandra-sink:
    cassandra_table host=connectionHost port=connectionPort keyspace=keyspace query=query
postgresql-sink: postgres_table host=serverName port=serverPort database=databaseName query=query
mysql-sink mariadb-sink: mysql_table host=serverName port=serverPort database=databaseName query=query
sqlserver-sink: mssql_table host=serverName port=serverPort database=databaseName query=query
couchbase-sink: COUCHBASE host=couchbaseHostname bucket=bucket
elasticsearch-search-source elasticsearch-index-sink: ELASTICSEARCH host=hostAddresses index=indexName
opensearch-search-source opensearch-index-sink: OPENSEARCH host=hostAddresses index=indexName
google-bigquery-sink: BIGQUERY project=projectId dataset=dataset table=table
mongodb-changes-stream-source mongodb-source mongodb-sink:
    MONGODB host=hosts database=database collection=collection
redis-source redis-sink: REDIS host=redisHost port=redisPort database==0
ftp-source ftp-sink: FTP host=connectionHost port=connectionPort path=directoryName
ftps-source ftps-sink: FTPS host=connectionHost port=connectionPort path=directoryName
sftp-source sftp-sink: SFTP host=connectionHost port=connectionPort path=directoryName
aws-cloudwatch-sink: CLOUDWATCH_METRICS namespace=cwNamespace
aws-lambda-sink: LAMBDA region=region function=function
splunk-hec-sink: SPLUNK host=splunkUrl index=index
splunk-sink: SPLUNK host=serverHostname index=index
"""
#: The same of components, with the direction if the entry is of one. Their properties stand in the path or
#: the query of an endpoint, or are the component's.
_COMPONENTS = """
aws2-kinesis: KINESIS region=region stream=streamName
aws2-kinesis-firehose Sink: FIREHOSE region=region stream=streamName
aws2-lambda Sink: LAMBDA region=region function=function
aws2-s3: s3_object bucket=bucketNameOrArn
aws2-sqs: sqs_queue arn=queueNameOrArn
arangodb Sink: ARANGODB host=host port=port database=database collection=documentCollection
azure-storage-blob: AZURE_BLOB account=accountName container=containerName
cql: cassandra_table host=hosts port=port keyspace=keyspace query=cql
file: LOCAL_FILE file=directoryName
ftp: FTP host=host port=port path=directoryName
ftps: FTPS host=host port=port path=directoryName
google-pubsub Source: PUBSUB_SUBSCRIPTION project=projectId subscription=destinationName
google-pubsub Sink: PUBSUB_TOPIC project=projectId topic=destinationName
hdfs: HDFS host=hostName port=port path=path
minio: s3_object bucket=bucketName
nats: NATS host=servers subject=topic
rabbitmq: AMQP host=hostname port=portNumber name=exchangeName
sftp: SFTP host=host port=port path=directoryName
"""


def _declare(name: str, direction: str, dataset: str, *places: str) -> None:
    """Declare the family of a kamelet, or of one direction of a component, whose keys start with `places`."""
    rule, *parts = dataset.split()
    keys = {
        part: key.replace("=", "= ") if key.startswith("=") else " | ".join(each + key for each in places)
        for part, _, key in (each.partition("=") for each in parts)
    }
    package = name.replace("-", "")
    java = f"org.apache.camel.kafkaconnector.{package}.Camel{package.capitalize()}{direction}Connector"
    named = keyed(_RULES.get(rule) or getattr(naming, rule), "camel.", **keys)
    if direction == "Sink":
        sink_family(f"camel-{name}", java)(per_topic(named))
    else:
        source_family(f"camel-{name}", java)(_reader(named))


for _entry in re.split(r"\n(?=\S)", _KAMELETS.strip()):
    _names, _dataset = _entry.split(":", maxsplit=1)
    for _name in _names.split():
        _declare(_name, _name.rpartition("-")[2].capitalize(), _dataset, f"kamelet.{_name}.")
for _entry in _COMPONENTS.strip().splitlines():
    _names, _dataset = _entry.split(":", maxsplit=1)
    _name, *_directions = _names.split()
    for _direction in _directions or ("Source", "Sink"):
        _side = _direction.lower()
        _declare(_name, _direction, _dataset, f"{_side}.path.", f"{_side}.endpoint.", f"component.{_name}.")
