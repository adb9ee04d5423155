"""Object stores, by the connectors of Aiven and Lenses."""

from __future__ import annotations

import re

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.addresses import host_and_port
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families import kcql
from lineage_bridge_dagster.confluent.connectors.families.common import KeyedDataset, keyed, topic_of
from lineage_bridge_dagster.confluent.connectors.families.object_stores import gcs, s3_object
from lineage_bridge_dagster.confluent.connectors.family import (
    Sink,
    SinkContext,
    Source,
    sink_family,
    source_family,
)

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


def _lenses_s3(_config: Config, place: str = "", /) -> str:
    """Objects by `bucket[:prefix]`, as in the other stores."""
    bucket, _, prefix = place.partition(":")
    return naming.S3(bucket=bucket, path=prefix)


def _lenses_gcs(_config: Config, place: str = "", /) -> str:
    bucket, _, prefix = place.partition(":")
    return naming.GCS(bucket=bucket, path=prefix)


def _lenses_data_lake(config: Config, place: str = "", /) -> str:
    container, _, prefix = place.partition(":")
    match = _ACCOUNT.search(config.get("connect.datalake.azure.connection.string"))
    host = host_and_port(config.get("connect.datalake.endpoint"))[0]
    account = config.get("connect.datalake.azure.account.name") or (match[1] if match else "")
    account = account or host.partition(".")[0]
    return naming.AZURE_DATA_LAKE(account=account, container=container, path=prefix)


source_family("aiven-s3", "", "io.aiven.kafka.connect.s3.source.S3SourceConnector")(_aiven_source(_AIVEN_S3))
source_family("aiven-azure-blob", "", "io.aiven.kafka.connect.azure.source.AzureBlobSourceConnector")(
    _aiven_source(_AIVEN_BLOB)
)
source_family("lenses-s3", "", "io.lenses.streamreactor.connect.aws.s3.source.S3SourceConnector")(
    kcql.source("connect.s3.kcql", _lenses_s3)
)
source_family(
    "lenses-gcs", "", "io.lenses.streamreactor.connect.gcp.storage.source.GCPStorageSourceConnector"
)(kcql.source("connect.gcpstorage.kcql", _lenses_gcs))

sink_family("aiven-s3", "", "io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector")(
    _aiven_sink(_AIVEN_S3)
)
sink_family("aiven-gcs", "", "io.aiven.kafka.connect.gcs.GcsSinkConnector")(_aiven_sink(gcs))
sink_family("aiven-azure-blob", "", "io.aiven.kafka.connect.azure.sink.AzureBlobSinkConnector")(
    _aiven_sink(_AIVEN_BLOB)
)
sink_family("lenses-s3", "", "io.lenses.streamreactor.connect.aws.s3.sink.S3SinkConnector")(
    kcql.sink(_lenses_s3, "connect.s3.kcql")
)
sink_family("lenses-gcs", "", "io.lenses.streamreactor.connect.gcp.storage.sink.GCPStorageSinkConnector")(
    kcql.sink(_lenses_gcs, "connect.gcpstorage.kcql")
)
sink_family("lenses-data-lake", "", "io.lenses.streamreactor.connect.datalake.sink.DatalakeSinkConnector")(
    kcql.sink(_lenses_data_lake, "connect.datalake.kcql")
)
