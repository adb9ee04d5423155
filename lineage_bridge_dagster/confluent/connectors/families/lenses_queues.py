"""Message queues by Lenses' connectors (stream-reactor), which map them to topics by KCQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families import kcql
from lineage_bridge_dagster.confluent.connectors.families.messaging import mqtt_topic
from lineage_bridge_dagster.confluent.connectors.family import (
    Family,
    Sink,
    SinkContext,
    Source,
    SourceContext,
    Written,
)

#: Configuration and a queue's name in KCQL -> the dataset.
Queue = Callable[[Config, str], str]

#: `Endpoint=sb://namespace.servicebus.windows.net/;SharedAccessKeyName=...`
_ENDPOINT = re.compile(r"(?i)\bEndpoint=(sb://[^;]+)")


def _jms(config: Config, name: str) -> str:
    return naming.JMS(host=config.get("connect.jms.url"), destination=name)


def _mqtt(config: Config, name: str) -> str:
    return mqtt_topic(config.get("connect.mqtt.hosts"), name)


def _subscription(config: Config, name: str) -> str:
    return naming.PUBSUB_SUBSCRIPTION(
        project=config.get("connect.pubsub.gcp.project.id"), subscription=name.rpartition("/")[2]
    )


def _event_hub(config: Config, name: str) -> str:
    key = "connect.eventhubs.source.connection.settings.bootstrap.servers"
    return naming.EVENT_HUBS(host=config.get(key), hub=name)


def _service_bus(config: Config, name: str) -> str:
    endpoint = _ENDPOINT.search(config.get("connect.servicebus.connection.string"))
    return naming.SERVICE_BUS(host=endpoint[1] if endpoint else "", entity=name)


def _source(key: str, queue: Queue) -> Source:
    """A source with a statement for each queue and its topic.

    Args:
        key: Of the KCQL statements.
        queue: Names what a statement reads.
    """

    def source(context: SourceContext) -> Iterator[Written]:
        found = kcql.statements(context.config.get(key))
        if not found:
            context.warnings.append(f"{key} holds no statement: its topics and datasets are not known")
        for item in found:
            topic = item.source if item.target == "*" else item.target
            yield Written(topic, queue(context.config, item.source))

    return source


def _sink(key: str, queue: Queue) -> Sink:
    def sink(context: SinkContext, topic: str) -> list[str]:
        return [queue(context.config, item.target) for item in kcql.for_topic(context.config.get(key), topic)]

    return sink


def _classes(name: str) -> tuple[str, ...]:
    """The Java class of a connector by its present and its earlier package."""
    return (f"io.lenses.streamreactor.connect.{name}", f"com.datamountaineer.streamreactor.connect.{name}")


SOURCES = (
    Family("lenses-jms", (), _classes("jms.source.JMSSourceConnector"), _source("connect.jms.kcql", _jms)),
    Family(
        "lenses-mqtt", (), _classes("mqtt.source.MqttSourceConnector"), _source("connect.mqtt.kcql", _mqtt)
    ),
    Family(
        "lenses-pubsub",
        (),
        _classes("gcp.pubsub.source.GCPPubSubSourceConnector"),
        _source("connect.pubsub.kcql", _subscription),
    ),
    Family(
        "lenses-event-hubs",
        (),
        _classes("azure.eventhubs.source.AzureEventHubsSourceConnector"),
        _source("connect.eventhubs.kcql", _event_hub),
    ),
    Family(
        "lenses-service-bus",
        (),
        _classes("azure.servicebus.source.AzureServiceBusSourceConnector"),
        _source("connect.servicebus.kcql", _service_bus),
    ),
)


SINKS = (
    Family("lenses-jms", (), _classes("jms.sink.JMSSinkConnector"), sink=_sink("connect.jms.kcql", _jms)),
    Family(
        "lenses-mqtt", (), _classes("mqtt.sink.MqttSinkConnector"), sink=_sink("connect.mqtt.kcql", _mqtt)
    ),
    Family(
        "lenses-service-bus",
        (),
        _classes("azure.servicebus.sink.AzureServiceBusSinkConnector"),
        sink=_sink("connect.servicebus.kcql", _service_bus),
    ),
)
