"""Object stores and HDFS, by Confluent's connectors: objects are at `{topics.dir}/{topic}/{partition}/...`.

A source takes the topics of its `topic.regex.list`, or those that a sink's backup has as folders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import KeyedDataset, keyed
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
    return config.get("topics.dir", default="topics")


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


source_family("s3", "S3Source", "io.confluent.connect.s3.source.S3SourceConnector")(reader(_S3))
source_family("gcs", "GcsSource", "io.confluent.connect.gcs.GcsSourceConnector")(reader(gcs))
source_family(
    "azure-blob", "AzureBlobSource", "io.confluent.connect.azure.blob.storage.AzureBlobStorageSourceConnector"
)(reader(_AZURE_BLOB))
source_family(
    "hdfs",
    "",
    "io.confluent.connect.hdfs2.Hdfs2SourceConnector",
    "io.confluent.connect.hdfs3.Hdfs3SourceConnector",
)(reader(_HDFS))

sink_family("s3", "S3_SINK S3Sink", "io.confluent.connect.s3.S3SinkConnector")(writer(_S3))
sink_family("gcs", "GcsSink", "io.confluent.connect.gcs.GcsSinkConnector")(writer(gcs))
sink_family("azure-blob", "AzureBlobSink", "io.confluent.connect.azure.blob.AzureBlobStorageSinkConnector")(
    writer(_AZURE_BLOB)
)
sink_family(
    "azure-data-lake-1",
    "",
    "io.confluent.connect.azure.datalake.gen1.AzureDataLakeGen1StorageSinkConnector",
    "io.confluent.connect.azure.datalake.gen1.AzureDataLakeGen1SinkConnector",
)(writer(_DATA_LAKE_1))
sink_family(
    "azure-data-lake",
    "AzureDataLakeGen2Sink",
    "io.confluent.connect.azure.datalake.gen2.AzureDataLakeGen2SinkConnector",
)(writer(_DATA_LAKE_2))
sink_family(
    "hdfs", "", "io.confluent.connect.hdfs.HdfsSinkConnector", "io.confluent.connect.hdfs3.Hdfs3SinkConnector"
)(writer(_HDFS))
sink_family("dataproc", "DataprocSink", "io.confluent.connect.gcp.dataproc.DataprocSinkConnector")(
    writer(_DATAPROC)
)
