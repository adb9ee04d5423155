"""Applications: Salesforce, ServiceNow, Zendesk, Jira, GitHub, Marketo and Camunda."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.addresses import authority
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import keyed, per_topic
from lineage_bridge_dagster.confluent.connectors.families.declared import declare
from lineage_bridge_dagster.confluent.connectors.family import (
    SinkContext,
    Source,
    SourceContext,
    WrittenTopic,
    sink_family,
    source_family,
)
from lineage_bridge_dagster.confluent.connectors.java_regex import full_matches

_SOQL = re.compile(r"\bfrom\s+(\w+)", re.IGNORECASE)
_LOGIN = "https://login.salesforce.com"
#: Keys of the one event or channel that is read.
_CHANNEL = (
    "salesforce.cdc.name",
    "salesforce.cdc.channel",
    "salesforce.platform.event.name",
    "salesforce.platform.custom.channel.name",
    "salesforce.channel.name",
)


def _salesforce(config: Config, name: str) -> str:
    host = config.get("salesforce.instance", "salesforce.uri", default=_LOGIN)
    return naming.SALESFORCE(host=host, object=name)


@source_family(
    "salesforce",
    "SalesforceBulkApiSource SalesforceBulkApiV2Source SalesforcePushTopicSource",
    "confluent:salesforce.SalesforceBulkApiSourceConnector",
    "io.confluent.salesforce.SalesforcePushTopicSourceConnector",
    "io.confluent.salesforce.SalesforceSourceConnector",
)
def _salesforce_objects(context: SourceContext) -> Iterator[WrittenTopic]:
    """One object. `kafka.topic` may have the variables `${_ObjectType}` and `${_EventType}`."""
    config = context.config
    name, template = config.get("salesforce.object"), config.get("kafka.topic")
    if "${" not in template:
        yield WrittenTopic(template, _salesforce(config, name))
        return
    topic = template.replace("${_ObjectType}", name)
    if config.flag("kafka.topic.lowercase", True):
        topic = topic.lower()
    parts = re.split(r"\$\{_eventtype\}", topic, flags=re.I)
    pattern = "[^.]+".join(map(re.escape, parts))
    topics = full_matches(pattern, context.cluster_topics)
    if not topics:
        context.warnings.append(f"kafka.topic {template} matches no topic of the cluster")
    for found in topics or [""]:
        yield WrittenTopic(found, _salesforce(config, name), by_name=len(parts) > 1)


@source_family("salesforce-v2", "SalesforceSourceV2")
def _salesforce_prefixed(context: SourceContext) -> Iterator[WrittenTopic]:
    """Several objects, each with its topic `{topic.prefix}.{object}`."""
    config = context.config
    prefix = config.get("topic.prefix")
    for name in config.items("sobject.names"):
        yield WrittenTopic(f"{prefix}.{name}" if prefix else "", _salesforce(config, name))


@source_family("salesforce-aiven", "io.aiven.kafka.connect.salesforce.source.SalesforceSourceConnector")
def _salesforce_queries(context: SourceContext) -> Iterator[WrittenTopic]:
    """Aiven's source: a query for each object; one topic, or `{topic.prefix}.bulkApi.{object}`."""
    config = context.config
    for query in config.get("salesforce.bulk.api.queries").split(";"):
        if match := _SOQL.search(query):
            prefix, name = config.get("topic.prefix"), match[1]
            topic = config.get("topic") or (f"{prefix}.bulkApi.{name}" if prefix else "")
            yield WrittenTopic(topic, _salesforce(config, name))


@source_family(
    "salesforce-events",
    "SalesforceCdcSource SalesforcePlatformEventSource",
    "io.confluent.salesforce.SalesforceCdcSourceConnector",
    "io.confluent.salesforce.SalesforcePlatformEventSourceConnector",
)
def _salesforce_channel(context: SourceContext) -> Iterator[WrittenTopic]:
    """The events of a channel, in one topic or, by the variable `${_ObjectType}`, one for each."""
    config = context.config
    template = config.get("kafka.topic")
    names = config.items("salesforce.channel.entities", "salesforce.platform.channel.entities")
    for name in names or [config.get(*_CHANNEL)]:
        yield WrittenTopic(template.replace("${_ObjectType}", name), _salesforce(config, name))


@sink_family(
    "salesforce",
    "SalesforceSObjectSink SalesforceBulkApiV2Sink SalesforcePlatformEventSink",
    "io.confluent.salesforce.SalesforceSObjectSinkConnector",
    "confluent:salesforce.SalesforceBulkApiSinkConnector",
    "io.confluent.salesforce.SalesforcePlatformEventSinkConnector",
    "io.aiven.kafka.connect.salesforce.sink.SalesforceSinkConnector",
    topics=("salesforce.object{n}.topics",),
)
def _salesforce_sink(context: SinkContext, topic: str) -> str:
    config = context.config
    number = config.number_of("salesforce.object{n}.topics", topic)
    keys = (f"salesforce.object{number}",) if number else ()
    names = ("salesforce.object", "salesforce.platform.event.name", "salesforce.bulk.api.sink.object")
    return _salesforce(config, config.get(*keys, *names))


@source_family("servicenow-v2", "ServiceNowSourceV2")
def _servicenow_tables(context: SourceContext) -> Iterator[WrittenTopic]:
    config = context.config
    for number, name in config.numbered("table{n}.name"):
        dataset = naming.SERVICENOW(host=config.get("servicenow.url"), table=name)
        yield WrittenTopic(config.get(f"table{number}.topic"), dataset)


def _resources(url: str, names: tuple[str, ...], pattern: str) -> Source:
    """A topic and an address for each listed resource of an application.

    Args:
        url: Key of the application's address.
        names: Keys of the list, the first that has a value.
        pattern: Default of `topic.name.pattern`.
    """

    def source(context: SourceContext) -> Iterator[WrittenTopic]:
        config = context.config
        host = authority(config.get(url))
        for name in config.items(*names):
            topic = _pattern(config, pattern, name)
            yield WrittenTopic(topic, f"https://{host}/{name}" if host else "")

    return source


@source_family("github", "GithubSource", "confluent:github.GithubSourceConnector")
def _github(context: SourceContext) -> Iterator[WrittenTopic]:
    """A topic for each resource, of all repositories."""
    config = context.config
    host = authority(config.get("github.service.url", default="https://api.github.com"))
    for name in config.items("github.resources", "github.tables"):
        topic = _pattern(config, "${resourceName}", name)
        for repository in config.items("github.repositories"):
            yield WrittenTopic(topic, f"https://{host}/{repository}/{name}" if host else "")


_ZEEBE = keyed(
    naming.ZEEBE, "zeebe.client.", host="broker.gateway-address | broker.contactPoint", job="= ${topic}"
)


@source_family("zeebe", "io.zeebe.kafka.connect.ZeebeSourceConnector")
def _zeebe(context: SourceContext) -> Iterator[WrittenTopic]:
    """Jobs of some types, each in a topic that its model of the process names."""
    context.warnings.append("its topics are named in the headers of the processes' tasks, and not known")
    for name in context.config.items("job.types", default="kafka"):
        yield WrittenTopic("", _ZEEBE(context.config, name))


def _pattern(config: Config, default: str, name: str) -> str:
    pattern = config.get("topic.name.pattern", default=default)
    return pattern.replace("${entityName}", name).replace("${resourceName}", name)


source_family("zendesk", "ZendeskSource", "confluent:zendesk.ZendeskSourceConnector")(
    _resources("zendesk.url", ("zendesk.tables",), "ZD_${entityName}")
)
source_family("jira", "JiraSource", "confluent:jira.JiraSourceConnector")(
    _resources("jira.url", ("jira.resources", "jira.tables"), "${resourceName}")
)
source_family("marketo", "MarketoSource", "confluent:marketo.MarketoSourceConnector")(
    _resources("marketo.url", ("entity.names",), "${entityName}")
)


sink_family("zeebe", "io.zeebe.kafka.connect.ZeebeSinkConnector")(per_topic(_ZEEBE))

declare(
    """
    servicenow: SERVICENOW host=servicenow.url table=servicenow.table
        ServiceNowSource confluent:servicenow.ServiceNowSourceConnector
        ServiceNowSink confluent:servicenow.ServiceNowSinkConnector
    """
)
