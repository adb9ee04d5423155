"""Object stores and HDFS, by Confluent's connectors: objects are at `{topics.dir}/{topic}/{partition}/...`.

A source takes the topics of its `topic.regex.list`, or those that a sink's backup has as folders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.family import (
    Family,
    Sink,
    SinkContext,
    Source,
    SourceContext,
    Written,
)
from lineage_bridge_dagster.confluent.connectors.java_regex import compile_java

#: The dataset of a path in the configured bucket.
Store = Callable[[Config, str], str]


def s3(config: Config, path: str) -> str:
    return naming.S3(bucket=bucket_of(config.get("s3.bucket.name", "s3.bucket")), path=path)


def bucket_of(name: str) -> str:
    """A bucket's name, which may be given as an ARN (`arn:aws:s3:::bucket`)."""
    return name.rpartition(":::")[2]


def _gcs(config: Config, path: str) -> str:
    return naming.GCS(bucket=config.get("gcs.bucket.name"), path=path)


def _azure_blob(config: Config, path: str) -> str:
    account, container = config.get("azblob.account.name"), config.get("azblob.container.name")
    return naming.AZURE_BLOB(account=account, container=container, path=path)


def _data_lake_1(config: Config, path: str) -> str:
    return naming.AZURE_DATA_LAKE_1(account=config.get("azure.datalake.gen1.account.name"), path=path)


def _data_lake_2(config: Config, path: str) -> str:
    """The file system (container) is the first folder of `topics.dir`."""
    container, _, below = path.partition("/")
    account = config.get("azure.datalake.gen2.account.name")
    return naming.AZURE_DATA_LAKE(account=account, container=container, path=below)


def _hdfs(config: Config, path: str) -> str:
    """The cluster's file system, which need not be HDFS."""
    return naming.location(config.get("hdfs.url", "store.url"), path)


def _dataproc(config: Config, path: str) -> str:
    project, cluster = config.get("gcp.dataproc.projectId"), config.get("gcp.dataproc.cluster")
    return naming.DATAPROC(project=project, cluster=cluster, path=path)


def _topics_dir(config: Config) -> str:
    return config.get("topics.dir", default="topics")


def _captured(config: Config, topic: str) -> str:
    """`topics.dir` with `${n}` replaced by the groups of `topic.capture.groups.regex`."""
    folder, pattern = _topics_dir(config), config.get("topic.capture.groups.regex")
    match = compile_java(pattern).fullmatch(topic) if pattern else None
    if match is None:
        return folder
    groups = [match[0], *match.groups("")]
    return re.sub(
        r"\$\{(\d{1,3})\}", lambda found: groups[n] if (n := int(found[1])) < len(groups) else "", folder
    )


def writer(store: Store) -> Sink:
    """A folder for each topic."""

    def sink(context: SinkContext, topic: str) -> str:
        return store(context.config, naming.path(_captured(context.config, topic), topic))

    return sink


def reader(store: Store) -> Source:
    """Topics of `topic.regex.list`: `topic:regex,...`, where the expressions match object keys."""

    def source(context: SourceContext) -> Iterator[Written]:
        dataset = store(context.config, naming.path(_topics_dir(context.config)))
        topics = context.config.pairs("topic.regex.list")
        if not topics:
            context.warnings.append(
                "topic.regex.list is not set: it restores the topics of a backup, which are not known"
            )
        for topic in topics or [""]:
            yield Written(topic, dataset)

    return source


SOURCES = (
    Family("s3", ("S3Source",), ("io.confluent.connect.s3.source.S3SourceConnector",), reader(s3)),
    Family("gcs", ("GcsSource",), ("io.confluent.connect.gcs.GcsSourceConnector",), reader(_gcs)),
    Family(
        "azure-blob",
        ("AzureBlobSource",),
        ("io.confluent.connect.azure.blob.storage.AzureBlobStorageSourceConnector",),
        reader(_azure_blob),
    ),
    Family(
        "hdfs",
        (),
        (
            "io.confluent.connect.hdfs2.Hdfs2SourceConnector",
            "io.confluent.connect.hdfs3.Hdfs3SourceConnector",
        ),
        reader(_hdfs),
    ),
)

SINKS = (
    Family("s3", ("S3_SINK", "S3Sink"), ("io.confluent.connect.s3.S3SinkConnector",), sink=writer(s3)),
    Family("gcs", ("GcsSink",), ("io.confluent.connect.gcs.GcsSinkConnector",), sink=writer(_gcs)),
    Family(
        "azure-blob",
        ("AzureBlobSink",),
        ("io.confluent.connect.azure.blob.AzureBlobStorageSinkConnector",),
        sink=writer(_azure_blob),
    ),
    Family(
        "azure-data-lake-1",
        (),
        (
            "io.confluent.connect.azure.datalake.gen1.AzureDataLakeGen1StorageSinkConnector",
            "io.confluent.connect.azure.datalake.gen1.AzureDataLakeGen1SinkConnector",
        ),
        sink=writer(_data_lake_1),
    ),
    Family(
        "azure-data-lake",
        ("AzureDataLakeGen2Sink",),
        ("io.confluent.connect.azure.datalake.gen2.AzureDataLakeGen2SinkConnector",),
        sink=writer(_data_lake_2),
    ),
    Family(
        "hdfs",
        (),
        (
            "io.confluent.connect.hdfs.HdfsSinkConnector",
            "io.confluent.connect.hdfs3.Hdfs3SinkConnector",
        ),
        sink=writer(_hdfs),
    ),
    Family(
        "dataproc",
        ("DataprocSink",),
        ("io.confluent.connect.gcp.dataproc.DataprocSinkConnector",),
        sink=writer(_dataproc),
    ),
)
