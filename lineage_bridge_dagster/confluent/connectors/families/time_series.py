"""Time series: InfluxDB, QuestDB and Prometheus."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lineage_bridge_dagster.confluent.connectors import naming
from lineage_bridge_dagster.confluent.connectors.config import Config
from lineage_bridge_dagster.confluent.connectors.families import kcql
from lineage_bridge_dagster.confluent.connectors.families.common import per_topic
from lineage_bridge_dagster.confluent.connectors.family import Family, SinkContext, SourceContext, Written

_TOPIC = "${topic}"
#: `http::addr=localhost:9000;username=...`
_QUESTDB = re.compile(r"^(\w+)::(?:.*?;)?\s*addr\s*=\s*([^;]+)", re.DOTALL)
_QUESTDB_PORTS = {"http": "9000", "https": "9000", "ws": "9000", "wss": "9000"}


def _influxdb(config: Config, default: str = "") -> str:
    """A bucket of version 2, or a database of version 1 or 3."""
    name = config.get("influxdb.bucket", "influxdb.database", "influxdb.db", default=default)
    return naming.INFLUXDB(host=config.get("influxdb.url"), database=name)


def influxdb_source(context: SourceContext) -> Iterator[Written]:
    """Topics by `topic.mapper`: one for the bucket or database, or one for each measurement.

    A query has one topic, `topic.prefix` itself.
    """
    config = context.config
    dataset, prefix = _influxdb(config), config.get("topic.prefix")
    if config.get("query"):
        yield Written(prefix, dataset)
        return
    if config.get("topic.mapper", default="bucket").lower() in ("bucket", "db"):
        name = config.get("influxdb.bucket", "influxdb.db")
        yield Written(prefix + name if name else "", dataset)
        return
    listed = config.items("influxdb.measurement.whitelist", "measurement.whitelist")
    if not listed and not prefix:
        context.warnings.append(
            "without influxdb.measurement.whitelist and topic.prefix, its topics cannot be distinguished "
            "from others"
        )
        yield Written("", dataset)
    excluded = config.items("influxdb.measurement.blacklist", "measurement.blacklist")
    for measurement in listed or context.named_like(prefix):
        if measurement not in excluded:
            yield Written(prefix + measurement, dataset, by_name=not listed)


def influxdb_sink(context: SinkContext, topic: str) -> str:
    """The bucket or database; version 1 writes to one named after the topic unless configured otherwise."""
    version_1 = "influxdb.org.id" not in context.config and "influxdb.token" not in context.config
    return _influxdb(context.config, topic if version_1 else "")


def lenses_sink(context: SinkContext, topic: str) -> list[str]:
    config = context.config
    host, database = config.get("connect.influx.url"), config.get("connect.influx.db")
    found = kcql.for_topic(config.get("connect.influx.kcql"), topic)
    return [naming.INFLUXDB(host=host, database=database)] if found else []


def questdb(context: SinkContext, topic: str) -> str:
    config = context.config
    given = _QUESTDB.match(config.get("client.conf.string"))
    host, port = (
        (given[2].strip(), _QUESTDB_PORTS.get(given[1].lower(), "")) if given else (config.get("host"), "")
    )
    table = config.get("table", default=topic).replace(_TOPIC, topic)
    return naming.QUESTDB(host=host, default_port=port, table=table)


SOURCES = (
    Family(
        "influxdb",
        ("InfluxDB2Source",),
        (
            "io.confluent.influxdb.v2.source.InfluxDB2SourceConnector",
            "io.confluent.influxdb.source.InfluxdbSourceConnector",
        ),
        influxdb_source,
    ),
)


SINKS = (
    Family(
        "influxdb",
        ("InfluxDB2Sink", "InfluxDB3Sink"),
        (
            "io.confluent.influxdb.v2.sink.InfluxDB2SinkConnector",
            "io.confluent.influxdb.InfluxDBSinkConnector",
        ),
        sink=influxdb_sink,
    ),
    Family(
        "influxdb-lenses",
        (),
        (
            "io.lenses.streamreactor.connect.influx.InfluxSinkConnector",
            "com.datamountaineer.streamreactor.connect.influx.InfluxSinkConnector",
        ),
        sink=lenses_sink,
    ),
    Family("questdb", (), ("io.questdb.kafka.QuestDBSinkConnector",), sink=questdb),
    Family(
        "prometheus",
        (),
        ("io.confluent.connect.prometheus.PrometheusMetricsSinkConnector",),
        sink=per_topic(
            lambda config: [
                naming.PROMETHEUS(host=config.get("prometheus.listener.url", default="http://localhost:8889"))
            ]
        ),
    ),
)
