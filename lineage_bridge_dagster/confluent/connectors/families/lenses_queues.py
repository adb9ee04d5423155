"""Message queues by the connectors of Lenses, whose KCQL maps destinations and topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families import kcql
from lineage_bridge_dagster.confluent.connectors.family import (
    Family,
    Sink,
    SinkContext,
    Source,
    SourceContext,
    Written,
)

#: Names what a statement calls a destination.
Dataset = Callable[[Config, str], str]


def _jms(config: Config, name: str) -> str:
    return naming.JMS(host=config.get("connect.jms.url"), destination=name)


def _mqtt(config: Config, name: str) -> str:
    address = config.get("connect.mqtt.hosts")
    secure = address.lower().startswith(("ssl://", "tls://", "mqtts://"))
    return naming.MQTT(host=address, default_port="8883" if secure else "", topic=name)


def _source(key: str, dataset: Dataset) -> Source:
    def source(context: SourceContext) -> Iterator[Written]:
        parsed = kcql.statements(context.config.get(key))
        if not parsed:
            context.warnings.append(f"{key} has no statement: what it reads is not known")
        for item in parsed:
            yield Written(item.target, dataset(context.config, item.source))

    return source


def _sink(key: str, dataset: Dataset) -> Sink:
    def sink(context: SinkContext, topic: str) -> list[str]:
        statements = kcql.for_topic(context.config.get(key), topic)
        return [dataset(context.config, item.target) for item in statements]

    return sink


def _classes(name: str) -> tuple[str, str]:
    return f"io.lenses.streamreactor.connect.{name}", f"com.datamountaineer.streamreactor.connect.{name}"


SOURCES = (
    Family("jms-lenses", (), _classes("jms.source.JMSSourceConnector"), _source("connect.jms.kcql", _jms)),
    Family(
        "mqtt-lenses", (), _classes("mqtt.source.MqttSourceConnector"), _source("connect.mqtt.kcql", _mqtt)
    ),
)
SINKS = (
    Family("jms-lenses", (), _classes("jms.sink.JMSSinkConnector"), sink=_sink("connect.jms.kcql", _jms)),
    Family(
        "mqtt-lenses", (), _classes("mqtt.sink.MqttSinkConnector"), sink=_sink("connect.mqtt.kcql", _mqtt)
    ),
)
