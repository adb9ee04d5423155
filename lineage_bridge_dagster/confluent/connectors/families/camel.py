"""Connectors of Apache Camel: each is made from a kamelet, whose properties name one thing outside Kafka.

Source: the properties of each connector in apache/camel-kafka-connector.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.object_stores import bucket_of
from lineage_bridge_dagster.confluent.connectors.family import Family, SinkContext, SourceContext, Written
from lineage_bridge_dagster.confluent.connectors.naming import Rule

#: The table of a CQL statement.
_TABLE = re.compile(r"\b(?:INTO|FROM|UPDATE)\s+([\w.]+)", re.IGNORECASE)


def kamelet(name: str, rule: Rule, fixed: dict[str, str] | None = None, /, **parts: str) -> Family:
    """The family of the connector made from a kamelet.

    Args:
        name: The kamelet's, such as `aws-ddb-sink`; it ends with the direction.
        rule: Names what it reads or writes.
        fixed: Parts of the rule that no property tells.
        parts: Parts of the rule, by the property of each.
    """

    def dataset(config: Config) -> str:
        given = {part: config.get(f"camel.kamelet.{name}.{key}") for part, key in parts.items()}
        if "bucket" in given:
            given["bucket"] = bucket_of(given["bucket"])
        if "table" in given and parts["table"] == "query":
            found = _TABLE.search(given["table"])
            given["table"] = found[1].rpartition(".")[2] if found else ""
        return rule(**(fixed or {}), **given)

    return _family(name, dataset)


def _family(name: str, dataset: Callable[[Config], str]) -> Family:
    package = name.replace("-", "")
    direction = "Sink" if name.endswith("-sink") else "Source"
    java = f"org.apache.camel.kafkaconnector.{package}.Camel{package.capitalize()}{direction}Connector"

    def source(context: SourceContext) -> Iterator[Written]:
        for topic in context.config.items("topics") or [""]:
            yield Written(topic, dataset(context.config))

    def sink(context: SinkContext, _topic: str) -> str:
        return dataset(context.config)

    if direction == "Source":
        return Family(f"camel-{name}", (), (java,), source)
    return Family(f"camel-{name}", (), (java,), sink=sink)


_MONGODB = {"host": "hosts", "database": "database", "collection": "collection"}
_CASSANDRA = {"host": "connectionHost", "port": "connectionPort", "keyspace": "keyspace", "table": "query"}
_COSMOS = {"host": "databaseEndpoint", "database": "databaseName", "container": "containerName"}
_INDEX = {"host": "hostAddresses", "index": "indexName"}
_REDIS = {"host": "redisHost", "port": "redisPort"}
_FIRST = {"database": "0"}
_BLOB = {"account": "accountName", "container": "containerName"}
_DATA_LAKE = {"account": "accountName", "container": "fileSystemName"}
_FTP = {"host": "connectionHost", "port": "connectionPort", "path": "directoryName"}
_KAFKA = {"host": "bootstrapServers", "topic": "topic"}
_S3 = {"bucket": "bucketNameOrArn"}
_ACTIVE_MQ = {"host": "brokerURL", "destination": "destinationName"}
_IBM_MQ = {"host": "serverName", "port": "serverPort", "destination": "destinationName"}
_KINESIS = {"region": "region", "stream": "stream"}
_MQTT = {"host": "brokerUrl", "topic": "topic"}
_NATS = {"host": "servers", "subject": "subject"}
_PULSAR = {"host": "serviceUrl", "tenant": "tenant", "namespace": "namespaceName", "topic": "topic"}


def _sqs(name: str) -> Family:
    """A queue by its name or its ARN, `arn:aws:sqs:{region}:{account}:{queue}`."""

    def dataset(config: Config) -> str:
        arn = config.get(f"camel.kamelet.{name}.queueNameOrArn").split(":")
        if len(arn) != 6:
            # The account is part of a queue's address.
            return ""
        return naming.SQS(region=arn[3], account=arn[4], queue=arn[5])

    return _family(name, dataset)


SOURCES = (
    kamelet("aws-kinesis-source", naming.KINESIS, **_KINESIS),
    _sqs("aws-sqs-source"),
    kamelet(
        "google-pubsub-source",
        naming.PUBSUB_SUBSCRIPTION,
        project="projectId",
        subscription="subscriptionName",
    ),
    kamelet("jms-apache-activemq-source", naming.ACTIVE_MQ, **_ACTIVE_MQ),
    kamelet("jms-ibm-mq-source", naming.IBM_MQ, **_IBM_MQ),
    kamelet("mqtt-source", naming.MQTT, **_MQTT),
    kamelet("nats-source", naming.NATS, **_NATS),
    kamelet("pulsar-source", naming.PULSAR, **_PULSAR),
    kamelet("aws-ddb-streams-source", naming.DYNAMODB, region="region", table="table"),
    kamelet("aws-s3-source", naming.S3, **_S3, path="prefix"),
    kamelet("azure-cosmosdb-source", naming.COSMOS, **_COSMOS),
    kamelet("azure-storage-blob-source", naming.AZURE_BLOB, **_BLOB),
    kamelet("azure-storage-datalake-source", naming.AZURE_DATA_LAKE, **_DATA_LAKE),
    kamelet("cassandra-source", naming.CASSANDRA, **_CASSANDRA),
    kamelet("ceph-source", naming.S3, bucket="bucketName"),
    kamelet("elasticsearch-search-source", naming.ELASTICSEARCH, **_INDEX),
    kamelet("ftp-source", naming.FTP, **_FTP),
    kamelet("ftps-source", naming.FTPS, **_FTP),
    kamelet("google-storage-source", naming.GCS, **_S3, path="prefix"),
    kamelet("kafka-source", naming.KAFKA, **_KAFKA),
    kamelet("minio-source", naming.S3, bucket="bucketName"),
    kamelet("mongodb-changes-stream-source", naming.MONGODB, **_MONGODB),
    kamelet("mongodb-source", naming.MONGODB, **_MONGODB),
    kamelet("opensearch-search-source", naming.OPENSEARCH, **_INDEX),
    kamelet("redis-source", naming.REDIS, _FIRST, **_REDIS),
    kamelet("sftp-source", naming.SFTP, **_FTP),
)


SINKS = (
    kamelet("aws-kinesis-firehose-sink", naming.FIREHOSE, region="region", stream="streamName"),
    kamelet("aws-kinesis-sink", naming.KINESIS, **_KINESIS),
    kamelet("aws-lambda-sink", naming.LAMBDA, region="region", function="function"),
    _sqs("aws-sqs-sink"),
    kamelet("google-pubsub-sink", naming.PUBSUB_TOPIC, project="projectId", topic="topicName"),
    kamelet("jms-apache-activemq-sink", naming.ACTIVE_MQ, **_ACTIVE_MQ),
    kamelet("jms-ibm-mq-sink", naming.IBM_MQ, **_IBM_MQ),
    kamelet("mqtt-sink", naming.MQTT, **_MQTT),
    kamelet("nats-sink", naming.NATS, **_NATS),
    kamelet("pulsar-sink", naming.PULSAR, **_PULSAR),
    kamelet("aws-cloudwatch-sink", naming.CLOUDWATCH_METRICS, namespace="cwNamespace"),
    kamelet("aws-ddb-sink", naming.DYNAMODB, region="region", table="table"),
    kamelet("aws-s3-sink", naming.S3, **_S3),
    kamelet("aws-s3-streaming-upload-sink", naming.S3, **_S3),
    kamelet("azure-cosmosdb-sink", naming.COSMOS, **_COSMOS),
    kamelet("azure-storage-blob-append-sink", naming.AZURE_BLOB, **_BLOB),
    kamelet("azure-storage-blob-sink", naming.AZURE_BLOB, **_BLOB),
    kamelet("azure-storage-datalake-sink", naming.AZURE_DATA_LAKE, **_DATA_LAKE),
    kamelet("cassandra-sink", naming.CASSANDRA, **_CASSANDRA),
    kamelet("ceph-sink", naming.S3, bucket="bucketName"),
    kamelet("couchbase-sink", naming.COUCHBASE, host="couchbaseHostname", bucket="bucket"),
    kamelet("elasticsearch-index-sink", naming.ELASTICSEARCH, **_INDEX),
    kamelet("ftp-sink", naming.FTP, **_FTP),
    kamelet("ftps-sink", naming.FTPS, **_FTP),
    kamelet("google-bigquery-sink", naming.BIGQUERY, project="projectId", dataset="dataset", table="table"),
    kamelet("google-storage-sink", naming.GCS, **_S3),
    kamelet("kafka-sink", naming.KAFKA, **_KAFKA),
    kamelet("minio-sink", naming.S3, bucket="bucketName"),
    kamelet("mongodb-sink", naming.MONGODB, **_MONGODB),
    kamelet("opensearch-index-sink", naming.OPENSEARCH, **_INDEX),
    kamelet("redis-sink", naming.REDIS, _FIRST, **_REDIS),
    kamelet("sftp-sink", naming.SFTP, **_FTP),
    kamelet("splunk-hec-sink", naming.SPLUNK, host="splunkUrl", index="index"),
    kamelet("splunk-sink", naming.SPLUNK, host="serverHostname", index="index"),
)
