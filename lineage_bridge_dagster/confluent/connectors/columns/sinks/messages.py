"""Messages of queues and streams, logs, metrics and alerts, which take a record as a whole."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors.columns.sinks.table import (
    SinkDataset,
    WrittenColumn,
    row,
    unknown,
    writes,
)


@writes(
    "solace",
    "ibm-mq",
    "activemq",
    "tibco",
    "jms",
    "kinesis",
    "firehose",
    "sqs",
    "pubsub",
    "pubsub-lite",
    "mqtt",
    "rabbitmq",
    "event-bridge",
    "lenses-jms",
    "lenses-mqtt",
    "lenses-service-bus",
    "data-diode",
    "file",
)
def message(_table: SinkDataset) -> Iterator[WrittenColumn]:
    return unknown("a message, or a line, holds the record as a whole: it has no columns")


@writes("azure-log-analytics", "newrelic-events")
def entries(table: SinkDataset) -> Iterator[WrittenColumn]:
    """A column for each field."""
    return row(table.record.value)


@writes(
    "splunk",
    "cloudwatch-metrics",
    "datadog",
    "datadog-logs",
    "newrelic",
    "newrelic-logs",
    "pagerduty",
    "appdynamics",
    "prometheus",
    "gemfire",
    "graphdb",
)
def fixed(_table: SinkDataset) -> Iterator[WrittenColumn]:
    return unknown("the store has a structure of its own, which the record fills as a whole")
