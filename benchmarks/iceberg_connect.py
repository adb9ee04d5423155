"""Apache Iceberg's own sink for Kafka Connect, in a standalone worker, as the yardstick of a benchmark.

The worker has the memory and the garbage collector of Kafka's `connect-standalone.sh`. The sink is set up for
throughput: it has as many tasks as asked for, polls up to 5,000 records at once, and fetches up to 8 MB of
each partition. It has no Avro converter of its own; Apicurio's reads Confluent's wire format with its
`Legacy4ByteIdHandler`, and fetches each schema once from `SchemaServer`.
"""

from __future__ import annotations

import json
import os
import re
import threading
import urllib.request
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from lineage_bridge_dagster import jars

#: What `connect-standalone.sh` and `kafka-run-class.sh` of Kafka 3.9 set.
_JVM = (
    *("-Xms256M", "-Xmx2G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"),
    *("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent"),
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
)

#: Archives of other needs that the worker and the sink load.
_KAFKA_JARS = ("jackson-", "lz4-java", "zstd-jni", "snappy-java", "jose4j", "slf4j-api")
_REST_JARS = (
    *("iceberg-api", "iceberg-core", "iceberg-common", "iceberg-bundled-guava", "caffeine"),
    *("httpclient5", "httpcore5"),
)
_PYSPARK_JARS = (
    *("hadoop-client-api", "hadoop-client-runtime", "avro", "commons-codec", "commons-compress"),
    *("commons-lang3", "commons-io", "commons-pool", "RoaringBitmap", "aircompressor"),
)

_LOG4J = """\
log4j.rootLogger=WARN, file
log4j.appender.file=org.apache.log4j.ConsoleAppender
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=%d %p %m (%c)%n
log4j.logger.org.apache.iceberg.connect=INFO
log4j.logger.org.apache.kafka.connect.runtime=INFO
"""


def command(
    folder: Path,
    *,
    bootstrap: str,
    topics: list[str],
    namespace: str,
    catalog: Mapping[str, str],
    registry: str,
    rest_port: int,
    tasks: int,
    commit_seconds: float,
) -> list[str]:
    """Write the worker's and the sink's settings, and return the command that starts them.

    Args:
        folder: where settings, the log's configuration and the worker's offsets go.
        bootstrap: the brokers.
        topics: the topics; each goes to the table of its name, with `_` in place of dots.
        namespace: of the tables, which exist or are created; the control topic has its name.
        catalog: Iceberg's properties of the catalog.
        registry: base URL of a `SchemaServer`.
        rest_port: port of the worker's own API.
        tasks: at most so many tasks.
        commit_seconds: time between commits.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log4j.properties").write_text(_LOG4J)
    worker = {
        "bootstrap.servers": bootstrap,
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value.converter": "io.apicurio.registry.utils.converter.AvroConverter",
        "value.converter.apicurio.registry.url": f"{registry}/apis/registry/v2",
        "value.converter.apicurio.registry.as-confluent": "true",
        "value.converter.apicurio.registry.headers.enabled": "false",
        "value.converter.apicurio.registry.check-period-ms": "86400000",
        "offset.storage.file.filename": folder / "offsets",
        "listeners": f"http://127.0.0.1:{rest_port}",
        "plugin.discovery": "service_load",
        "connector.client.config.override.policy": "All",
    }
    sink: dict[str, Any] = {
        "name": "iceberg",
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "tasks.max": tasks,
        "topics": ",".join(topics),
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.control.topic": namespace,
        "iceberg.control.commit.interval-ms": int(1000 * commit_seconds),
        "consumer.override.auto.offset.reset": "earliest",
        "consumer.override.max.poll.records": 5_000,
        "consumer.override.max.partition.fetch.bytes": 8 << 20,
        "consumer.override.fetch.max.bytes": 64 << 20,
        **{f"iceberg.catalog.{key}": value for key, value in catalog.items()},
    }
    if len(topics) == 1:
        sink["iceberg.tables"] = table_of(topics[0], namespace)
    else:
        # A table takes the records whose topic matches, by the field that a transform adds.
        sink["iceberg.tables"] = ",".join(table_of(topic, namespace) for topic in topics)
        sink["iceberg.tables.route-field"] = "_topic"
        sink["transforms"] = "topic"
        sink["transforms.topic.type"] = "org.apache.kafka.connect.transforms.InsertField$Value"
        sink["transforms.topic.topic.field"] = "_topic"
        for topic in topics:
            sink[f"iceberg.table.{table_of(topic, namespace)}.route-regex"] = re.escape(topic)
    _write(folder / "worker.properties", worker)
    _write(folder / "sink.properties", sink)
    return [
        str(jars.java()),
        *_JVM,
        f"-Dlog4j.configuration=file:{folder / 'log4j.properties'}",
        *("-cp", os.pathsep.join(str(path) for path in _classpath())),
        "org.apache.kafka.connect.cli.ConnectStandalone",
        str(folder / "worker.properties"),
        str(folder / "sink.properties"),
    ]


def table_of(topic: str, namespace: str) -> str:
    """The sink's table of a topic."""
    return f"{namespace}.{topic.replace('.', '_')}"


def running(rest_port: int) -> bool:
    """Whether all tasks of the sink run.

    Raises:
        RuntimeError: the sink or a task of it failed.
    """
    try:
        with urllib.request.urlopen(
            f"http://127.0.0.1:{rest_port}/connectors/iceberg/status", timeout=5
        ) as response:
            status = json.load(response)
    except OSError:
        return False
    parts = [status["connector"], *status["tasks"]]
    for part in parts:
        if part["state"] == "FAILED":
            raise RuntimeError(f"the sink failed: {part.get('trace', '')[:2000]}")
    return bool(status["tasks"]) and all(part["state"] == "RUNNING" for part in parts)


class SchemaServer:
    """Serves schemas by their ids, as version 2 of Apicurio Registry's API does. A context manager.

    Args:
        schemas: id -> Avro schema.
    """

    def __init__(self, schemas: Mapping[int, str]) -> None:
        ids = re.compile(r"/apis/registry/v2/ids/(?:globalIds|contentIds)/(\d+)(/references)?/?")

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = ids.fullmatch(self.path.partition("?")[0])
                schema = schemas.get(int(found[1])) if found else None
                body = b"{}" if schema is None else b"[]" if found and found[2] else schema.encode()
                self.send_response(404 if schema is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("X-Registry-ArtifactType", "AVRO")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _classpath() -> list[Path]:
    def some(need: jars.Need, prefixes: tuple[str, ...]) -> list[Path]:
        return [
            path for path in jars.ensure(need) if path.name.startswith(prefixes) and "-tests" not in path.name
        ]

    shared = [*some("kafka", _KAFKA_JARS), *some("rest", _REST_JARS)]
    return [*jars.ensure("connect"), *shared, *jars.pyspark_jars(*_PYSPARK_JARS)]


def _write(path: Path, settings: Mapping[str, object]) -> None:
    path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
