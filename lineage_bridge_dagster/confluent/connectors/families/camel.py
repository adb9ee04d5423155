"""Connectors of Apache Camel: each is made from a kamelet, whose properties name one thing outside Kafka.

Source: the properties of each connector in apache/camel-kafka-connector.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

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


def kamelets(names: str, rule: Callable[..., str], /, **parts: str) -> None:
    """Declare the families of connectors that are made from kamelets with the same properties.

    Args:
        names: The kamelets, such as `aws-ddb-sink`, separated by spaces; each ends with the direction.
        rule: Names what they read or write.
        **parts: Parts of the rule, by the property of each as in `keyed`.
    """
    for name in names.split():
        package = name.replace("-", "")
        direction = "Sink" if name.endswith("-sink") else "Source"
        java = f"org.apache.camel.kafkaconnector.{package}.Camel{package.capitalize()}{direction}Connector"
        dataset = keyed(rule, f"camel.kamelet.{name}.", **parts)
        if direction == "Sink":
            sink_family(f"camel-{name}", "", java)(per_topic(dataset))
        else:
            source_family(f"camel-{name}", "", java)(_reader(dataset))


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


# Streams and queues.
kamelets("aws-kinesis-source aws-kinesis-sink", naming.KINESIS, region="region", stream="stream")
kamelets("aws-kinesis-firehose-sink", naming.FIREHOSE, region="region", stream="streamName")
kamelets("aws-sqs-source aws-sqs-sink", _sqs_queue, arn="queueNameOrArn")
kamelets(
    "google-pubsub-source", naming.PUBSUB_SUBSCRIPTION, project="projectId", subscription="subscriptionName"
)
kamelets("google-pubsub-sink", naming.PUBSUB_TOPIC, project="projectId", topic="topicName")
kamelets(
    "jms-apache-activemq-source jms-apache-activemq-sink",
    naming.ACTIVE_MQ,
    host="brokerURL",
    destination="destinationName",
)
kamelets(
    "jms-ibm-mq-source jms-ibm-mq-sink",
    naming.IBM_MQ,
    host="serverName",
    port="serverPort",
    destination="destinationName",
)
kamelets("kafka-source kafka-sink", naming.KAFKA, host="bootstrapServers", topic="topic")
kamelets("mqtt-source mqtt-sink", naming.MQTT, host="brokerUrl", topic="topic")
kamelets("nats-source nats-sink", naming.NATS, host="servers", subject="subject")
kamelets(
    "pulsar-source pulsar-sink",
    naming.PULSAR,
    host="serviceUrl",
    tenant="tenant",
    namespace="namespaceName",
    topic="topic",
)

# Stores.
kamelets("aws-ddb-streams-source aws-ddb-sink", naming.DYNAMODB, region="region", table="table")
kamelets("aws-s3-source", s3_object, bucket="bucketNameOrArn", path="prefix")
kamelets("aws-s3-sink aws-s3-streaming-upload-sink", s3_object, bucket="bucketNameOrArn")
kamelets("ceph-source ceph-sink minio-source minio-sink", s3_object, bucket="bucketName")
kamelets("google-storage-source", _gcs_object, bucket="bucketNameOrArn", path="prefix")
kamelets("google-storage-sink", _gcs_object, bucket="bucketNameOrArn")
kamelets(
    "azure-storage-blob-source azure-storage-blob-sink azure-storage-blob-append-sink",
    naming.AZURE_BLOB,
    account="accountName",
    container="containerName",
)
kamelets(
    "azure-storage-datalake-source azure-storage-datalake-sink",
    naming.AZURE_DATA_LAKE,
    account="accountName",
    container="fileSystemName",
)
kamelets(
    "azure-cosmosdb-source azure-cosmosdb-sink",
    naming.COSMOS,
    host="databaseEndpoint",
    database="databaseName",
    container="containerName",
)
kamelets(
    "cassandra-source cassandra-sink",
    _table_of(naming.CASSANDRA),
    host="connectionHost",
    port="connectionPort",
    keyspace="keyspace",
    query="query",
)
for _name, _rule, _schema in (
    ("postgresql", naming.POSTGRES, "public"),
    ("mysql", naming.MYSQL, ""),
    ("mariadb", naming.MYSQL, ""),
    ("sqlserver", naming.MSSQL, "dbo"),
):
    kamelets(
        f"{_name}-sink",
        _table_of(_rule, _schema),
        host="serverName",
        port="serverPort",
        database="databaseName",
        query="query",
    )
kamelets("couchbase-sink", naming.COUCHBASE, host="couchbaseHostname", bucket="bucket")
kamelets(
    "elasticsearch-search-source elasticsearch-index-sink",
    naming.ELASTICSEARCH,
    host="hostAddresses",
    index="indexName",
)
kamelets(
    "opensearch-search-source opensearch-index-sink",
    naming.OPENSEARCH,
    host="hostAddresses",
    index="indexName",
)
kamelets("google-bigquery-sink", naming.BIGQUERY, project="projectId", dataset="dataset", table="table")
kamelets(
    "mongodb-changes-stream-source mongodb-source mongodb-sink",
    naming.MONGODB,
    host="hosts",
    database="database",
    collection="collection",
)
kamelets("redis-source redis-sink", naming.REDIS, host="redisHost", port="redisPort", database="= 0")

# Files, logs, metrics and functions.
for _name, _rule in {"ftp": naming.FTP, "ftps": naming.FTPS, "sftp": naming.SFTP}.items():
    kamelets(
        f"{_name}-source {_name}-sink",
        _rule,
        host="connectionHost",
        port="connectionPort",
        path="directoryName",
    )
kamelets("aws-cloudwatch-sink", naming.CLOUDWATCH_METRICS, namespace="cwNamespace")
kamelets("aws-lambda-sink", naming.LAMBDA, region="region", function="function")
kamelets("splunk-hec-sink", naming.SPLUNK, host="splunkUrl", index="index")
kamelets("splunk-sink", naming.SPLUNK, host="serverHostname", index="index")
