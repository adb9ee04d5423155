"""Object stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lineage_bridge_dagster.confluent.connectors import datasets
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import templated
from lineage_bridge_dagster.confluent.connectors.family import (
    Family,
    SinkContext,
    Source,
    SourceContext,
    Written,
)


def _s3(config: Config) -> str:
    return datasets.bucket("s3", config.get("s3.bucket.name"), config.get("topics.dir", default="topics"))


def _gcs(config: Config) -> str:
    return datasets.bucket("gs", config.get("gcs.bucket.name"), config.get("topics.dir", default="topics"))


def _azure_blob(config: Config) -> str:
    host = f"{config.get('azblob.account.name')}.blob.core.windows.net"
    return datasets.bucket("https", host, config.get("azblob.container.name"), config.get("topics.dir"))


def object_store(dataset: Callable[[Config], str]) -> Source:
    """Topics of `topic.regex.list`: `topic:regex,...`, where the expressions match object keys."""

    def source(context: SourceContext) -> Iterator[Written]:
        topics = context.config.pairs("topic.regex.list")
        if not topics:
            context.warnings.append("topic.regex.list is not set: its topics are not known")
        for topic in topics:
            yield Written(topic, dataset(context.config))

    return source


def s3(context: SinkContext, topic: str) -> str:
    config = context.config
    name = config.get("s3.bucket.name", "s3.bucket")
    return datasets.bucket("s3", name, config.get("topics.dir", default="topics"), topic) if name else ""


def gcs(context: SinkContext, topic: str) -> str:
    config = context.config
    name = config.get("gcs.bucket.name")
    return datasets.bucket("gs", name, config.get("topics.dir", default="topics"), topic) if name else ""


def azure_blob(context: SinkContext, topic: str) -> str:
    config = context.config
    account, container = config.get("azblob.account.name"), config.get("azblob.container.name")
    if not (account and container):
        return ""
    folder = config.get("topics.dir", default="topics")
    return datasets.bucket("https", f"{account}.blob.core.windows.net", container, folder, topic)


def azure_data_lake(context: SinkContext, topic: str) -> str:
    config = context.config
    account = config.get("azure.datalake.gen2.account.name")
    container = config.get("azure.datalake.gen2.container.name", default="topics")
    folder = config.get("topics.dir", default="topics")
    authority = f"{container}@{account}.dfs.core.windows.net"
    return datasets.bucket("abfss", authority, folder, topic) if account else ""


SOURCES = (
    Family("s3", ("S3Source",), ("io.confluent.connect.s3.source.S3SourceConnector",), object_store(_s3)),
    Family("gcs", ("GcsSource",), ("io.confluent.connect.gcs.GcsSourceConnector",), object_store(_gcs)),
    Family(
        "azure-blob",
        ("AzureBlobSource",),
        ("io.confluent.connect.azure.blob.storage.AzureBlobStorageSourceConnector",),
        object_store(_azure_blob),
    ),
)


SINKS = (
    Family("s3", ("S3_SINK", "S3Sink", "s3-sink"), ("io.confluent.connect.s3.S3SinkConnector",), sink=s3),
    Family("gcs", ("GcsSink",), ("io.confluent.connect.gcs.GcsSinkConnector",), sink=gcs),
    Family(
        "azure-blob",
        ("AzureBlobSink",),
        ("io.confluent.connect.azure.blob.AzureBlobStorageSinkConnector",),
        sink=azure_blob,
    ),
    Family(
        "azure-data-lake",
        ("AzureDataLakeGen2Sink",),
        ("io.confluent.connect.azure.datalake.gen2.AzureDataLakeGen2SinkConnector",),
        sink=azure_data_lake,
    ),
    Family(
        "dataproc",
        ("DataprocSink",),
        ("io.confluent.connect.gcp.dataproc.DataprocSinkConnector",),
        sink=templated("dataproc://{gcp.dataproc.projectId}/{gcp.dataproc.cluster}/{topic}"),
    ),
)
