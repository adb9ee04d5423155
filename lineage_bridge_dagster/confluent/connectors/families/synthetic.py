"""Data that comes from nothing with a name: generated data, and listeners on a port."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors.families.common import topic_of
from lineage_bridge_dagster.confluent.connectors.family import SourceContext, WrittenTopic, source_family

#: `genkp.{topic}.with`, `genv.{topic}.{field}.sometimes.matching`
_GENERATOR = re.compile(r"gen[kv]p?\.([^.]+)\..+")


@source_family("syslog", "", "io.confluent.connect.syslog.SyslogSourceConnector", has_dataset=False)
def syslog(context: SourceContext) -> Iterator[WrittenTopic]:
    yield WrittenTopic(context.config.get("topic", "kafka.topic", "topic.prefix", default="syslog"))


@source_family("voluble", "", "io.mdrogalis.voluble.VolubleSourceConnector", has_dataset=False)
def voluble(context: SourceContext) -> Iterator[WrittenTopic]:
    """The topics of the generators' keys: MichaelDrogalis/voluble."""
    for topic in dict.fromkeys(match[1] for match in context.config.keys_like(_GENERATOR)):
        yield WrittenTopic(topic)


source_family(
    "datagen",
    "DatagenSource DatagenSourceInternal",
    "io.confluent.kafka.connect.datagen.DatagenConnector",
    "com.github.jcustenborder.kafka.connect.simulator.SimulatorSourceConnector",
    has_dataset=False,
)(topic_of(lambda _config: []))
source_family(
    "listener",
    "",
    "io.confluent.connect.snmp.SnmpTrapSourceConnector",
    "io.confluent.connect.SplunkHttpSourceConnector",
    "io.confluent.connect.splunk.s2s.SplunkS2SSourceConnector",
    has_dataset=False,
)(topic_of(lambda _config: []))
