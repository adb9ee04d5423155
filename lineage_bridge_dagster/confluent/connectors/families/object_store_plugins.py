"""Object stores, by the connectors of Aiven and Lenses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.addresses import host_and_port
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families import kcql
from lineage_bridge_dagster.confluent.connectors.families.common import topic_of
from lineage_bridge_dagster.confluent.connectors.families.object_stores import Store, bucket_of
from lineage_bridge_dagster.confluent.connectors.family import (
    Family,
    Sink,
    SinkContext,
    Source,
    SourceContext,
    Written,
)

_TOPIC = re.compile(r"\{\{\s*topic\s*\}\}")
_VARIABLE = re.compile(r"\{\{|\$\{")
_ACCOUNT = re.compile(r"(?:^|;)\s*AccountName=([^;]+)", re.IGNORECASE)
_AIVEN_NAME = "{{topic}}-{{partition}}-{{start_offset}}"


def folder_of(template: str, topic: str = "") -> str:
    """The folder of an object's name whose `{{variables}}` are not known, except the topic."""
    fixed = _VARIABLE.split(_TOPIC.sub(lambda _match: topic or "{{", template), maxsplit=1)[0]
    return naming.path(fixed.rpartition("/")[0])


def _aiven_s3(config: Config, path: str) -> str:
    return naming.S3(bucket=bucket_of(config.get("aws.s3.bucket.name", "aws_s3_bucket")), path=path)


def _aiven_gcs(config: Config, path: str) -> str:
    return naming.GCS(bucket=config.get("gcs.bucket.name"), path=path)


def _aiven_azure(config: Config, path: str) -> str:
    """A container, whose account is in the connection string unless that is masked."""
    match = _ACCOUNT.search(config.get("azure.storage.connection.string"))
    account = match[1] if match else config.get("azure.storage.account.name")
    container = config.get("azure.storage.container.name")
    return naming.AZURE_BLOB(account=account, container=container, path=path)


def _aiven_prefix(config: Config) -> str:
    return config.get("file.name.prefix", "aws.s3.prefix", "aws_s3_prefix", "azure.blob.prefix")


def _aiven_sink(store: Store) -> Sink:
    """The folder of a topic's objects, by `file.name.prefix` and `file.name.template`."""

    def sink(context: SinkContext, topic: str) -> str:
        config = context.config
        template = config.get("file.name.template", default=_AIVEN_NAME)
        return store(config, folder_of(_aiven_prefix(config) + template, topic))

    return sink


def _aiven_source(store: Store) -> Source:
    """The objects under a prefix."""
    return topic_of(lambda config: [store(config, _aiven_prefix(config))], "topic", "topics")


#: The dataset of `bucket[:prefix]`.
Place = Callable[[Config, str], str]


def _split(place: str) -> dict[str, str]:
    bucket, _, prefix = place.partition(":")
    return {"bucket": bucket, "path": prefix}


def _lenses_s3(_config: Config, place: str) -> str:
    return naming.S3(**_split(place))


def _lenses_gcs(_config: Config, place: str) -> str:
    return naming.GCS(**_split(place))


def _lenses_data_lake(config: Config, place: str) -> str:
    parts = _split(place)
    match = _ACCOUNT.search(config.get("connect.datalake.azure.connection.string"))
    host = host_and_port(config.get("connect.datalake.endpoint"))[0]
    account = config.get("connect.datalake.azure.account.name") or (match[1] if match else "")
    account = account or host.partition(".")[0]
    return naming.AZURE_DATA_LAKE(account=account, container=parts["bucket"], path=parts["path"])


def _lenses_sink(key: str, place: Place) -> Sink:
    def sink(context: SinkContext, topic: str) -> list[str]:
        statements = kcql.for_topic(context.config.get(key), topic)
        return [place(context.config, statement.target) for statement in statements]

    return sink


def _lenses_source(key: str, place: Place) -> Source:
    def source(context: SourceContext) -> Iterator[Written]:
        for statement in kcql.statements(context.config.get(key)):
            yield Written(statement.target, place(context.config, statement.source))

    return source


SOURCES = (
    Family("aiven-s3", (), ("io.aiven.kafka.connect.s3.source.S3SourceConnector",), _aiven_source(_aiven_s3)),
    Family(
        "aiven-azure-blob",
        (),
        ("io.aiven.kafka.connect.azure.source.AzureBlobSourceConnector",),
        _aiven_source(_aiven_azure),
    ),
    Family(
        "lenses-s3",
        (),
        ("io.lenses.streamreactor.connect.aws.s3.source.S3SourceConnector",),
        _lenses_source("connect.s3.kcql", _lenses_s3),
    ),
    Family(
        "lenses-gcs",
        (),
        ("io.lenses.streamreactor.connect.gcp.storage.source.GCPStorageSourceConnector",),
        _lenses_source("connect.gcpstorage.kcql", _lenses_gcs),
    ),
)

SINKS = (
    Family(
        "aiven-s3",
        (),
        ("io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector",),
        sink=_aiven_sink(_aiven_s3),
    ),
    Family("aiven-gcs", (), ("io.aiven.kafka.connect.gcs.GcsSinkConnector",), sink=_aiven_sink(_aiven_gcs)),
    Family(
        "aiven-azure-blob",
        (),
        ("io.aiven.kafka.connect.azure.sink.AzureBlobSinkConnector",),
        sink=_aiven_sink(_aiven_azure),
    ),
    Family(
        "lenses-s3",
        (),
        ("io.lenses.streamreactor.connect.aws.s3.sink.S3SinkConnector",),
        sink=_lenses_sink("connect.s3.kcql", _lenses_s3),
    ),
    Family(
        "lenses-gcs",
        (),
        ("io.lenses.streamreactor.connect.gcp.storage.sink.GCPStorageSinkConnector",),
        sink=_lenses_sink("connect.gcpstorage.kcql", _lenses_gcs),
    ),
    Family(
        "lenses-data-lake",
        (),
        ("io.lenses.streamreactor.connect.datalake.sink.DatalakeSinkConnector",),
        sink=_lenses_sink("connect.datalake.kcql", _lenses_data_lake),
    ),
)
