"""Objects of applications, calls of functions and APIs, messages of queues, logs, metrics and alerts.

Sources: the configuration references of Confluent's Salesforce, ServiceNow, HTTP and Lambda sinks.
"""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    ColumnReader,
    SinkDataset,
    WrittenColumn,
    row,
    tree,
    unknown,
    writes,
)

#: Fields that the Salesforce sources add to a record, to say what it is about.
_EVENT_FIELDS = ("_ObjectType", "_EventType")
_REFERENCE = "which fields are references, only Salesforce tells, and the connector leaves them out"


@writes("salesforce")
def salesforce(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The value's fields, without those that the object's settings leave out."""
    config = table.config
    number = config.number_of("salesforce.object{n}.topics", table.topic)
    prefix = f"salesforce.object{number}." if number else "salesforce."
    dropped = {*config.items(prefix + "ignore.fields", "salesforce.ignore.fields"), *_EVENT_FIELDS}
    no_references = config.flag(prefix + "ignore.reference.fields")
    for item in row(table.record.value):
        if item.path in dropped:
            continue
        is_reference = no_references and item.path.endswith("Id") and item.path != "Id"
        yield WrittenColumn(item.path, unknown=_REFERENCE) if is_reference else item


@writes("servicenow azure-log-analytics newrelic-events")
def entries(table: SinkDataset) -> Iterator[WrittenColumn]:
    """A column for each of the value's fields."""
    return row(table.record.value)


@writes("http http-v1")
def http(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The fields of a JSON body, unless expressions replace parts of it."""
    config = table.config
    number = config.number_of("api{n}.topics", table.topic)
    prefix = f"api{number}." if number else ""
    body = config.get(prefix + "request.body.format", prefix + "http.request.body.format").lower()
    managed = "." not in config.get("connector.class")
    if config.get(prefix + "regex.patterns", prefix + "http.regex.patterns"):
        yield from unknown("regular expressions replace parts of the request's body")
    elif body == "json" or (not body and managed and number):
        yield from tree(table.record.value)
    else:
        yield from unknown("the request's body is a text of the whole record")


@writes("milvus weaviate pinecone qdrant")
def vectors(table: SinkDataset) -> Iterator[WrittenColumn]:
    """The properties of an object are the value's fields; others depend on the store's settings."""
    if table.dataset.startswith(("milvus:", "weaviate:")):
        yield from row(table.record.value)
    else:
        yield from unknown("the record's fields are parts of a vector and of its metadata")


def whole(reason: str) -> ColumnReader:
    """Targets that take a record as a whole, so that it has no columns there."""
    return lambda _table: unknown(reason)


writes("lambda google-functions")(
    whole("a function is called with the record; what it does with the fields is not told")
)
writes("lenses-http")(whole("a template in the configuration makes the request's body"))
writes("data-explorer")(whole("a mapping in the cluster tells which columns the fields go to"))
writes(
    """solace ibm-mq activemq tibco jms kinesis firehose sqs pubsub pubsub-lite mqtt rabbitmq event-bridge
    lenses-jms lenses-mqtt lenses-service-bus data-diode file ibm-cos zeebe"""
)(whole("a message, or a line, holds the record as a whole: it has no columns"))
writes(
    """splunk cloudwatch-metrics datadog datadog-logs newrelic newrelic-logs pagerduty appdynamics
    prometheus gemfire graphdb"""
)(whole("the store has a structure of its own, which the record fills as a whole"))
writes("solr aerospike")(whole("the connector's documentation does not tell what it makes of the fields"))
