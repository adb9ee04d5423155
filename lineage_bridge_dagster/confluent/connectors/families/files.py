"""Files: local ones, and those of SFTP and FTP servers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import keyed, topic_of
from lineage_bridge_dagster.confluent.connectors.families.declared import declare
from lineage_bridge_dagster.confluent.connectors.family import (
    Sink,
    SinkContext,
    SourceContext,
    WrittenTopic,
    sink_family,
    source_family,
)
from lineage_bridge_dagster.confluent.connectors.naming import Rule

_SPOOL_DIR = "com.github.jcustenborder.kafka.connect.spooldir."
_PROTOCOLS = {"ftp": naming.FTP, "ftps": naming.FTPS, "sftp": naming.SFTP}


def _server_sink(rule: Rule, prefix: str, topics_dir: str = "") -> Sink:
    """`{working.dir}/{topics.dir}/{topic}`; the working directory is the user's home by default."""

    def sink(context: SinkContext, topic: str) -> str:
        config = context.config
        user = config.get(prefix + "username")
        top = config.get(prefix + "working.dir", default=naming.path("home", user) if user else "")
        path = naming.path(top, config.get("topics.dir", default=topics_dir), topic)
        return rule(host=config.get(prefix + "host"), port=config.get(prefix + "port"), path=path)

    return sink


#: By what the name of the class has that lists a file system.
_LISTINGS = {
    "s3": keyed(naming.S3, "aws.s3.bucket.", bucket="name", path="prefix"),
    "gcs": keyed(naming.GCS, bucket="gcs.bucket.name", path="gcs.blobs.filter.prefix"),
    "azure": keyed(
        naming.AZURE_BLOB,
        "azure.storage.",
        account="account.name",
        container="container.name",
        path="blob.prefix",
    ),
    "sftp": keyed(naming.SFTP, "sftp.listing.", host="host", port="port", path="directory.path"),
    "smb": keyed(naming.SMB, "smb.listing.", host="host", port="port", share="share", path="directory.path"),
    "": keyed(naming.LOCAL_FILE, file="fs.listing.directory.path | fs.scan.directory.path"),
}


def _file_pulse(config: Config) -> str:
    """A folder of the file system that `fs.listing.class` lists."""
    listing = config.get("fs.listing.class").rpartition(".")[2].lower()
    return next(dataset for kind, dataset in _LISTINGS.items() if kind in listing)(config)


@source_family("lenses-ftp", "lenses:ftp.source.FtpSourceConnector")
def _lenses_ftp(context: SourceContext) -> Iterator[WrittenTopic]:
    """Topics of `path:topic,...`, in two lists: files that grow and files that are replaced."""
    config = context.config
    rule = _PROTOCOLS.get(config.get("connect.ftp.protocol", default="ftp").lower(), naming.FTP)
    for key in ("connect.ftp.monitor.tail", "connect.ftp.monitor.update"):
        for folder, topic in config.pairs(key, reverse=True).items():
            path = naming.path(re.split(r"[*?\[{]", folder, maxsplit=1)[0])
            yield WrittenTopic(topic, rule(host=config.get("connect.ftp.address"), path=path))


source_family("file-systems", "com.github.mmolimar.kafka.connect.fs.FsSourceConnector")(
    topic_of(lambda config: map(naming.location, config.items("fs.uris")), "topic")
)
source_family(
    "spool-dir",
    *(
        f"{_SPOOL_DIR}SpoolDir{kind}SourceConnector"
        for kind in ("Csv", "Json", "SchemaLessJson", "LineDelimited", "BinaryFile", "Avro")
    ),
    f"{_SPOOL_DIR}elf.SpoolDirELFSourceConnector",
    f"{_SPOOL_DIR}SpoolDirELFSourceConnector",
)(topic_of(keyed(naming.LOCAL_FILE, file="input.path"), "topic"))

sink_family("sftp", "SftpSink", "confluent:sftp.SftpSinkConnector")(
    _server_sink(naming.SFTP, "sftp.", "topics")
)
sink_family("ftps", "confluent:ftps.FtpsSinkConnector")(_server_sink(naming.FTPS, "ftps."))

declare(
    """
    ftps: FTPS host=ftps.host port=ftps.port path=ftps.input.path|input.path
        confluent:ftps.FtpsSourceConnector
    file: LOCAL_FILE topic:topic file=file
        FileStreamSource FileStreamSourceConnector org.apache.kafka.connect.file.FileStreamSourceConnector
        org.apache.kafka.connect.file.FileStreamSinkConnector FileStreamSink FileStreamSinkConnector
    file-pulse: file_pulse topic:topic
        io.streamthoughts.kafka.connect.filepulse.source.FilePulseSourceConnector
        io.streamthoughts.kafka.connect.filepulse.FilePulseSourceConnector
    sftp: SFTP host=sftp.host port=sftp.port path=input.path
        SftpSource confluent:sftp.SftpGenericSourceConnector confluent:sftp.SftpCsvSourceConnector
        confluent:sftp.SftpJsonSourceConnector confluent:sftp.SftpSchemaLessJsonSourceConnector
        confluent:sftp.SftpBinarySourceConnector confluent:sftp.SftpSourceConnector
    """,
    file_pulse=_file_pulse,
)
