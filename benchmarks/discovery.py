"""A discovery of a large Confluent and Glue, and the sensor's ticks over it.

    python benchmarks/discovery.py
    python benchmarks/discovery.py --clusters 2 --topics 500 --tables 100

By default 10 clusters with 2,000 topics and 1,000 Tableflow tables each: a connector for each 20 raw topics,
and for each table a Flink statement that fills its topic, which has a schema of its own, of 12 fields.
Confluent answers within this process from bodies made beforehand, and Glue from a process of its own, so that
nearly all of the CPU time is ours. That of the JVM that parses Flink's SQL stands beside it, and our memory's
peak.

The ticks are the component's own, on an instance with SQLite in which each table has been pushed with its
current lineage: the first one after a start, one that compares whole tables with what was pushed, and one in
between. `calls` are requests, or statements of SQL.
"""

from __future__ import annotations

import argparse
import functools
import json
import logging
import os
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import sqlalchemy
from dagster import AssetMaterialization, DagsterInstance, SensorResult, build_sensor_context
from dagster._core.definitions.data_version import DATA_VERSION_TAG
from glue_server import GlueProcess
from synthetic import FIELDS

from lineage_bridge_dagster import component as component_module
from lineage_bridge_dagster.automation.list_client import ListClient
from lineage_bridge_dagster.automation.loaded import LoadedState, loaded_tables
from lineage_bridge_dagster.catalogs.glue.client import glue_client
from lineage_bridge_dagster.catalogs.push import push_tables
from lineage_bridge_dagster.component import LineageBridgeComponent
from lineage_bridge_dagster.config.prefix import PREFIX
from lineage_bridge_dagster.discovery.discover import discover
from lineage_bridge_dagster.lineage import graph_json
from lineage_bridge_dagster.lineage.discovery import Discovery
from lineage_bridge_dagster.lineage.model import NodeType
from lineage_bridge_dagster.settings import SettingsReader
from lineage_bridge_dagster.sql.flink.parser import FlinkSqlParser
from lineage_bridge_dagster_tests.confluent import fake
from lineage_bridge_dagster_tests.confluent.fake import FakeConfluent, Responder, listing

_REGION = "us-east-1"
_REGISTRY = "psrc-1.us-east-1.aws.confluent.cloud"
_TOPICS_A_CONNECTOR = 20


def main() -> None:
    """Print the measurements."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--clusters", type=int, default=10)
    options.add_argument("--topics", type=int, default=2_000, help="topics of a cluster")
    options.add_argument("--tables", type=int, default=1_000, help="tables of a cluster")
    options.add_argument("--no-ticks", action="store_true", help="only the discovery")
    chosen = options.parse_args()
    logging.disable(logging.CRITICAL)
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "benchmark",
        "AWS_SECRET_ACCESS_KEY": "benchmark",
        f"{PREFIX}AWS_REGION": _REGION,
        f"{PREFIX}PUSH_DESCRIPTION": "true",
    }
    for plane in fake.PLANES:
        os.environ |= {f"{PREFIX}{plane.upper()}_API_KEY": "k", f"{PREFIX}{plane.upper()}_API_SECRET": "s"}
    confluent = large(chosen.clusters, chosen.topics, chosen.tables)
    with GlueProcess() as process, FlinkSqlParser() as parser:
        glue = process.GlueServer(0.0)
        os.environ[f"{PREFIX}AWS_ENDPOINT_URL"] = glue.url()
        for cluster in range(chosen.clusters):
            glue.add_tables(list(_glue_tables(cluster, chosen.tables)))
        settings = SettingsReader()()
        parser.parse(["SELECT 1"])
        found: Discovery | None = None
        for label in ("first discovery", "second discovery"):
            with measured(label, confluent, glue, parser):
                found = discover(settings, found, transport=confluent.transport, parser=parser)
        assert found is not None
        kinds = Counter(str(node.node_type) for node in found.graph.nodes.values())
        print(f"{dict(kinds)}, {len(found.graph.edges):,} edges, complete: {found.coverage.complete}")
        assert kinds[NodeType.CATALOG_TABLE] == chosen.clusters * chosen.tables, kinds
        if not chosen.no_ticks:
            _ticks(found, confluent, glue)


@contextmanager
def measured(
    label: str, confluent: FakeConfluent, glue: Any, parser: FlinkSqlParser | None = None
) -> Iterator[None]:
    """Print what a block takes, and whom it asks."""
    confluent.requests.clear()
    glue.traffic()
    statements = Counter[str]()

    def count(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        statements[statement.split(None, 1)[0].upper()] += 1

    sqlalchemy.event.listen(sqlalchemy.engine.Engine, "before_cursor_execute", count)
    jvm = psutil.Process(parser.pid) if parser and parser.pid else None
    before = sum(jvm.cpu_times()[:2]) if jvm else 0.0
    began, cpu = time.perf_counter(), time.process_time()
    try:
        yield
    finally:
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        sqlalchemy.event.remove(sqlalchemy.engine.Engine, "before_cursor_execute", count)
        parsing = f" and {sum(jvm.cpu_times()[:2]) - before:.1f} s of the SQL parser" if jvm else ""
        calls = {"Confluent": len(confluent.requests), **dict(glue.traffic().calls), **statements}
        shown = ", ".join(f"{count:,} {name}" for name, count in calls.items() if count)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        took = f"{cpu:>7.1f} s CPU{parsing}, {seconds:.1f} s in all, {peak:,} MiB"
        print(f"{label:<34}{took}; calls: {shown}", flush=True)


def _ticks(found: Discovery, confluent: FakeConfluent, glue: Any) -> None:
    """Push everything, and measure ticks of a sensor that knows it."""
    reader = SettingsReader()
    settings = reader()
    client = glue_client(settings.aws)
    with measured("first push", confluent, glue):
        report = push_tables(found, client, lambda: settings.catalogs, reader.push())
    print(f"{dict(report.counts)}")
    loaded: list[LoadedState] = []

    def kept(*arguments: Any) -> LoadedState:
        loaded.append(loaded_tables("version", *arguments[1:]))
        return loaded[-1]

    patched: Any = component_module
    patched.loaded_tables = kept
    patched.ListClient = functools.partial(ListClient, transport=confluent.transport)
    with tempfile.TemporaryDirectory() as home:
        (Path(home) / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
        os.environ["DAGSTER_HOME"] = home
        state = Path(home) / "state"
        graph_json.dump(found, state, with_caches=True)
        with measured("build the definitions", confluent, glue):
            definitions = LineageBridgeComponent().build_defs_from_state(None, state)  # type: ignore[arg-type]
        with DagsterInstance.from_config(home) as instance:
            instance.defs_state_storage.set_latest_version(  # type: ignore[union-attr]
                LineageBridgeComponent().defs_state_config.key, "version"
            )
            for table in loaded[-1].tables:
                tags = {DATA_VERSION_TAG: table.version()}
                instance.report_runless_asset_event(AssetMaterialization(table.key, tags=tags))
            sensor = definitions.resolve_sensor_def("lineage_sensor")
            cursor: str | None = None
            for number in range(6):
                with (
                    measured(f"tick {number + 1}", confluent, glue),
                    build_sensor_context(instance, cursor=cursor, definitions=definitions) as context,
                ):
                    result = sensor(context)
                assert isinstance(result, SensorResult)
                cursor = result.cursor
                print(
                    f"  cursor {len(cursor or ''):,} bytes; {len(result.run_requests or ())} run requests; "
                    f"{result.skip_reason.skip_message if result.skip_reason else ''}"[:1_000]
                )


def large(clusters: int, topics: int, tables: int) -> FakeConfluent:
    """A Confluent of this size, whose bodies are made once."""
    confluent = FakeConfluent()
    routes = confluent.routes
    ids = [_cluster(number) for number in range(clusters)]
    bodies: dict[str, Any] = {
        "/org/v2/organizations": listing({"id": fake.ORGANIZATION, "display_name": "acme"}),
        "/org/v2/environments": listing(fake.environment()),
        "/cmk/v2/clusters": listing(*(fake.cluster(each, f"cluster-{each}") for each in ids)),
        "/fcpm/v2/compute-pools": listing(fake.pool("lfcp-1", _REGION)),
        "/fcpm/v2/regions": listing(fake.region(_REGION)),
        "/srcm/v3/clusters": listing({"id": "lsrc-1", "spec": {"http_endpoint": f"https://{_REGISTRY}"}}),
        f"{_REGISTRY}/config": {"compatibilityLevel": "BACKWARD"},
        fake.flink_path(_REGION): listing(
            *(statement for cluster in ids for statement in _statements(cluster, tables))
        ),
        fake.flink_path(_REGION, "materialized-tables"): listing(),
        "/ksqldbcm/v2/clusters": listing(),
    }
    fields = [f"field_{place}" for place in range(FIELDS)]
    schemas = [
        _schema(name, fields, number)
        for cluster in ids
        for number, name in enumerate(_table_topics(cluster, tables))
    ]
    routes[f"{_REGISTRY}/schemas"] = _offset_pages(schemas)
    tableflow: dict[str, Any] = {}
    for cluster in ids:
        filled = _table_topics(cluster, tables)
        raw = [f"raw-{number:05d}" for number in range(topics - tables)]
        bodies |= {
            fake.kafka_path(cluster, "/topics"): listing(*map(fake.topic, [*filled, *raw])),
            fake.kafka_path(cluster, "/topics/-/configs"): listing(
                *(fake.config(name, "retention.ms", "86400000") for name in [*filled, *raw])
            ),
            fake.kafka_path(cluster, "/links/-/mirrors"): listing(),
            fake.kafka_path(cluster, "/consumer-groups"): listing(),
            fake.connect_path(cluster): _connectors(raw),
        }
        tableflow[cluster] = _as_body(
            listing(
                *(
                    fake.tableflow_topic(
                        name,
                        storage={
                            "kind": "ByobAws",
                            "bucket_name": "lake",
                            "bucket_region": _REGION,
                            "table_path": f"s3://lake/{cluster}/{name}",
                        },
                    )
                    for name in filled
                )
            )
        )
    routes |= {path: _as_body(body) for path, body in bodies.items()}
    routes["/tableflow/v1/tableflow-topics"] = lambda request: tableflow[
        request.url.params["spec.kafka_cluster"]
    ](request)
    routes["/tableflow/v1/catalog-integrations"] = _as_body(listing(fake.glue_integration()))
    return confluent


def _schema(topic: str, fields: list[str], number: int) -> Any:
    """The value schema of a topic, in the registry's spelling: without spaces."""
    found = fake.avro(f"{topic}-value", *fields, name=f"Order{number}")
    text = json.dumps(json.loads(found["schema"]), separators=(",", ":"))
    return {**found, "id": 100_000 + number, "schema": text}


def _as_body(body: Any) -> Responder:
    content = json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    return lambda _request: httpx.Response(200, content=content, headers=headers)


def _offset_pages(items: list[Any]) -> Responder:
    """Schema Registry's pages, of `offset` and `limit`."""

    def respond(request: httpx.Request) -> httpx.Response:
        offset = int(request.url.params.get("offset", 0))
        limit = int(request.url.params.get("limit", len(items)))
        return httpx.Response(200, json=items[offset : offset + limit])

    return respond


def _cluster(number: int) -> str:
    return f"lkc-{number:05d}"


def _table_topics(cluster: str, tables: int) -> list[str]:
    return [f"{cluster}.orders-{number:05d}.v1" for number in range(tables)]


def _statements(cluster: str, tables: int) -> Iterator[Any]:
    for number, name in enumerate(_table_topics(cluster, tables)):
        sql = f"INSERT INTO `{name}` SELECT * FROM `raw-{number:05d}` WHERE id <> ''"  # noqa: S608
        yield fake.statement(f"fill-{name}", sql, database=cluster)


def _connectors(raw: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for start in range(0, len(raw), _TOPICS_A_CONNECTOR):
        names = raw[start : start + _TOPICS_A_CONNECTOR]
        config = {
            "connector.class": "DatagenSource",
            "kafka.topic": names[0],
            "quickstart": "ORDERS",
        }
        found |= fake.connector(f"source-{start:05d}", "source", config)
    return found


def _glue_tables(cluster: int, tables: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The database and the `TableInput` of each table, as Tableflow creates it."""
    identifier = _cluster(cluster)
    for name in _table_topics(identifier, tables):
        location = f"s3://lake/{identifier}/{name}"
        yield (
            identifier,
            {
                "Name": name,
                "TableType": "EXTERNAL_TABLE",
                "Parameters": {
                    "table_type": "ICEBERG",
                    "metadata_location": f"{location}/metadata/00007.metadata.json",
                },
                "StorageDescriptor": {
                    "Location": location,
                    "Columns": [
                        {"Name": f"field_{place}", "Type": "string", "Comment": ""} for place in range(FIELDS)
                    ],
                },
            },
        )


if __name__ == "__main__":
    main()
