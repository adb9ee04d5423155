"""Time series: Azure Data Explorer, InfluxDB, QuestDB and Prometheus."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.addresses import host_and_port
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families.declared import declare
from lineage_bridge_dagster.confluent.connectors.family import (
    SinkContext,
    SourceContext,
    WrittenTopic,
    sink_family,
    source_family,
)
from lineage_bridge_dagster.json_text import json_value

_TOPIC = "${topic}"
#: `http::addr=localhost:9000;username=...`
_QUESTDB = re.compile(r"^(\w+)::(?:.*?;)?\s*addr\s*=\s*([^;]+)", re.DOTALL)
_QUESTDB_PORTS = {"http": "9000", "https": "9000", "ws": "9000", "wss": "9000"}


def _influxdb(config: Config, default: str = "") -> str:
    """A bucket of version 2, or a database of version 1 or 3."""
    name = config.get("influxdb.bucket", "influxdb.database", "influxdb.db", default=default)
    return naming.INFLUXDB(host=config.get("influxdb.url"), database=name)


@source_family(
    "influxdb",
    "InfluxDB2Source",
    "io.confluent.influxdb.v2.source.InfluxDB2SourceConnector",
    "io.confluent.influxdb.source.InfluxdbSourceConnector",
)
def influxdb_source(context: SourceContext) -> Iterator[WrittenTopic]:
    """Topics by `topic.mapper`: one for the bucket or database, or one for each measurement.

    A query has one topic, `topic.prefix` itself.
    """
    config = context.config
    dataset, prefix = _influxdb(config), config.get("topic.prefix")
    if config.get("query"):
        yield WrittenTopic(prefix, dataset)
        return
    if config.get("topic.mapper", default="bucket").lower() in ("bucket", "db"):
        name = config.get("influxdb.bucket", "influxdb.db")
        yield WrittenTopic(prefix + name if name else "", dataset)
        return
    listed = config.items("influxdb.measurement.whitelist", "measurement.whitelist")
    if not listed and not prefix:
        context.warnings.append(
            "without influxdb.measurement.whitelist and topic.prefix, its topics cannot be distinguished "
            "from others"
        )
        yield WrittenTopic("", dataset)
    excluded = config.items("influxdb.measurement.blacklist", "measurement.blacklist")
    for measurement in listed or context.named_like(prefix):
        if measurement not in excluded:
            yield WrittenTopic(prefix + measurement, dataset, by_name=not listed)


@sink_family(
    "influxdb",
    "InfluxDB2Sink InfluxDB3Sink",
    "io.confluent.influxdb.v2.sink.InfluxDB2SinkConnector",
    "io.confluent.influxdb.InfluxDBSinkConnector",
)
def influxdb_sink(context: SinkContext, topic: str) -> str:
    """The bucket or database; version 1 writes to one named after the topic unless configured otherwise."""
    version_1 = "influxdb.org.id" not in context.config and "influxdb.token" not in context.config
    return _influxdb(context.config, topic if version_1 else "")


@sink_family("data-explorer", "com.microsoft.azure.kusto.kafka.connect.sink.KustoSinkConnector")
def data_explorer(context: SinkContext, topic: str) -> str:
    """The table that a JSON array names for the topic, else for `*`; strings may be in single quotes."""
    config, key = context.config, "kusto.tables.topics.mapping"
    text = config.get(key)
    try:
        tables = {each["topic"]: each for each in json_value(text if '"' in text else text.replace("'", '"'))}
        table = tables.get(topic) or tables.get("*") or {}
        names = {"database": str(table.get("db", "")), "table": str(table.get("table", ""))}
    except (ValueError, TypeError, KeyError, AttributeError):
        context.warnings.append(f"{key} is not a JSON array of mappings, so its tables are not known")
        return ""
    address = config.get("kusto.query.url") or config.get("kusto.ingestion.url").replace(
        "://ingest-", "://", 1
    )
    return naming.DATA_EXPLORER(host=host_and_port(address)[0], **names)


@sink_family("questdb", "io.questdb.kafka.QuestDBSinkConnector")
def questdb(context: SinkContext, topic: str) -> str:
    config = context.config
    given = _QUESTDB.match(config.get("client.conf.string"))
    host, port = (
        (given[2].strip(), _QUESTDB_PORTS.get(given[1].lower(), "")) if given else (config.get("host"), "")
    )
    table = config.get("table", default=topic).replace(_TOPIC, topic)
    return naming.QUESTDB(host=host, default_port=port, table=table)


declare(
    """
    influxdb-lenses: INFLUXDB kcql:connect.influx.kcql keys:connect.influx. host=url database=db
        lenses:influx.InfluxSinkConnector
    prometheus: PROMETHEUS host=prometheus.listener.url=http://localhost:8889
        confluent:prometheus.PrometheusMetricsSinkConnector
    """
)
