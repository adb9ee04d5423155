"""Applications and HTTP APIs."""

from __future__ import annotations

from collections.abc import Callable

from lineage_bridge_dagster.confluent.connectors import datasets
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.common import (
    numbered,
    patterned,
    single_topic,
    templated,
    url,
)
from lineage_bridge_dagster.confluent.connectors.family import Family, SinkContext


def _salesforce_events(config: Config) -> str:
    host = datasets.host_of(config.get("salesforce.instance", default="https://login.salesforce.com"))
    name = config.get("salesforce.cdc.name", "salesforce.platform.event.name", "salesforce.channel.name")
    return f"salesforce://{host}/{name or 'events'}"


def _github(config: Config, resource: str) -> str:
    host = datasets.host_of(config.get("github.service.url", default="https://api.github.com"))
    return f"https://{host}/{'+'.join(config.items('github.repositories'))}/{resource}"


def _entity(url: str) -> Callable[[Config, str], str]:
    def dataset(config: Config, name: str) -> str:
        host = datasets.host_of(config.get(url))
        return f"https://{host}/{name}" if host else ""

    return dataset


def _servicenow_table(config: Config, number: int) -> str:
    return (
        f"servicenow://{datasets.host_of(config.get('servicenow.url'))}/{config.get(f'table{number}.name')}"
    )


def _http_api(config: Config, number: int) -> str:
    base, path = config.get("http.api.base.url"), config.get(f"api{number}.http.api.path")
    return f"https://{datasets.host_of(base)}{path}".partition("?")[0] if base else ""


_HTTP_SOURCE = "io.confluent.connect.http.source.GenericHttpSourceConnector"


_HTTP_SINK = "io.confluent.connect.http.sink.GenericHttpSinkConnector"


def http(context: SinkContext, topic: str) -> str:
    config = context.config
    if base := config.get("http.api.base.url"):
        if number := config.number_of("api{n}.topics", topic):
            base = base.rstrip("/") + datasets.formatted(config.get(f"api{number}.http.api.path"), topic)
        return _without_credentials(base)
    return _without_credentials(datasets.formatted(config.get("http.api.url", "function.url"), topic))


def _without_credentials(url: str) -> str:
    """The URL without user part and query, which often contain keys; empty for one without a scheme."""
    scheme, middle, rest = url.partition("://")
    if not middle:
        return ""
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}".partition("?")[0]


def salesforce(context: SinkContext, topic: str) -> str:
    config = context.config
    host = datasets.host_of(config.get("salesforce.instance", default="https://login.salesforce.com"))
    if number := config.number_of("salesforce.object{n}.topics", topic):
        return f"salesforce://{host}/{config.get(f'salesforce.object{number}')}"
    name = config.get("salesforce.object", "salesforce.platform.event.name")
    return f"salesforce://{host}/{name}" if name else ""


SOURCES = (
    Family(
        "salesforce",
        ("SalesforceBulkApiSource", "SalesforceBulkApiV2Source", "SalesforcePushTopicSource"),
        (
            "io.confluent.connect.salesforce.SalesforceBulkApiSourceConnector",
            "io.confluent.salesforce.SalesforcePushTopicSourceConnector",
        ),
        url("salesforce", "salesforce.instance", "salesforce.object"),
    ),
    Family(
        "salesforce-events",
        ("SalesforceCdcSource", "SalesforcePlatformEventSource"),
        (
            "io.confluent.salesforce.SalesforceCdcSourceConnector",
            "io.confluent.salesforce.SalesforcePlatformEventSourceConnector",
        ),
        single_topic(_salesforce_events),
    ),
    Family(
        "servicenow",
        ("ServiceNowSource",),
        ("io.confluent.connect.servicenow.ServiceNowSourceConnector",),
        url("servicenow", "servicenow.url", "servicenow.table"),
    ),
    Family("servicenow-v2", ("ServiceNowSourceV2",), (), numbered("table{n}.topic", _servicenow_table)),
    Family(
        "zendesk",
        ("ZendeskSource",),
        ("io.confluent.connect.zendesk.ZendeskSourceConnector",),
        patterned("zendesk.tables", _entity("zendesk.url"), "ZD_${entityName}"),
    ),
    Family(
        "jira",
        ("JiraSource",),
        ("io.confluent.connect.jira.JiraSourceConnector",),
        patterned("jira.resources", _entity("jira.url"), "${resourceName}"),
    ),
    Family(
        "github",
        ("GithubSource",),
        ("io.confluent.connect.github.GithubSourceConnector",),
        patterned("github.resources", _github, "${resourceName}"),
    ),
    Family(
        "http-v1",
        ("HttpSource",),
        ("io.confluent.connect.http.HttpSourceConnector",),
        patterned("entity.names", _entity("url"), "${entityName}"),
    ),
    Family(
        "http",
        ("HttpSourceV2", "TwitterSource"),
        (_HTTP_SOURCE,),
        numbered("api{n}.topics", _http_api),
    ),
)


SINKS = (
    Family(
        "http",
        ("HttpSinkV2", "GoogleCloudFunctionsGen2Sink"),
        (_HTTP_SINK,),
        sink=http,
        topics=("api{n}.topics",),
    ),
    Family(
        "http-v1",
        ("HttpSink", "AzureFunctionsSink", "CollibraSink"),
        (
            "io.confluent.connect.http.HttpSinkConnector",
            "io.confluent.connect.azure.functions.AzureFunctionsSinkConnector",
            "io.confluent.connect.collibra.CollibraSinkConnector",
        ),
        sink=http,
    ),
    Family(
        "salesforce",
        ("SalesforceSObjectSink", "SalesforceBulkApiV2Sink", "SalesforcePlatformEventSink"),
        (
            "io.confluent.salesforce.SalesforceSObjectSinkConnector",
            "io.confluent.connect.salesforce.SalesforceBulkApiSinkConnector",
            "io.confluent.salesforce.SalesforcePlatformEventSinkConnector",
        ),
        sink=salesforce,
        topics=("salesforce.object{n}.topics",),
    ),
    Family(
        "servicenow",
        ("ServiceNowSink",),
        ("io.confluent.connect.servicenow.ServiceNowSinkConnector",),
        sink=templated("servicenow://{servicenow.url}/{servicenow.table}"),
    ),
)
