"""Data that comes from nothing with a name: generated data, and listeners on a port."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors.families.common import topic_of
from lineage_bridge_dagster.confluent.connectors.family import Family, SourceContext, Written

#: `genkp.{topic}.with`, `genv.{topic}.{field}.sometimes.matching`
_GENERATOR = re.compile(r"gen[kv]p?\.([^.]+)\..+")


def syslog(context: SourceContext) -> Iterator[Written]:
    yield Written(context.config.get("topic", "kafka.topic", "topic.prefix", default="syslog"))


def voluble(context: SourceContext) -> Iterator[Written]:
    """The topics of the generators' keys: MichaelDrogalis/voluble."""
    for topic in dict.fromkeys(match[1] for match in context.config.keys_like(_GENERATOR)):
        yield Written(topic)


SOURCES = (
    Family("voluble", (), ("io.mdrogalis.voluble.VolubleSourceConnector",), voluble, has_dataset=False),
    Family(
        "datagen",
        ("DatagenSource", "DatagenSourceInternal"),
        ("io.confluent.kafka.connect.datagen.DatagenConnector",),
        topic_of(lambda _config: []),
        has_dataset=False,
    ),
    Family(
        "listener",
        (),
        (
            "io.confluent.connect.snmp.SnmpTrapSourceConnector",
            "io.confluent.connect.SplunkHttpSourceConnector",
            "io.confluent.connect.splunk.s2s.SplunkS2SSourceConnector",
        ),
        topic_of(lambda _config: []),
        has_dataset=False,
    ),
    Family("syslog", (), ("io.confluent.connect.syslog.SyslogSourceConnector",), syslog, has_dataset=False),
)
