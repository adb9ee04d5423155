"""HTTP APIs of any kind, and the functions and catalogs that are called by URL or by name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config, split_list
from lineage_bridge_dagster.confluent.connectors.families.declared import declare
from lineage_bridge_dagster.confluent.connectors.family import (
    SinkContext,
    SourceContext,
    WrittenTopic,
    sink_family,
    source_family,
)
from lineage_bridge_dagster.confluent.connectors.naming import http_url

_TWITTER = "com.github.jcustenborder.kafka.connect.twitter.TwitterSourceConnector"
#: A variable that a record or an offset fills in, and all after it.
_VARIABLE = re.compile(r"[^/?&]*(?:\$\{|\{\{).*", re.DOTALL)


def api_url(base: str, path: str = "") -> str:
    """The address of an API, up to the first path segment that a record or an offset fills in."""
    url = f"{base.rstrip('/')}/{path.lstrip('/')}" if path else base
    scheme, separator, rest = url.partition("://")
    return http_url(f"{scheme}{separator}{_VARIABLE.sub('', rest)}")


@source_family("http-v1", "HttpSource", "confluent:http.HttpSourceConnector")
def entities(context: SourceContext) -> Iterator[WrittenTopic]:
    """A topic and an address for each of `entity.names`; without them, one of each."""
    config = context.config
    url, pattern = config.get("url"), config.get("topic.name.pattern", default="${entityName}")
    for name in config.items("entity.names") or [""]:
        topic = pattern.replace("${entityName}", name)
        if not topic:
            context.warnings.append("entity.names is not set: its topics are not known")
        yield WrittenTopic(topic, api_url(url.replace("${entityName}", name)))


@source_family("http", "HttpSourceV2", "confluent:http.source.GenericHttpSourceConnector")
def apis(context: SourceContext) -> Iterator[WrittenTopic]:
    """The topics and the path of each numbered API."""
    config = context.config
    for number, topics in config.numbered("api{n}.topics"):
        url = api_url(config.get("http.api.base.url"), config.get(f"api{number}.http.api.path"))
        for topic in split_list(topics):
            yield WrittenTopic(topic, url)


@source_family("twitter", "TwitterSource", _TWITTER)
def twitter(context: SourceContext) -> Iterator[WrittenTopic]:
    config = context.config
    deleted = config.items("kafka.delete.topic") if config.flag("process.deletes") else []
    for topic in [*config.items("twitter.topics", "kafka.status.topic"), *deleted]:
        yield WrittenTopic(topic, "https://api.twitter.com")


def rest(context: SourceContext) -> Iterator[WrittenTopic]:
    """The community's source of one address: llofberg/kafka-connect-rest."""
    for topic in context.config.items("rest.source.destination.topics"):
        yield WrittenTopic(topic, api_url(context.config.get("rest.source.url")))


def feeds(config: Config) -> Iterator[str]:
    """The addresses of `rss.urls`, with spaces between them."""
    return map(api_url, config.get("rss.urls").split())


def http_sink(context: SinkContext, topic: str) -> str:
    """The address of a topic's API; a topic without a numbered API goes to the base address."""
    config = context.config
    if base := config.get("http.api.base.url"):
        number = config.number_of("api{n}.topics", topic)
        path = config.get(f"api{number}.http.api.path") if number else ""
        return api_url(base, path.replace("${topic}", topic))
    return api_url(config.get("http.api.url", "http.url", "function.url").replace("${topic}", topic))


source_family("http-rest", "com.tm.kafka.connect.rest.RestSourceConnector")(rest)


sink_family("http", "HttpSinkV2", "confluent:http.sink.GenericHttpSinkConnector", topics=("api{n}.topics",))(
    http_sink
)
sink_family(
    "http-v1",
    "HttpSink AzureFunctionsSink CollibraSink",
    "confluent:http.HttpSinkConnector",
    "confluent:azure.functions.AzureFunctionsSinkConnector",
    "confluent:collibra.CollibraSinkConnector",
    "io.aiven.kafka.connect.http.HttpSinkConnector",
)(http_sink)


@sink_family("lenses-http", "io.lenses.streamreactor.connect.http.sink.HttpSinkConnector")
def lenses_http(context: SinkContext, topic: str) -> str:
    return api_url(context.config.get("connect.http.endpoint").replace("{{topic}}", topic))


@sink_family("lambda", "LambdaSink", "confluent:aws.lambda.AwsLambdaSinkConnector")
def aws_lambda(context: SinkContext, topic: str) -> str:
    """The function of `topic;function,...` in the mode `multiple`, else the only one."""
    config = context.config
    mapped = config.pairs("aws.lambda.topic2function.map", ";")
    name = mapped.get(topic) if mapped else config.get("aws.lambda.function.name")
    region = config.get("aws.lambda.region", "kafka.region")
    if name and name.startswith("arn:") and name.count(":") >= 6:
        # arn:aws:lambda:{region}:{account}:function:{name}
        _, _, _, region, _, _, name = name.split(":", 6)
    return naming.LAMBDA(region=region, function=name or "")


declare(
    """
    google-functions: CLOUD_FUNCTIONS
        project=gcf.project.id|project.id function=gcf.name|function.name
        GoogleCloudFunctionsSink GoogleCloudFunctionsGen2Sink
        confluent:gcp.functions.GoogleCloudFunctionsSinkConnector
        confluent:gcp.GoogleCloudFunctionsSinkConnector
    http-polled: api_url base=http.request.url|sse.uri
        com.github.castorm.kafka.connect.http.HttpSourceConnector
        com.github.cjmatta.kafka.connect.sse.ServerSentEventsSourceConnector
    rss: feeds org.kaliy.kafka.connect.rss.RssSourceConnector
    """,
    api_url=api_url,
    feeds=feeds,
)
