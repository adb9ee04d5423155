"""Logs, metrics and alerts; and data that comes from nothing with a name: generated, or sent to a port."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.families.common import topic_of
from lineage_bridge_dagster.confluent.connectors.families.declared import declare
from lineage_bridge_dagster.confluent.connectors.family import (
    SinkContext,
    SourceContext,
    WrittenTopic,
    named_for,
    sink_family,
    source_family,
)

_GROUP, _STREAM = "${log-group}", "${log-stream}"
_LONGEST_TOPIC = 249
#: What a topic's name cannot have; the connector replaces it.
_NOT_IN_TOPICS = re.compile(r"[^A-Za-z0-9._-]")


@source_family(
    "cloudwatch-logs", "CloudWatchLogsSource", "confluent:aws.cloudwatch.AwsCloudWatchSourceConnector"
)
def cloudwatch(context: SourceContext) -> Iterator[WrittenTopic]:
    """Topics by `kafka.topic.format`, one for each log stream.

    Without a list of streams, they are those that a topic of the cluster is named for.
    """
    config = context.config
    group = config.get("aws.cloudwatch.log.group")
    template = config.get("kafka.topic.format", default=f"{_GROUP}.{_STREAM}").replace(_GROUP, group)
    streams = config.items("aws.cloudwatch.log.streams")
    if _STREAM not in template:
        for stream in streams or [""]:
            yield WrittenTopic(
                _existing(context, template), naming.CLOUDWATCH_LOGS(group=group, stream=stream)
            )
        return
    start, _, end = template.partition(_STREAM)
    for stream in streams:
        topic = _existing(context, start + stream + end)
        yield WrittenTopic(topic, naming.CLOUDWATCH_LOGS(group=group, stream=stream))
    if streams or not group:
        return
    pattern = re.compile(f"{_any_sign(start)}(.+){_any_sign(end)}", re.DOTALL)
    # The start of a name is known as far as it is allowed in a topic.
    for head in {start if not _NOT_IN_TOPICS.search(start) else ""}:
        topics = [head + rest for rest in context.named_like(head)] if head else [*context.cluster_topics]
        for topic in topics:
            if match := pattern.fullmatch(topic):
                yield named_for(topic, naming.CLOUDWATCH_LOGS(group=group, stream=match[1]))


def _any_sign(text: str) -> str:
    return "".join("[._-]" if _NOT_IN_TOPICS.match(char) else re.escape(char) for char in text)


def _existing(context: SourceContext, topic: str) -> str:
    """A topic; if it cannot have that name, the only one of the cluster that it may have become."""
    if not _NOT_IN_TOPICS.search(topic):
        return topic
    pattern = re.compile(_any_sign(topic)) if len(topic) <= _LONGEST_TOPIC else None
    found = [name for name in context.cluster_topics if pattern and pattern.fullmatch(name)]
    if len(found) == 1:
        return found[0]
    context.warnings.append(f"{topic} has signs that a topic cannot have: its topic is not known")
    return ""


@sink_family("splunk", "SplunkSink", "com.splunk.kafka.connect.SplunkSinkConnector")
def splunk(context: SinkContext, topic: str) -> str:
    """The index of a topic: the only one of `splunk.indexes`, or the one at the topic's place in `topics`."""
    config = context.config
    indexes = config.items("splunk.indexes", default="default" if context.connector.id else "")
    named = config.items("topics")
    if not named:
        # The sink does not use the list with topics.regex: the token decides.
        indexes = []
    if len(indexes) == 1:
        index = indexes[0]
    elif len(indexes) == len(named) and topic in named:
        index = indexes[named.index(topic)]
    else:
        context.warnings.append("splunk.indexes does not tell the index: that of the HEC token is not known")
        return ""
    return naming.SPLUNK(host=config.get("splunk.hec.uri"), index=index)


@sink_family(
    "azure-log-analytics",
    "AzureLogAnalyticsSink AzureLogAnalyticsSinkV2",
    "confluent:azureloganalytics.AzureLogAnalyticsSinkConnector",
)
def log_analytics(context: SinkContext, topic: str) -> str:
    """A table of a workspace; version 2 knows its ingestion endpoint only."""
    config = context.config
    workspace = config.get("azure.loganalytics.workspace.id")
    mapped = config.pairs("topic.to.table.map").get(topic) or config.pairs(
        "azure.loganalytics.topic2table.map"
    ).get(topic, "")
    if workspace:
        return naming.LOG_ANALYTICS(workspace=workspace, table=mapped or topic)
    endpoint = config.get("azure.logs.ingestion.endpoint")
    return naming.LOG_INGESTION(host=endpoint, table=mapped)


declare(
    """
    cloudwatch-metrics: CLOUDWATCH_METRICS namespace=aws.cloudwatch.metrics.namespace
        CloudWatchMetricsSink confluent:aws.cloudwatch.metrics.AwsCloudWatchMetricsSinkConnector
    datadog: DATADOG kind==metrics
        DatadogMetricsSink confluent:datadog.metrics.DatadogMetricsSinkConnector
    datadog-logs: DATADOG kind==logs com.datadoghq.connect.logs.DatadogLogsSinkConnector
    newrelic: NEW_RELIC kind==metrics
        NewRelicMetricsSink confluent:newrelic.metrics.NewRelicMetricsSinkConnector
        com.newrelic.telemetry.metrics.MetricsSinkConnector
    newrelic-events: NEW_RELIC kind==events com.newrelic.telemetry.events.EventsSinkConnector
    newrelic-logs: NEW_RELIC kind==logs com.newrelic.telemetry.logs.LogsSinkConnector
    pagerduty: PAGER_DUTY kind==incidents PagerDutySink confluent:pagerduty.PagerDutySinkConnector
    appdynamics: APP_DYNAMICS keys:machine.agent. host=host port=port
        confluent:appdynamics.metrics.AppDynamicsMetricsSinkConnector
    """
)


#: `genkp.{topic}.with`, `genv.{topic}.{field}.sometimes.matching`
_GENERATOR = re.compile(r"gen[kv]p?\.([^.]+)\..+")


@source_family("syslog", "confluent:syslog.SyslogSourceConnector", has_dataset=False)
def syslog(context: SourceContext) -> Iterator[WrittenTopic]:
    yield WrittenTopic(context.config.get("topic", "kafka.topic", "topic.prefix", default="syslog"))


@source_family("voluble", "io.mdrogalis.voluble.VolubleSourceConnector", has_dataset=False)
def voluble(context: SourceContext) -> Iterator[WrittenTopic]:
    """The topics of the generators' keys: MichaelDrogalis/voluble."""
    for topic in dict.fromkeys(match[1] for match in context.config.keys_like(_GENERATOR)):
        yield WrittenTopic(topic)


source_family(
    "datagen",
    "DatagenSource DatagenSourceInternal",
    "io.confluent.kafka.connect.datagen.DatagenConnector",
    "com.github.jcustenborder.kafka.connect.simulator.SimulatorSourceConnector",
    has_dataset=False,
)(topic_of(lambda _config: []))
source_family(
    "listener",
    "confluent:snmp.SnmpTrapSourceConnector",
    "confluent:SplunkHttpSourceConnector",
    "confluent:splunk.s2s.SplunkS2SSourceConnector",
    has_dataset=False,
)(topic_of(lambda _config: []))
