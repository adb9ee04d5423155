"""Object stores and HDFS, by the connectors of Confluent, Aiven and Lenses.

Confluent's have objects at `{topics.dir}/{topic}/{partition}/...`. A source of theirs takes the topics of its
`topic.regex.list`, or those that a sink's backup has as folders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.addresses import host_and_port
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import KeyedDataset, keyed, topic_of
from lineage_bridge_dagster.confluent.connectors.families.declared import declare
from lineage_bridge_dagster.confluent.connectors.family import (
    Sink,
    SinkContext,
    Source,
    SourceContext,
    WrittenTopic,
    sink_family,
    source_family,
)
from lineage_bridge_dagster.confluent.connectors.java_regex import matched_groups
from lineage_bridge_dagster.confluent.connectors.naming import Rule


def s3_object(bucket: str, path: str = "") -> str:
    """Objects of a bucket, which may be given as an ARN (`arn:aws:s3:::bucket`)."""
    return naming.S3(bucket=bucket.rpartition(":::")[2], path=path)


def _data_lake_2(account: str, container: str, path: str) -> str:
    """The file system (container) is the first folder of `topics.dir`, unless a setting names it."""
    if not container:
        container, _, path = path.partition("/")
    return naming.AZURE_DATA_LAKE(account=account, container=container, path=path)


# The objects below a path.
_S3 = keyed(s3_object, bucket="s3.bucket.name | s3.bucket", path="= ${topic}")
gcs = keyed(naming.GCS, bucket="gcs.bucket.name", path="= ${topic}")
_AZURE_BLOB = keyed(
    naming.AZURE_BLOB, "azblob.", account="account.name", container="container.name", path="= ${topic}"
)
_DATA_LAKE_1 = keyed(naming.AZURE_DATA_LAKE_1, account="azure.datalake.gen1.account.name", path="= ${topic}")
_DATA_LAKE_2 = keyed(
    _data_lake_2,
    "azure.datalake.gen2.",
    account="account.name",
    container="container.name | container",
    path="= ${topic}",
)
#: The cluster's file system need not be HDFS.
_HDFS = keyed(lambda url, path: naming.location(url, path), url="hdfs.url | store.url", path="= ${topic}")
_DATAPROC = keyed(naming.DATAPROC, "gcp.dataproc.", project="projectId", cluster="cluster", path="= ${topic}")


def _topics_dir(config: Config) -> str:
    return config.given("topics.dir", "topics")


def _captured(config: Config, topic: str) -> str:
    """`topics.dir` with `${n}` replaced by the groups of `topic.capture.groups.regex`."""
    folder, pattern = _topics_dir(config), config.get("topic.capture.groups.regex")
    groups = matched_groups(pattern, topic) if pattern else None
    if groups is None:
        return folder
    return re.sub(
        r"\$\{(\d{1,3})\}", lambda found: groups[n] if (n := int(found[1])) < len(groups) else "", folder
    )


def writer(store: KeyedDataset) -> Sink:
    """A folder for each topic."""

    def sink(context: SinkContext, topic: str) -> str:
        return store(context.config, naming.path(_captured(context.config, topic), topic))

    return sink


def reader(store: KeyedDataset) -> Source:
    """Topics of `topic.regex.list`: `topic:regex,...`, where the expressions match object keys."""

    def source(context: SourceContext) -> Iterator[WrittenTopic]:
        dataset = store(context.config, naming.path(_topics_dir(context.config)))
        topics = context.config.pairs("topic.regex.list")
        if not topics:
            context.warnings.append(
                "topic.regex.list is not set: it restores the topics of a backup, which are not known"
            )
        for topic in topics or [""]:
            yield WrittenTopic(topic, dataset)

    return source


source_family("s3", "S3Source", "confluent:s3.source.S3SourceConnector")(reader(_S3))
source_family("gcs", "GcsSource", "confluent:gcs.GcsSourceConnector")(reader(gcs))
source_family(
    "azure-blob", "AzureBlobSource", "confluent:azure.blob.storage.AzureBlobStorageSourceConnector"
)(reader(_AZURE_BLOB))
source_family("hdfs", "confluent:hdfs2.Hdfs2SourceConnector", "confluent:hdfs3.Hdfs3SourceConnector")(
    reader(_HDFS)
)

sink_family("s3", "S3_SINK S3Sink", "confluent:s3.S3SinkConnector")(writer(_S3))
sink_family("gcs", "GcsSink", "confluent:gcs.GcsSinkConnector")(writer(gcs))
sink_family("azure-blob", "AzureBlobSink", "confluent:azure.blob.AzureBlobStorageSinkConnector")(
    writer(_AZURE_BLOB)
)
sink_family(
    "azure-data-lake-1",
    "confluent:azure.datalake.gen1.AzureDataLakeGen1StorageSinkConnector",
    "confluent:azure.datalake.gen1.AzureDataLakeGen1SinkConnector",
)(writer(_DATA_LAKE_1))
sink_family(
    "azure-data-lake", "AzureDataLakeGen2Sink", "confluent:azure.datalake.gen2.AzureDataLakeGen2SinkConnector"
)(writer(_DATA_LAKE_2))
sink_family("hdfs", "confluent:hdfs.HdfsSinkConnector", "confluent:hdfs3.Hdfs3SinkConnector")(writer(_HDFS))
sink_family("dataproc", "DataprocSink", "confluent:gcp.dataproc.DataprocSinkConnector")(writer(_DATAPROC))

_TOPIC = re.compile(r"\{\{\s*topic\s*\}\}")
_VARIABLE = re.compile(r"\{\{|\$\{")
_ACCOUNT = re.compile(r"(?:^|;)\s*AccountName=([^;]+)", re.IGNORECASE)
_AIVEN_NAME = "{{topic}}-{{partition}}-{{start_offset}}"


def folder_of(template: str, topic: str = "") -> str:
    """The folder of an object's name whose `{{variables}}` are not known, except the topic."""
    fixed = _VARIABLE.split(_TOPIC.sub(lambda _match: topic or "{{", template), maxsplit=1)[0]
    return naming.path(fixed.rpartition("/")[0])


def _aiven_blob(connection: str, account: str, container: str, path: str) -> str:
    """An Azure container, whose account is in the connection string unless that is masked."""
    match = _ACCOUNT.search(connection)
    return naming.AZURE_BLOB(account=match[1] if match else account, container=container, path=path)


_AIVEN_S3 = keyed(s3_object, bucket="aws.s3.bucket.name | aws_s3_bucket", path="= ${topic}")
_AIVEN_BLOB = keyed(
    _aiven_blob,
    "azure.storage.",
    connection="connection.string",
    account="account.name",
    container="container.name",
    path="= ${topic}",
)


def _aiven_prefix(config: Config) -> str:
    return config.get("file.name.prefix", "aws.s3.prefix", "aws_s3_prefix", "azure.blob.prefix")


def _aiven_sink(store: KeyedDataset) -> Sink:
    """The folder of a topic's objects, by `file.name.prefix` and `file.name.template`."""

    def sink(context: SinkContext, topic: str) -> str:
        config = context.config
        template = config.get("file.name.template", default=_AIVEN_NAME)
        return store(config, folder_of(_aiven_prefix(config) + template, topic))

    return sink


def _aiven_source(store: KeyedDataset) -> Source:
    """The objects under a prefix."""
    return topic_of(lambda config: store(config, _aiven_prefix(config)), "topic", "topics")


def _lenses(place: str, rule: Rule) -> str:
    """Objects by `bucket[:prefix]`, as in the other stores."""
    bucket, _, prefix = place.partition(":")
    return rule(bucket=bucket, path=prefix)


def _lenses_data_lake(config: Config, place: str = "", /) -> str:
    container, _, prefix = place.partition(":")
    match = _ACCOUNT.search(config.get("connect.datalake.azure.connection.string"))
    host = host_and_port(config.get("connect.datalake.endpoint"))[0]
    account = config.get("connect.datalake.azure.account.name") or (match[1] if match else "")
    account = account or host.partition(".")[0]
    return naming.AZURE_DATA_LAKE(account=account, container=container, path=prefix)


source_family("aiven-s3", "io.aiven.kafka.connect.s3.source.S3SourceConnector")(_aiven_source(_AIVEN_S3))
source_family("aiven-azure-blob", "io.aiven.kafka.connect.azure.source.AzureBlobSourceConnector")(
    _aiven_source(_AIVEN_BLOB)
)

sink_family("aiven-s3", "io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector")(_aiven_sink(_AIVEN_S3))
sink_family("aiven-gcs", "io.aiven.kafka.connect.gcs.GcsSinkConnector")(_aiven_sink(gcs))
sink_family("aiven-azure-blob", "io.aiven.kafka.connect.azure.sink.AzureBlobSinkConnector")(
    _aiven_sink(_AIVEN_BLOB)
)

# IBM Cloud Object Storage speaks the protocol of S3; objects are at `{topic}/{partition}/...`.
declare(
    """
    ibm-cos: s3_object bucket=cos.bucket.name path==${topic}
        com.ibm.eventstreams.connect.cossink.COSSinkConnector
    lenses-s3: lenses_s3 place==${topic} kcql:connect.s3.kcql
        io.lenses.streamreactor.connect.aws.s3.source.S3SourceConnector
        io.lenses.streamreactor.connect.aws.s3.sink.S3SinkConnector
    lenses-gcs: lenses_gcs place==${topic} kcql:connect.gcpstorage.kcql
        io.lenses.streamreactor.connect.gcp.storage.source.GCPStorageSourceConnector
        io.lenses.streamreactor.connect.gcp.storage.sink.GCPStorageSinkConnector
    lenses-data-lake: lenses_data_lake kcql:connect.datalake.kcql
        io.lenses.streamreactor.connect.datalake.sink.DatalakeSinkConnector
    """,
    s3_object=s3_object,
    lenses_s3=lambda place: _lenses(place, naming.S3),
    lenses_gcs=lambda place: _lenses(place, naming.GCS),
    lenses_data_lake=_lenses_data_lake,
)
