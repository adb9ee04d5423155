"""Message queues: JMS brokers, RabbitMQ, MQTT, and the queues of the clouds.

Lenses' connectors (stream-reactor) map queues to topics by KCQL.
"""

from __future__ import annotations

import re

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families import kcql
from lineage_bridge_dagster.confluent.connectors.families.common import (
    KeyedDataset,
    keyed,
    named_by_topic,
    per_topic,
    topic_of,
)
from lineage_bridge_dagster.confluent.connectors.family import SinkContext, sink_family, source_family
from lineage_bridge_dagster.confluent.connectors.naming import Rule

#: `mq1.example(1414)`, one of the list in IBM's own connectors.
_MQ_ADDRESS = re.compile(r"\s*([^\s(),]+)\s*\(\s*(\d+)\s*\)")
#: `failover:(tcp://a:61616,tcp://b:61616)?randomize=false`, of ActiveMQ.
_FAILOVER = re.compile(r"^(?:failover|static|fanout):(?://)?\(?", re.IGNORECASE)


def _jms(rule: Rule, host: str) -> KeyedDataset:
    """The destination of a JMS connector, by the key of its address."""

    def destination(host: str, **parts: str) -> str:
        return rule(host=_FAILOVER.sub("", host), **parts)

    return keyed(destination, host=host, destination="jms.destination.name")


def _ibm_mq(config: Config) -> list[str]:
    """A queue or topic, by the keys of Confluent's connectors or IBM's own."""
    address, port = config.get("mq.hostname"), config.get("mq.port")
    if listed := _MQ_ADDRESS.match(config.get("mq.connection.name.list")):
        address, port = listed.groups()
    names = config.items("jms.destination.name", "mq.queue", "mq.topic")
    return [naming.IBM_MQ(host=address, port=port, destination=name) for name in names]


def _amqp(virtual_host: str, **parts: str) -> str:
    return naming.AMQP(virtual_host=virtual_host.strip("/"), **parts)


def _rabbitmq(config: Config) -> list[str]:
    queue = keyed(
        _amqp,
        host="rabbitmq.host | amqp.host",
        port="rabbitmq.port | amqp.port",
        virtual_host="rabbitmq.virtual.host",
        name="= ${topic}",
    )
    return [queue(config, name) for name in config.items("rabbitmq.queue", "amqp.address")]


def mqtt_topic(address: str, topic: str) -> str:
    """A topic of an MQTT broker, which has a port of its own for TLS."""
    secure = address.lower().startswith(("ssl://", "tls://", "mqtts://"))
    return naming.MQTT(host=address, default_port="8883" if secure else "", topic=topic)


def _mqtt(config: Config) -> list[str]:
    return [mqtt_topic(config.get("mqtt.server.uri"), name) for name in config.items("mqtt.topics")]


def _solace(config: Config) -> list[str]:
    """Destinations, by the keys of Confluent's connectors or Solace's own."""
    host = config.get("solace.host", "sol.host")
    names = config.items("jms.destination.name", "sol.queue") or config.items("sol.topics")
    return [naming.SOLACE(host=host, destination=name) for name in names]


def _pubsub(config: Config) -> list[str]:
    project = config.get("gcp.pubsub.project.id", "cps.project")
    topic = naming.PUBSUB_TOPIC(project=project, topic=config.get("gcp.pubsub.topic.id", "cps.topic"))
    subscription = config.get("gcp.pubsub.subscription.id", "cps.subscription")
    return [topic or naming.PUBSUB_SUBSCRIPTION(project=project, subscription=subscription)]


def event_hub(namespace: str, domain: str, hub: str) -> str:
    return naming.EVENT_HUBS(host=f"{namespace}.{domain}" if namespace else "", hub=hub)


def _service_bus(namespace: str, entity: str) -> str:
    return naming.SERVICE_BUS(host=f"{namespace}.servicebus.windows.net" if namespace else "", entity=entity)


@sink_family("event-bridge", "software.amazon.event.kafkaconnector.EventBridgeSinkConnector")
def _event_bridge(context: SinkContext, _topic: str) -> str:
    """The event bus, by its ARN: `arn:aws:events:{region}:{account}:event-bus/{name}`."""
    return context.config.get("aws.eventbridge.eventbus.arn")


_KINESIS = keyed(
    naming.KINESIS,
    region="kinesis.region | region | aws.region = us-west-2",
    stream="kinesis.stream | streamName",
)
_SQS = keyed(naming.http_url, url="sqs.url | sqs.queue.url")
_ACTIVE_MQ = _jms(naming.ACTIVE_MQ, "activemq.url")
_TIBCO = _jms(naming.TIBCO, "tibco.url")
_JMS = _jms(naming.JMS, "java.naming.provider.url")

source_family("kinesis", "KinesisSource", "io.confluent.connect.kinesis.KinesisSourceConnector")(
    topic_of(_KINESIS)
)
source_family(
    "sqs",
    "SqsSource",
    "io.confluent.connect.sqs.source.SqsSourceConnector",
    "com.nordstrom.kafka.connect.sqs.SqsSourceConnector",
)(topic_of(_SQS, "kafka.topic", "topics"))
source_family(
    "pubsub",
    "PubSubSource",
    "io.confluent.connect.gcp.pubsub.PubSubSourceConnector",
    "com.google.pubsub.kafka.source.CloudPubSubSourceConnector",
)(topic_of(_pubsub))
source_family(
    "event-hubs", "AzureEventHubsSource", "io.confluent.connect.azure.eventhubs.EventHubsSourceConnector"
)(
    topic_of(
        keyed(
            event_hub,
            "azure.eventhubs.",
            namespace="namespace",
            domain="domain = servicebus.windows.net",
            hub="hub.name",
        )
    )
)
source_family(
    "service-bus", "AzureServiceBusSource", "io.confluent.connect.azure.servicebus.ServiceBusSourceConnector"
)(topic_of(keyed(_service_bus, "azure.servicebus.", namespace="namespace", entity="entity.name")))
source_family("mqtt", "MqttSource", "io.confluent.connect.mqtt.MqttSourceConnector")(topic_of(_mqtt))
source_family(
    "rabbitmq",
    "RabbitMQSource",
    "io.confluent.connect.rabbitmq.RabbitMQSourceConnector",
    "com.github.themeetgroup.kafka.connect.rabbitmq.source.RabbitMQSourceConnector",
    "com.github.jcustenborder.kafka.connect.rabbitmq.RabbitMQSourceConnector",
    "io.aiven.kafka.connect.amqp.source.AmqpSourceConnector",
)(topic_of(_rabbitmq))
source_family("activemq", "ActiveMQSource", "io.confluent.connect.activemq.ActiveMQSourceConnector")(
    topic_of(_ACTIVE_MQ)
)
source_family(
    "ibm-mq",
    "IbmMQSource",
    "io.confluent.connect.ibm.mq.IbmMQSourceConnector",
    "com.ibm.eventstreams.connect.mqsource.MQSourceConnector",
)(topic_of(_ibm_mq))
source_family(
    "jms",
    "JMSSource",
    "io.confluent.connect.jms.JmsSourceConnector",
    "io.confluent.connect.weblogic.WeblogicSourceConnector",
)(topic_of(_JMS))
source_family("amps", "io.confluent.connect.amps.AmpsSourceConnector")(
    topic_of(keyed(naming.AMPS, "amps.", host="servers", topic="topic"))
)
source_family("tibco", "TIBCOSource", "io.confluent.connect.tibco.TibcoSourceConnector")(topic_of(_TIBCO))
source_family(
    "solace",
    "SolaceSource",
    "io.confluent.connect.solace.SolaceSourceConnector",
    "com.solace.connector.kafka.connect.source.SolaceSourceConnector",
    "com.solace.source.connector.SolaceSourceConnector",
)(topic_of(_solace))


sink_family(
    "solace",
    "SolaceSink",
    "io.confluent.connect.jms.SolaceSinkConnector",
    "com.solace.connector.kafka.connect.sink.SolaceSinkConnector",
    "com.solace.sink.connector.SolaceSinkConnector",
)(per_topic(_solace))
sink_family(
    "ibm-mq",
    "IbmMqSink IbmMQSink",
    "io.confluent.connect.jms.IbmMqSinkConnector",
    "com.ibm.eventstreams.connect.mqsink.MQSinkConnector",
)(per_topic(_ibm_mq))
sink_family(
    "activemq",
    "ActiveMQSink",
    "io.confluent.connect.jms.ActiveMqSinkConnector",
    "io.confluent.connect.jms.ActiveMQSinkConnector",
)(per_topic(_ACTIVE_MQ))
sink_family(
    "tibco",
    "TIBCOSink",
    "io.confluent.connect.jms.TibcoSinkConnector",
    "io.confluent.connect.jms.TIBCOSinkConnector",
)(per_topic(_TIBCO))
sink_family("jms", "JMSSink", "io.confluent.connect.jms.JmsSinkConnector")(per_topic(_JMS))
sink_family("kinesis", "com.amazon.kinesis.kafka.AmazonKinesisSinkConnector")(per_topic(_KINESIS))
sink_family("sqs", "com.nordstrom.kafka.connect.sqs.SqsSinkConnector")(per_topic(_SQS))
sink_family("pubsub", "com.google.pubsub.kafka.sink.CloudPubSubSinkConnector")(per_topic(_pubsub))
sink_family("pubsub-lite", "com.google.pubsublite.kafka.sink.PubSubLiteSinkConnector")(
    per_topic(keyed(naming.PUBSUB_LITE, "pubsublite.", project="project", topic="topic"))
)
sink_family("mqtt", "MqttSink", "io.confluent.connect.mqtt.MqttSinkConnector")(
    named_by_topic(keyed(mqtt_topic, address="mqtt.server.uri", topic="= ${topic}"))
)
sink_family("firehose", "com.amazon.kinesis.kafka.FirehoseSinkConnector")(
    per_topic(keyed(naming.FIREHOSE, region="region", stream="deliveryStream"))
)
# The exchange; for the default exchange, the queue that the routing key names.
sink_family(
    "rabbitmq",
    "RabbitMQSink",
    "io.confluent.connect.rabbitmq.sink.RabbitMQSinkConnector",
    "com.github.themeetgroup.kafka.connect.rabbitmq.sink.RabbitMQSinkConnector",
    "com.github.jcustenborder.kafka.connect.rabbitmq.RabbitMQSinkConnector",
)(
    named_by_topic(
        keyed(
            _amqp,
            "rabbitmq.",
            host="host",
            port="port",
            virtual_host="virtual.host",
            name="exchange | routing.key = ${topic}",
        )
    )
)


#: `Endpoint=sb://namespace.servicebus.windows.net/;SharedAccessKeyName=...`
_ENDPOINT = re.compile(r"(?i)\bEndpoint=(sb://[^;]+)")


def _subscription(project: str, path: str) -> str:
    return naming.PUBSUB_SUBSCRIPTION(project=project, subscription=path.rpartition("/")[2])


def service_bus_entity(connection: str, entity: str) -> str:
    endpoint = _ENDPOINT.search(connection)
    return naming.SERVICE_BUS(host=endpoint[1] if endpoint else "", entity=entity)


_LENSES_JMS = keyed(naming.JMS, "connect.jms.", host="url", destination="= ${topic}")
_LENSES_MQTT = keyed(mqtt_topic, "connect.mqtt.", address="hosts", topic="= ${topic}")
_LENSES_SERVICE_BUS = keyed(
    service_bus_entity, "connect.servicebus.", connection="connection.string", entity="= ${topic}"
)
_LENSES_PUBSUB = keyed(_subscription, "connect.pubsub.", project="gcp.project.id", path="= ${topic}")
_LENSES_EVENT_HUBS = keyed(
    naming.EVENT_HUBS,
    "connect.eventhubs.source.connection.settings.",
    host="bootstrap.servers",
    hub="= ${topic}",
)

source_family("lenses-jms", *kcql.classes("jms.source.JMSSourceConnector"))(
    kcql.source("connect.jms.kcql", _LENSES_JMS)
)
source_family("lenses-mqtt", *kcql.classes("mqtt.source.MqttSourceConnector"))(
    kcql.source("connect.mqtt.kcql", _LENSES_MQTT)
)
source_family("lenses-pubsub", *kcql.classes("gcp.pubsub.source.GCPPubSubSourceConnector"))(
    kcql.source("connect.pubsub.kcql", _LENSES_PUBSUB)
)
source_family("lenses-event-hubs", *kcql.classes("azure.eventhubs.source.AzureEventHubsSourceConnector"))(
    kcql.source("connect.eventhubs.kcql", _LENSES_EVENT_HUBS)
)
source_family("lenses-service-bus", *kcql.classes("azure.servicebus.source.AzureServiceBusSourceConnector"))(
    kcql.source("connect.servicebus.kcql", _LENSES_SERVICE_BUS)
)
sink_family("lenses-jms", *kcql.classes("jms.sink.JMSSinkConnector"))(
    kcql.sink(_LENSES_JMS, "connect.jms.kcql")
)
sink_family("lenses-mqtt", *kcql.classes("mqtt.sink.MqttSinkConnector"))(
    kcql.sink(_LENSES_MQTT, "connect.mqtt.kcql")
)
sink_family("lenses-service-bus", *kcql.classes("azure.servicebus.sink.AzureServiceBusSinkConnector"))(
    kcql.sink(_LENSES_SERVICE_BUS, "connect.servicebus.kcql")
)
