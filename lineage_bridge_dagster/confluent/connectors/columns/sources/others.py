"""Documents of stores, objects of applications, messages of queues, and data that is made up.

Sources: the pages of each connector in Confluent's documentation; `DefaultSchemaSourceHandler` of
couchbase/kafka-connect-couchbase; `RecordBuilder` of ibm-messaging/kafka-connect-mq-source;
`DynamoDBSourceTask` of trustpilot/kafka-connect-dynamodb.
"""

from __future__ import annotations

from dataclasses import replace

from lineage_bridge_dagster.confluent.connectors.columns.records import (
    MADE_UP,
    ConnectRecord,
    RecordNode,
    leaf,
    struct,
)
from lineage_bridge_dagster.confluent.connectors.columns.sources.topic import (
    DECLARED,
    METADATA,
    SourceTopic,
    reads,
)
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.schemas.schemas import AVRO, RegisteredSchema

#: Metadata of a record, separated by spaces.
_COUCHBASE = "event partition cas bySeqno revSeqno expiration flags lockTime bucket vBucketUuid"
_JMS = (
    "messageID messageType timestamp deliveryMode correlationID replyTo destination redelivered type "
    "expiration priority"
)
_OPAQUE = "the body of a message has no columns that are known"


@reads("datagen voluble listener syslog")
def made_up(_topic: SourceTopic) -> ConnectRecord:
    """Synthetic data, or events of the network: there is no column upstream."""
    return ConnectRecord(METADATA, METADATA)


def datagen_schema(config: Config) -> RegisteredSchema | None:
    """The schema that a generator's configuration holds."""
    text = config.get("schema.string")
    return RegisteredSchema(0, text, AVRO) if text else None


DECLARED["datagen"] = datagen_schema


@reads("salesforce salesforce-v2 salesforce-aiven salesforce-events")
def salesforce(topic: SourceTopic) -> ConnectRecord:
    """The fields of an object or event, beside metadata."""
    names = ("ReplayId", "_ObjectType", "_EventType")
    fields = {**topic.row().known, **dict.fromkeys(names, MADE_UP), "ChangeEventHeader": METADATA}
    return ConnectRecord(topic.any_field(), replace(topic.any_field(), fields=fields))


@reads("servicenow-v2 servicenow")
def servicenow(topic: SourceTopic) -> ConnectRecord:
    """The columns of a table, or those that are allowed."""
    config, row = topic.config, topic.row()
    for number, _ in config.numbered("table{n}.name"):
        allowed = config.items(f"table{number}.allowlisted.fields")
        if allowed and topic.topic in (config.get(f"table{number}.topic"), ""):
            found = {name: row.at(name) for name in allowed}
            row = struct({name: node for name, node in found.items() if node is not None})
    return ConnectRecord(topic.any_field(), row)


@reads("couchbase")
def couchbase(topic: SourceTopic) -> ConnectRecord:
    """A document with metadata by the default handler, or the document alone by the others."""
    key = leaf(*(f"{dataset}._key" for dataset in topic.datasets))
    document = topic.row()
    handler = topic.config.get("couchbase.source.handler").rpartition(".")[2]
    if handler in ("", "DefaultSchemaSourceHandler"):
        fields = {"key": key, "content": document.whole(), **dict.fromkeys(_COUCHBASE.split(), MADE_UP)}
        return ConnectRecord(key, struct(fields))
    if "WithMetadata" in handler:
        metadata = dict.fromkeys(("event", "partition", "cas", "bySeqno", "revSeqno"), MADE_UP)
        return ConnectRecord(key, struct({**metadata, "key": key, "content": document}))
    return ConnectRecord(key, document)


@reads("dynamodb")
def dynamodb(topic: SourceTopic) -> ConnectRecord:
    """An item before and after a change as a document of JSON, with metadata."""
    item = struct({"document": topic.row()})
    event = {"before": item, "after": item, "source": METADATA}
    metadata = dict.fromkeys(("op", "ts_ms", "ts_us", "ts_ns", "sequence_number"), MADE_UP)
    return ConnectRecord(topic.any_field(), struct({**event, **metadata}))


@reads("dynamodb-trustpilot")
def dynamodb_trustpilot(topic: SourceTopic) -> ConnectRecord:
    fields = {
        "document": topic.row(),
        "source": METADATA,
        "op": MADE_UP,
        "ts_ms": MADE_UP,
        "version": MADE_UP,
    }
    return ConnectRecord(topic.any_field(), struct(fields))


@reads("mirror replicator data-diode")
def copied(topic: SourceTopic) -> ConnectRecord:
    """Key and value of another cluster's topic, byte for byte."""
    if not topic.datasets:
        return ConnectRecord(topic.row(), topic.row())
    (key, value) = (
        RecordNode(frozenset(f"{dataset}.{side}" for dataset in topic.datasets), open=True)
        for side in ("key", "value")
    )
    return ConnectRecord(key, value)


@reads("cosmosdb cosmosdb-v2")
def cosmosdb(topic: SourceTopic) -> ConnectRecord:
    """A document; its id is the key."""
    metadata = dict.fromkeys(("_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"), MADE_UP)
    row = topic.row()
    key = leaf(*(f"{dataset}.id" for dataset in topic.datasets))
    return ConnectRecord(key, replace(row, fields={**row.known, **metadata}))


@reads("ibm-mq jms activemq tibco solace lenses-jms amps")
def jms(topic: SourceTopic) -> ConnectRecord:
    """A message: its headers are metadata, its body is opaque."""
    body = RecordNode(open=True, unknown=_OPAQUE)
    fields = {**dict.fromkeys(_JMS.split(), MADE_UP), "properties": METADATA}
    return (
        ConnectRecord(METADATA, replace(body, fields=fields))
        if not _is_plain(topic)
        else ConnectRecord(MADE_UP, body)
    )


def _is_plain(topic: SourceTopic) -> bool:
    """Whether a record's value is the body alone."""
    return "mq.record.builder" in topic.config


@reads(
    """kinesis sqs pubsub event-hubs service-bus mqtt rabbitmq lenses-mqtt lenses-pubsub lenses-event-hubs
    lenses-service-bus cloudwatch-logs"""
)
def opaque(_topic: SourceTopic) -> ConnectRecord:
    """A message whose body is bytes or text."""
    return ConnectRecord(MADE_UP, RecordNode(open=True, unknown=_OPAQUE))


def by_name(topic: SourceTopic) -> ConnectRecord:
    """Files, documents and entities of which each field is written under its own name."""
    row = topic.row()
    return ConnectRecord(topic.any_field(), row if row.known else topic.any_field())
