"""Message queues: JMS brokers, RabbitMQ, MQTT, and the queues of the clouds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import per_topic, topic_of
from lineage_bridge_dagster.confluent.connectors.family import Family, SinkContext
from lineage_bridge_dagster.confluent.connectors.naming import Rule

#: `mq1.example(1414)`, one of the list in IBM's own connectors.
_MQ_ADDRESS = re.compile(r"\s*([^\s(),]+)\s*\(\s*(\d+)\s*\)")
#: `failover:(tcp://a:61616,tcp://b:61616)?randomize=false`, of ActiveMQ.
_FAILOVER = re.compile(r"^(?:failover|static|fanout):(?://)?\(?", re.IGNORECASE)


def _jms(rule: Rule, *host: str, port: str = "") -> Callable[[Config], Iterable[str]]:
    """The destination of a JMS connector, by the keys of its address and its port."""

    def datasets(config: Config) -> list[str]:
        address = _FAILOVER.sub("", config.get(*host))
        destination = config.get("jms.destination.name")
        return [rule(host=address, port=config.get(port) if port else "", destination=destination)]

    return datasets


def _ibm_mq(config: Config) -> list[str]:
    """A queue or topic, by the keys of Confluent's connectors or IBM's own."""
    address, port = config.get("mq.hostname"), config.get("mq.port")
    if listed := _MQ_ADDRESS.match(config.get("mq.connection.name.list")):
        address, port = listed.groups()
    names = config.items("jms.destination.name", "mq.queue", "mq.topic")
    return [naming.IBM_MQ(host=address, port=port, destination=name) for name in names]


def _rabbitmq(config: Config) -> list[str]:
    host, port = config.get("rabbitmq.host", "amqp.host"), config.get("rabbitmq.port", "amqp.port")
    space = config.get("rabbitmq.virtual.host").strip("/")
    return [
        naming.AMQP(host=host, port=port, virtual_host=space, name=queue)
        for queue in config.items("rabbitmq.queue", "amqp.address")
    ]


def _rabbitmq_sink(context: SinkContext, topic: str) -> str:
    """The exchange; for the default exchange, the queue that the routing key names."""
    config = context.config
    exchange = config.get("rabbitmq.exchange")
    name = exchange or config.get("rabbitmq.routing.key", default=topic)
    return naming.AMQP(
        host=config.get("rabbitmq.host"),
        port=config.get("rabbitmq.port"),
        virtual_host=config.get("rabbitmq.virtual.host").strip("/"),
        name=name,
    )


def mqtt_topic(address: str, topic: str) -> str:
    """A topic of an MQTT broker, which has a port of its own for TLS."""
    secure = address.lower().startswith(("ssl://", "tls://", "mqtts://"))
    return naming.MQTT(host=address, default_port="8883" if secure else "", topic=topic)


def _mqtt(config: Config) -> list[str]:
    return [mqtt_topic(config.get("mqtt.server.uri"), name) for name in config.items("mqtt.topics")]


def _mqtt_sink(context: SinkContext, topic: str) -> str:
    return mqtt_topic(context.config.get("mqtt.server.uri"), topic)


def _solace(config: Config) -> list[str]:
    """Destinations, by the keys of Confluent's connectors or Solace's own."""
    host = config.get("solace.host", "sol.host")
    names = config.items("jms.destination.name", "sol.queue") or config.items("sol.topics")
    return [naming.SOLACE(host=host, destination=name) for name in names]


def _kinesis(config: Config) -> list[str]:
    region = config.get("kinesis.region", "region", "aws.region", default="us-west-2")
    return [naming.KINESIS(region=region, stream=config.get("kinesis.stream", "streamName"))]


def _firehose(context: SinkContext, _topic: str) -> str:
    config = context.config
    return naming.FIREHOSE(region=config.get("region"), stream=config.get("deliveryStream"))


def _sqs(config: Config) -> list[str]:
    return [naming.http_url(config.get("sqs.url", "sqs.queue.url"))]


def _pubsub(config: Config) -> list[str]:
    project = config.get("gcp.pubsub.project.id", "cps.project")
    topic = naming.PUBSUB_TOPIC(project=project, topic=config.get("gcp.pubsub.topic.id", "cps.topic"))
    subscription = config.get("gcp.pubsub.subscription.id", "cps.subscription")
    return [topic or naming.PUBSUB_SUBSCRIPTION(project=project, subscription=subscription)]


def _pubsub_lite(config: Config) -> list[str]:
    return [
        naming.PUBSUB_LITE(project=config.get("pubsublite.project"), topic=config.get("pubsublite.topic"))
    ]


def _event_hub(config: Config) -> list[str]:
    domain = config.get("azure.eventhubs.domain", default="servicebus.windows.net")
    space, hub = config.get("azure.eventhubs.namespace"), config.get("azure.eventhubs.hub.name")
    return [naming.EVENT_HUBS(host=f"{space}.{domain}" if space else "", hub=hub)]


def _service_bus(config: Config) -> list[str]:
    space, entity = config.get("azure.servicebus.namespace"), config.get("azure.servicebus.entity.name")
    return [naming.SERVICE_BUS(host=f"{space}.servicebus.windows.net" if space else "", entity=entity)]


def _event_bridge(context: SinkContext, _topic: str) -> str:
    """The event bus, by its ARN: `arn:aws:events:{region}:{account}:event-bus/{name}`."""
    return context.config.get("aws.eventbridge.eventbus.arn")


def _amps(config: Config) -> list[str]:
    return [naming.AMPS(host=config.get("amps.servers"), topic=config.get("amps.topic"))]


_ACTIVE_MQ = _jms(naming.ACTIVE_MQ, "activemq.url")
_TIBCO = _jms(naming.TIBCO, "tibco.url")
_JMS = _jms(naming.JMS, "java.naming.provider.url")

SOURCES = (
    Family(
        "kinesis",
        ("KinesisSource",),
        ("io.confluent.connect.kinesis.KinesisSourceConnector",),
        topic_of(_kinesis),
    ),
    Family(
        "sqs",
        ("SqsSource",),
        (
            "io.confluent.connect.sqs.source.SqsSourceConnector",
            "com.nordstrom.kafka.connect.sqs.SqsSourceConnector",
        ),
        topic_of(_sqs, "kafka.topic", "topics"),
    ),
    Family(
        "pubsub",
        ("PubSubSource",),
        (
            "io.confluent.connect.gcp.pubsub.PubSubSourceConnector",
            "com.google.pubsub.kafka.source.CloudPubSubSourceConnector",
        ),
        topic_of(_pubsub),
    ),
    Family(
        "event-hubs",
        ("AzureEventHubsSource",),
        ("io.confluent.connect.azure.eventhubs.EventHubsSourceConnector",),
        topic_of(_event_hub),
    ),
    Family(
        "service-bus",
        ("AzureServiceBusSource",),
        ("io.confluent.connect.azure.servicebus.ServiceBusSourceConnector",),
        topic_of(_service_bus),
    ),
    Family(
        "mqtt",
        ("MqttSource",),
        ("io.confluent.connect.mqtt.MqttSourceConnector",),
        topic_of(_mqtt),
    ),
    Family(
        "rabbitmq",
        ("RabbitMQSource",),
        (
            "io.confluent.connect.rabbitmq.RabbitMQSourceConnector",
            "com.github.themeetgroup.kafka.connect.rabbitmq.source.RabbitMQSourceConnector",
            "com.github.jcustenborder.kafka.connect.rabbitmq.RabbitMQSourceConnector",
            "io.aiven.kafka.connect.amqp.source.AmqpSourceConnector",
        ),
        topic_of(_rabbitmq),
    ),
    Family(
        "activemq",
        ("ActiveMQSource",),
        ("io.confluent.connect.activemq.ActiveMQSourceConnector",),
        topic_of(_ACTIVE_MQ),
    ),
    Family(
        "ibm-mq",
        ("IbmMQSource",),
        (
            "io.confluent.connect.ibm.mq.IbmMQSourceConnector",
            "com.ibm.eventstreams.connect.mqsource.MQSourceConnector",
        ),
        topic_of(_ibm_mq),
    ),
    Family(
        "jms",
        ("JMSSource",),
        (
            "io.confluent.connect.jms.JmsSourceConnector",
            "io.confluent.connect.weblogic.WeblogicSourceConnector",
        ),
        topic_of(_JMS),
    ),
    Family("amps", (), ("io.confluent.connect.amps.AmpsSourceConnector",), topic_of(_amps)),
    Family(
        "tibco",
        ("TIBCOSource",),
        ("io.confluent.connect.tibco.TibcoSourceConnector",),
        topic_of(_TIBCO),
    ),
    Family(
        "solace",
        ("SolaceSource",),
        (
            "io.confluent.connect.solace.SolaceSourceConnector",
            "com.solace.connector.kafka.connect.source.SolaceSourceConnector",
            "com.solace.source.connector.SolaceSourceConnector",
        ),
        topic_of(_solace),
    ),
)


SINKS = (
    Family(
        "rabbitmq",
        ("RabbitMQSink",),
        (
            "io.confluent.connect.rabbitmq.sink.RabbitMQSinkConnector",
            "com.github.themeetgroup.kafka.connect.rabbitmq.sink.RabbitMQSinkConnector",
            "com.github.jcustenborder.kafka.connect.rabbitmq.RabbitMQSinkConnector",
        ),
        sink=_rabbitmq_sink,
    ),
    Family(
        "solace",
        ("SolaceSink",),
        (
            "io.confluent.connect.jms.SolaceSinkConnector",
            "com.solace.connector.kafka.connect.sink.SolaceSinkConnector",
            "com.solace.sink.connector.SolaceSinkConnector",
        ),
        sink=per_topic(_solace),
    ),
    Family(
        "ibm-mq",
        ("IbmMqSink", "IbmMQSink"),
        (
            "io.confluent.connect.jms.IbmMqSinkConnector",
            "com.ibm.eventstreams.connect.mqsink.MQSinkConnector",
        ),
        sink=per_topic(_ibm_mq),
    ),
    Family(
        "activemq",
        ("ActiveMQSink",),
        ("io.confluent.connect.jms.ActiveMqSinkConnector", "io.confluent.connect.jms.ActiveMQSinkConnector"),
        sink=per_topic(_ACTIVE_MQ),
    ),
    Family(
        "tibco",
        ("TIBCOSink",),
        ("io.confluent.connect.jms.TibcoSinkConnector", "io.confluent.connect.jms.TIBCOSinkConnector"),
        sink=per_topic(_TIBCO),
    ),
    Family("jms", ("JMSSink",), ("io.confluent.connect.jms.JmsSinkConnector",), sink=per_topic(_JMS)),
    Family(
        "mqtt",
        ("MqttSink",),
        ("io.confluent.connect.mqtt.MqttSinkConnector",),
        sink=_mqtt_sink,
    ),
    Family(
        "kinesis",
        (),
        ("com.amazon.kinesis.kafka.AmazonKinesisSinkConnector",),
        sink=per_topic(_kinesis),
    ),
    Family("firehose", (), ("com.amazon.kinesis.kafka.FirehoseSinkConnector",), sink=_firehose),
    Family("sqs", (), ("com.nordstrom.kafka.connect.sqs.SqsSinkConnector",), sink=per_topic(_sqs)),
    Family(
        "pubsub",
        (),
        ("com.google.pubsub.kafka.sink.CloudPubSubSinkConnector",),
        sink=per_topic(_pubsub),
    ),
    Family(
        "pubsub-lite",
        (),
        ("com.google.pubsublite.kafka.sink.PubSubLiteSinkConnector",),
        sink=per_topic(_pubsub_lite),
    ),
    Family(
        "event-bridge",
        (),
        ("software.amazon.event.kafkaconnector.EventBridgeSinkConnector",),
        sink=_event_bridge,
    ),
)
