"""Logs, metrics and time series."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors.families.common import templated, url
from lineage_bridge_dagster.confluent.connectors.family import Family, SourceContext, Written


def cloudwatch(context: SourceContext) -> Iterator[Written]:
    """Topics by `kafka.topic.format`, one for each log stream."""
    config = context.config
    template = config.get("kafka.topic.format", default="${log-group}.${log-stream}")
    group = config.get("aws.cloudwatch.log.group")
    for stream in config.items("aws.cloudwatch.log.streams"):
        topic = template.replace("${log-group}", group).replace("${log-stream}", stream)
        yield Written(topic, f"cloudwatch://{group}/{stream}" if group else "")


SOURCES = (
    Family(
        "cloudwatch-logs",
        ("CloudWatchLogsSource",),
        ("io.confluent.connect.aws.cloudwatch.AwsCloudWatchSourceConnector",),
        cloudwatch,
    ),
    Family(
        "influxdb",
        ("InfluxDB2Source",),
        ("io.confluent.influxdb.v2.source.InfluxDB2SourceConnector",),
        url("influxdb", "influxdb.url", "influxdb.bucket"),
    ),
)


SINKS = (
    Family(
        "splunk",
        ("SplunkSink",),
        ("com.splunk.kafka.connect.SplunkSinkConnector",),
        sink=templated("splunk://{splunk.hec.uri}/{splunk.indexes}"),
    ),
    Family(
        "azure-log-analytics",
        ("AzureLogAnalyticsSink",),
        ("io.confluent.connect.azureloganalytics.AzureLogAnalyticsSinkConnector",),
        sink=templated("loganalytics://{azure.loganalytics.workspace.id}/{topic}"),
    ),
    Family(
        "cloudwatch-metrics",
        ("CloudWatchMetricsSink",),
        ("io.confluent.connect.aws.cloudwatch.metrics.AwsCloudWatchMetricsSinkConnector",),
        sink=templated("cloudwatch://metrics/{aws.cloudwatch.metrics.namespace}"),
    ),
    Family(
        "influxdb",
        ("InfluxDB2Sink",),
        ("io.confluent.influxdb.v2.sink.InfluxDB2SinkConnector",),
        sink=templated("influxdb://{influxdb.url}/{influxdb.bucket}"),
    ),
    Family(
        "datadog",
        ("DatadogMetricsSink",),
        ("io.confluent.connect.datadog.metrics.DatadogMetricsSinkConnector",),
        sink=templated("datadog://metrics"),
    ),
    Family(
        "newrelic",
        ("NewRelicMetricsSink",),
        ("io.confluent.connect.newrelic.metrics.NewRelicMetricsSinkConnector",),
        sink=templated("newrelic://metrics"),
    ),
    Family(
        "pagerduty",
        ("PagerDutySink",),
        ("io.confluent.connect.pagerduty.PagerDutySinkConnector",),
        sink=templated("pagerduty://events"),
    ),
)
