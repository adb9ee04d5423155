"""Files: local ones, and those of SFTP and FTP servers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import per_topic, topic_of
from lineage_bridge_dagster.confluent.connectors.family import (
    Family,
    Sink,
    SinkContext,
    SourceContext,
    Written,
)
from lineage_bridge_dagster.confluent.connectors.naming import Rule

_SPOOL_DIR = "com.github.jcustenborder.kafka.connect.spooldir."
_FILE_STREAM = "org.apache.kafka.connect.file.FileStream"
_SFTP_SOURCE = "io.confluent.connect.sftp.Sftp{}SourceConnector"
_PROTOCOLS = {"ftp": naming.FTP, "ftps": naming.FTPS, "sftp": naming.SFTP}


def _local(*keys: str) -> Callable[[Config], list[str]]:
    """A file or folder of the worker's own file system."""
    return lambda config: [naming.LOCAL_FILE(file=config.get(*keys))]


def _server(rule: Rule, prefix: str, *folder: str) -> Callable[[Config], list[str]]:
    """A folder of a server at `{prefix}host` and `{prefix}port`."""

    def datasets(config: Config) -> list[str]:
        host, port = config.get(prefix + "host"), config.get(prefix + "port")
        return [rule(host=host, port=port, path=config.get(*folder))]

    return datasets


def _server_sink(rule: Rule, prefix: str, topics_dir: str = "") -> Sink:
    """`{working.dir}/{topics.dir}/{topic}`; the working directory is the user's home by default."""

    def sink(context: SinkContext, topic: str) -> str:
        config = context.config
        user = config.get(prefix + "username")
        top = config.get(prefix + "working.dir", default=naming.path("home", user) if user else "")
        path = naming.path(top, config.get("topics.dir", default=topics_dir), topic)
        return rule(host=config.get(prefix + "host"), port=config.get(prefix + "port"), path=path)

    return sink


def _file_pulse(config: Config) -> list[str]:
    """A folder of the file system that `fs.listing.class` lists."""
    listing = config.get("fs.listing.class").rpartition(".")[2].lower()
    if "s3" in listing:
        folder = config.get("aws.s3.bucket.prefix")
        return [naming.S3(bucket=config.get("aws.s3.bucket.name"), path=folder)]
    if "gcs" in listing:
        folder = config.get("gcs.blobs.filter.prefix")
        return [naming.GCS(bucket=config.get("gcs.bucket.name"), path=folder)]
    if "azure" in listing:
        return [
            naming.AZURE_BLOB(
                account=config.get("azure.storage.account.name"),
                container=config.get("azure.storage.container.name"),
                path=config.get("azure.storage.blob.prefix"),
            )
        ]
    if "sftp" in listing:
        return _server(naming.SFTP, "sftp.listing.", "sftp.listing.directory.path")(config)
    if "smb" in listing:
        return [
            naming.SMB(
                host=config.get("smb.listing.host"),
                port=config.get("smb.listing.port"),
                share=config.get("smb.listing.share"),
                path=config.get("smb.listing.directory.path"),
            )
        ]
    return [naming.LOCAL_FILE(file=config.get("fs.listing.directory.path", "fs.scan.directory.path"))]


def _lenses_ftp(context: SourceContext) -> Iterator[Written]:
    """Topics of `path:topic,...`, in two lists: files that grow and files that are replaced."""
    config = context.config
    rule = _PROTOCOLS.get(config.get("connect.ftp.protocol", default="ftp").lower(), naming.FTP)
    for key in ("connect.ftp.monitor.tail", "connect.ftp.monitor.update"):
        for folder, topic in config.pairs(key, reverse=True).items():
            path = naming.path(re.split(r"[*?\[{]", folder, maxsplit=1)[0])
            yield Written(topic, rule(host=config.get("connect.ftp.address"), path=path))


SOURCES = (
    Family(
        "sftp",
        ("SftpSource",),
        tuple(
            _SFTP_SOURCE.format(kind) for kind in ("Generic", "Csv", "Json", "SchemaLessJson", "Binary", "")
        ),
        topic_of(_server(naming.SFTP, "sftp.", "input.path")),
    ),
    Family(
        "ftps",
        (),
        ("io.confluent.connect.ftps.FtpsSourceConnector",),
        topic_of(_server(naming.FTPS, "ftps.", "ftps.input.path", "input.path")),
    ),
    Family(
        "file",
        (),
        ("FileStreamSource", "FileStreamSourceConnector", f"{_FILE_STREAM}SourceConnector"),
        topic_of(_local("file"), "topic"),
    ),
    Family(
        "spool-dir",
        (),
        (
            *(
                f"{_SPOOL_DIR}SpoolDir{kind}SourceConnector"
                for kind in ("Csv", "Json", "SchemaLessJson", "LineDelimited", "BinaryFile", "Avro")
            ),
            f"{_SPOOL_DIR}elf.SpoolDirELFSourceConnector",
            f"{_SPOOL_DIR}SpoolDirELFSourceConnector",
        ),
        topic_of(_local("input.path"), "topic"),
    ),
    Family(
        "file-pulse",
        (),
        (
            "io.streamthoughts.kafka.connect.filepulse.source.FilePulseSourceConnector",
            "io.streamthoughts.kafka.connect.filepulse.FilePulseSourceConnector",
        ),
        topic_of(_file_pulse, "topic"),
    ),
    Family(
        "lenses-ftp",
        (),
        (
            "io.lenses.streamreactor.connect.ftp.source.FtpSourceConnector",
            "com.datamountaineer.streamreactor.connect.ftp.source.FtpSourceConnector",
        ),
        _lenses_ftp,
    ),
)

SINKS = (
    Family(
        "sftp",
        ("SftpSink",),
        ("io.confluent.connect.sftp.SftpSinkConnector",),
        sink=_server_sink(naming.SFTP, "sftp.", "topics"),
    ),
    Family(
        "ftps",
        (),
        ("io.confluent.connect.ftps.FtpsSinkConnector",),
        sink=_server_sink(naming.FTPS, "ftps."),
    ),
    Family(
        "file",
        (),
        (
            "org.apache.kafka.connect.file.FileStreamSinkConnector",
            "FileStreamSink",
            "FileStreamSinkConnector",
        ),
        sink=per_topic(_local("file")),
    ),
)
