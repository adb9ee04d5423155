"""Message queues by Lenses' connectors (stream-reactor), which map them to topics by KCQL."""

from __future__ import annotations

import re

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.families import kcql
from lineage_bridge_dagster.confluent.connectors.families.common import keyed
from lineage_bridge_dagster.confluent.connectors.families.messaging import mqtt_topic
from lineage_bridge_dagster.confluent.connectors.family import sink_family, source_family

#: `Endpoint=sb://namespace.servicebus.windows.net/;SharedAccessKeyName=...`
_ENDPOINT = re.compile(r"(?i)\bEndpoint=(sb://[^;]+)")


def _subscription(project: str, path: str) -> str:
    return naming.PUBSUB_SUBSCRIPTION(project=project, subscription=path.rpartition("/")[2])


def _service_bus_entity(connection: str, entity: str) -> str:
    endpoint = _ENDPOINT.search(connection)
    return naming.SERVICE_BUS(host=endpoint[1] if endpoint else "", entity=entity)


_JMS = keyed(naming.JMS, "connect.jms.", host="url", destination="= ${topic}")
_MQTT = keyed(mqtt_topic, "connect.mqtt.", address="hosts", topic="= ${topic}")
_SERVICE_BUS = keyed(
    _service_bus_entity, "connect.servicebus.", connection="connection.string", entity="= ${topic}"
)
_PUBSUB = keyed(_subscription, "connect.pubsub.", project="gcp.project.id", path="= ${topic}")
_EVENT_HUBS = keyed(
    naming.EVENT_HUBS,
    "connect.eventhubs.source.connection.settings.",
    host="bootstrap.servers",
    hub="= ${topic}",
)

source_family("lenses-jms", "", *kcql.classes("jms.source.JMSSourceConnector"))(
    kcql.source("connect.jms.kcql", _JMS)
)
source_family("lenses-mqtt", "", *kcql.classes("mqtt.source.MqttSourceConnector"))(
    kcql.source("connect.mqtt.kcql", _MQTT)
)
source_family("lenses-pubsub", "", *kcql.classes("gcp.pubsub.source.GCPPubSubSourceConnector"))(
    kcql.source("connect.pubsub.kcql", _PUBSUB)
)
source_family("lenses-event-hubs", "", *kcql.classes("azure.eventhubs.source.AzureEventHubsSourceConnector"))(
    kcql.source("connect.eventhubs.kcql", _EVENT_HUBS)
)
source_family(
    "lenses-service-bus", "", *kcql.classes("azure.servicebus.source.AzureServiceBusSourceConnector")
)(kcql.source("connect.servicebus.kcql", _SERVICE_BUS))
sink_family("lenses-jms", "", *kcql.classes("jms.sink.JMSSinkConnector"))(kcql.sink(_JMS, "connect.jms.kcql"))
sink_family("lenses-mqtt", "", *kcql.classes("mqtt.sink.MqttSinkConnector"))(
    kcql.sink(_MQTT, "connect.mqtt.kcql")
)
sink_family("lenses-service-bus", "", *kcql.classes("azure.servicebus.sink.AzureServiceBusSinkConnector"))(
    kcql.sink(_SERVICE_BUS, "connect.servicebus.kcql")
)
