"""Message queues and streams."""

from __future__ import annotations

from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import single_topic, templated, url
from lineage_bridge_dagster.confluent.connectors.family import Family


def _sqs(config: Config) -> str:
    return config.get("sqs.url").partition("?")[0]


def _pubsub(config: Config) -> str:
    return f"pubsub://topic:{config.get('gcp.pubsub.project.id')}:{config.get('gcp.pubsub.topic.id')}"


def _event_hub(config: Config) -> str:
    domain = config.get("azure.eventhubs.domain", default="servicebus.windows.net")
    hub = config.get("azure.eventhubs.hub.name")
    return f"eventhubs://{config.get('azure.eventhubs.namespace')}.{domain}/{hub}"


def _service_bus(config: Config) -> str:
    space, entity = config.get("azure.servicebus.namespace"), config.get("azure.servicebus.entity.name")
    return f"servicebus://{space}.servicebus.windows.net/{entity}"


SOURCES = (
    Family(
        "kinesis",
        ("KinesisSource",),
        ("io.confluent.connect.kinesis.KinesisSourceConnector",),
        url("kinesis", "kinesis.region", "kinesis.stream"),
    ),
    Family(
        "sqs",
        ("SqsSource",),
        ("io.confluent.connect.sqs.source.SqsSourceConnector",),
        single_topic(_sqs),
    ),
    Family(
        "pubsub",
        ("PubSubSource",),
        ("io.confluent.connect.gcp.pubsub.PubSubSourceConnector",),
        single_topic(_pubsub),
    ),
    Family(
        "event-hubs",
        ("AzureEventHubsSource",),
        ("io.confluent.connect.azure.eventhubs.EventHubsSourceConnector",),
        single_topic(_event_hub),
    ),
    Family(
        "service-bus",
        ("AzureServiceBusSource",),
        ("io.confluent.connect.azure.servicebus.ServiceBusSourceConnector",),
        single_topic(_service_bus),
    ),
    Family(
        "mqtt",
        ("MqttSource",),
        ("io.confluent.connect.mqtt.MqttSourceConnector",),
        url("mqtt", "mqtt.server.uri", "mqtt.topics"),
    ),
    Family(
        "rabbitmq",
        ("RabbitMQSource",),
        ("io.confluent.connect.rabbitmq.RabbitMQSourceConnector",),
        url("amqp", "rabbitmq.host", "rabbitmq.queue"),
    ),
    Family(
        "activemq",
        ("ActiveMQSource",),
        ("io.confluent.connect.activemq.ActiveMQSourceConnector",),
        url("activemq", "activemq.url", "jms.destination.name"),
    ),
    Family(
        "ibm-mq",
        ("IbmMQSource",),
        ("io.confluent.connect.ibm.mq.IbmMQSourceConnector",),
        url("ibmmq", "mq.hostname", "jms.destination.name"),
    ),
    Family(
        "jms",
        ("JMSSource",),
        ("io.confluent.connect.jms.JmsSourceConnector",),
        url("jms", "java.naming.provider.url", "jms.destination.name"),
    ),
    Family(
        "tibco",
        ("TIBCOSource",),
        ("io.confluent.connect.tibco.TibcoSourceConnector",),
        url("tibco", "tibco.url", "jms.destination.name"),
    ),
)


SINKS = (
    Family(
        "rabbitmq",
        ("RabbitMQSink",),
        ("io.confluent.connect.rabbitmq.sink.RabbitMQSinkConnector",),
        sink=templated("amqp://{rabbitmq.host}/{rabbitmq.exchange}"),
    ),
    Family(
        "solace",
        ("SolaceSink",),
        ("io.confluent.connect.jms.SolaceSinkConnector",),
        sink=templated("solace://{solace.host}/{jms.destination.name}"),
    ),
    Family(
        "mqtt",
        ("MqttSink",),
        ("io.confluent.connect.mqtt.MqttSinkConnector",),
        sink=templated("mqtt://{mqtt.server.uri}/{topic}"),
    ),
)
