"""Files: SFTP."""

from __future__ import annotations

from lineage_bridge_dagster.confluent.connectors.families.common import templated, url
from lineage_bridge_dagster.confluent.connectors.family import Family

SOURCES = (
    Family(
        "sftp",
        ("SftpSource",),
        ("io.confluent.connect.sftp.SftpGenericSourceConnector",),
        url("sftp", "sftp.host", "input.path"),
    ),
)


SINKS = (
    Family(
        "sftp",
        ("SftpSink",),
        ("io.confluent.connect.sftp.SftpSinkConnector",),
        sink=templated("sftp://{sftp.host}/{topics.dir}/{topic}"),
    ),
)
