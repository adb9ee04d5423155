"""Message queues: JMS brokers, RabbitMQ, MQTT, and the queues of the clouds.

Lenses' connectors (stream-reactor) map queues to topics by KCQL.
"""

from __future__ import annotations

import re

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import keyed
from lineage_bridge_dagster.confluent.connectors.families.declared import declare
from lineage_bridge_dagster.confluent.connectors.family import SinkContext, sink_family

#: `mq1.example(1414)`, one of the list in IBM's own connectors.
_MQ_ADDRESS = re.compile(r"\s*([^\s(),]+)\s*\(\s*(\d+)\s*\)")
#: `failover:(tcp://a:61616,tcp://b:61616)?randomize=false`, of ActiveMQ.
_FAILOVER = re.compile(r"^(?:failover|static|fanout):(?://)?\(?", re.IGNORECASE)


def _active_mq(host: str, destination: str) -> str:
    return naming.ACTIVE_MQ(host=_FAILOVER.sub("", host), destination=destination)


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
        host="rabbitmq.host|amqp.host",
        port="rabbitmq.port|amqp.port",
        virtual_host="rabbitmq.virtual.host",
        name="=${topic}",
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


#: `Endpoint=sb://namespace.servicebus.windows.net/;SharedAccessKeyName=...`
_ENDPOINT = re.compile(r"(?i)\bEndpoint=(sb://[^;]+)")


def _subscription(project: str, path: str) -> str:
    return naming.PUBSUB_SUBSCRIPTION(project=project, subscription=path.rpartition("/")[2])


def service_bus_entity(connection: str, entity: str) -> str:
    endpoint = _ENDPOINT.search(connection)
    return naming.SERVICE_BUS(host=endpoint[1] if endpoint else "", entity=entity)


# RabbitMQ's sink writes to an exchange; to the default one, for the queue that the routing key names.
declare(
    """
    kinesis: KINESIS region=kinesis.region|region|aws.region=us-west-2 stream=kinesis.stream|streamName
        KinesisSource confluent:kinesis.KinesisSourceConnector
        com.amazon.kinesis.kafka.AmazonKinesisSinkConnector
    sqs: http_url topic:kafka.topic|topics url=sqs.url|sqs.queue.url
        SqsSource confluent:sqs.source.SqsSourceConnector
        com.nordstrom.kafka.connect.sqs.SqsSourceConnector com.nordstrom.kafka.connect.sqs.SqsSinkConnector
    pubsub: pubsub
        PubSubSource confluent:gcp.pubsub.PubSubSourceConnector
        com.google.pubsub.kafka.source.CloudPubSubSourceConnector
        com.google.pubsub.kafka.sink.CloudPubSubSinkConnector
    pubsub-lite: PUBSUB_LITE keys:pubsublite. project=project topic=topic
        com.google.pubsublite.kafka.sink.PubSubLiteSinkConnector
    event-hubs: event_hub keys:azure.eventhubs. namespace=namespace domain=domain=servicebus.windows.net
        hub=hub.name AzureEventHubsSource confluent:azure.eventhubs.EventHubsSourceConnector
    service-bus: service_bus keys:azure.servicebus. namespace=namespace entity=entity.name
        AzureServiceBusSource confluent:azure.servicebus.ServiceBusSourceConnector
    firehose: FIREHOSE region=region stream=deliveryStream
        com.amazon.kinesis.kafka.FirehoseSinkConnector
    mqtt: mqtt MqttSource confluent:mqtt.MqttSourceConnector
    mqtt: mqtt_topic address=mqtt.server.uri topic==${topic} MqttSink confluent:mqtt.MqttSinkConnector
    rabbitmq: rabbitmq
        RabbitMQSource confluent:rabbitmq.RabbitMQSourceConnector
        com.github.themeetgroup.kafka.connect.rabbitmq.source.RabbitMQSourceConnector
        com.github.jcustenborder.kafka.connect.rabbitmq.RabbitMQSourceConnector
        io.aiven.kafka.connect.amqp.source.AmqpSourceConnector
    rabbitmq: amqp keys:rabbitmq. host=host port=port virtual_host=virtual.host
        name=exchange|routing.key=${topic}
        RabbitMQSink confluent:rabbitmq.sink.RabbitMQSinkConnector
        com.github.themeetgroup.kafka.connect.rabbitmq.sink.RabbitMQSinkConnector
        com.github.jcustenborder.kafka.connect.rabbitmq.RabbitMQSinkConnector
    activemq: active_mq host=activemq.url destination=jms.destination.name
        ActiveMQSource confluent:activemq.ActiveMQSourceConnector
        ActiveMQSink confluent:jms.ActiveMqSinkConnector confluent:jms.ActiveMQSinkConnector
    ibm-mq: ibm_mq
        IbmMQSource confluent:ibm.mq.IbmMQSourceConnector
        com.ibm.eventstreams.connect.mqsource.MQSourceConnector
        IbmMqSink IbmMQSink confluent:jms.IbmMqSinkConnector
        com.ibm.eventstreams.connect.mqsink.MQSinkConnector
    jms: JMS host=java.naming.provider.url destination=jms.destination.name
        JMSSource confluent:jms.JmsSourceConnector confluent:weblogic.WeblogicSourceConnector
        JMSSink confluent:jms.JmsSinkConnector
    amps: AMPS keys:amps. host=servers topic=topic confluent:amps.AmpsSourceConnector
    tibco: TIBCO host=tibco.url destination=jms.destination.name
        TIBCOSource confluent:tibco.TibcoSourceConnector
        TIBCOSink confluent:jms.TibcoSinkConnector confluent:jms.TIBCOSinkConnector
    solace: solace
        SolaceSource confluent:solace.SolaceSourceConnector
        com.solace.connector.kafka.connect.source.SolaceSourceConnector
        com.solace.source.connector.SolaceSourceConnector
        SolaceSink confluent:jms.SolaceSinkConnector
        com.solace.connector.kafka.connect.sink.SolaceSinkConnector
        com.solace.sink.connector.SolaceSinkConnector
    lenses-jms: JMS kcql:connect.jms.kcql keys:connect.jms. host=url destination==${topic}
        lenses:jms.source.JMSSourceConnector lenses:jms.sink.JMSSinkConnector
    lenses-mqtt: mqtt_topic kcql:connect.mqtt.kcql keys:connect.mqtt. address=hosts topic==${topic}
        lenses:mqtt.source.MqttSourceConnector lenses:mqtt.sink.MqttSinkConnector
    lenses-pubsub: subscription kcql:connect.pubsub.kcql keys:connect.pubsub. project=gcp.project.id
        path==${topic} lenses:gcp.pubsub.source.GCPPubSubSourceConnector
    lenses-event-hubs: EVENT_HUBS kcql:connect.eventhubs.kcql
        keys:connect.eventhubs.source.connection.settings. host=bootstrap.servers hub==${topic}
        lenses:azure.eventhubs.source.AzureEventHubsSourceConnector
    lenses-service-bus: service_bus_entity kcql:connect.servicebus.kcql keys:connect.servicebus.
        connection=connection.string entity==${topic}
        lenses:azure.servicebus.source.AzureServiceBusSourceConnector
        lenses:azure.servicebus.sink.AzureServiceBusSinkConnector
    """,
    active_mq=_active_mq,
    amqp=_amqp,
    event_hub=event_hub,
    ibm_mq=_ibm_mq,
    mqtt=_mqtt,
    mqtt_topic=mqtt_topic,
    pubsub=_pubsub,
    rabbitmq=_rabbitmq,
    service_bus=_service_bus,
    service_bus_entity=service_bus_entity,
    solace=_solace,
    subscription=_subscription,
)
