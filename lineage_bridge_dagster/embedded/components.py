"""The components of a stack: how each is started and checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.embedded import processes
from lineage_bridge_dagster.embedded.broker import BrokerProcess
from lineage_bridge_dagster.embedded.local_http import local_client
from lineage_bridge_dagster.embedded.paths import StackPaths
from lineage_bridge_dagster.embedded.ports import HOST
from lineage_bridge_dagster.embedded.rest.names import INTERNAL_PATH, S3_TABLES
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.jars.jvm import home as java_home

CONFLUENT, AWS, ICEBERG, MATERIALIZER = "confluent", "aws", "iceberg", "materializer"

#: The listener of the materializer's Spark, which serves all runs by Spark Connect.
SPARK = "spark"

#: Bucket of the lineage tables and of tables that downstream assets write.
WAREHOUSE_BUCKET = "lineage-bridge"

#: A materializer without a heartbeat for this long is hung.
_HEARTBEAT_SECONDS = 60.0


class NotReadyError(LineageBridgeError):
    """A component does not respond yet, or responds with an error."""


@dataclass(frozen=True, slots=True)
class Component:
    """One component of a stack.

    Attributes:
        name: Name in `status` and `logs`, and of the log file.
        address: Where it listens; empty if it does not.
        command: The command that starts it.
        env: Variables that it needs besides those of the shell.
        prepare: Runs before each start.
        check: Returns a few words about its state, or raises NotReadyError.
        patience: Seconds from its start until it must be ready.
    """

    name: str
    title: str
    address: str
    command: Callable[[], list[str | Path]]
    env: Callable[[], Mapping[str, str]]
    prepare: Callable[[], None]
    check: Callable[[], str]
    patience: float = 90.0


def broker_name(cluster: str) -> str:
    """The component name of a cluster's broker."""
    return f"broker-{cluster}"


def broker_component(broker: BrokerProcess, title: str) -> Component:
    """A Kafka broker."""

    def check() -> str:
        try:
            return broker.check()
        except LineageBridgeError as error:
            raise NotReadyError(str(error)) from error

    return Component(
        broker_name(broker.cluster),
        title,
        broker.address,
        lambda: list(broker.command(record_classes=True)),
        dict,
        broker.prepare,
        check,
    )


def aws_component(
    paths: StackPaths, port: int, buckets: Mapping[str, str], table_bucket: Sequence[str], iceberg_port: int
) -> Component:
    """Glue, S3, and the API of a table bucket of S3 Tables.

    Args:
        paths: The folders of the stack.
        buckets: Created at the start: name -> region.
        iceberg_port: The port of the REST catalogs, one of which has the table bucket's namespaces.
    """

    def check() -> str:
        _get(f"http://{HOST}:{port}/_strict/health")
        return "healthy"

    catalog = f"http://{HOST}:{iceberg_port}{INTERNAL_PATH}/{S3_TABLES}"
    arguments = [f"--bucket={name}@{region}" for name, region in buckets.items()]
    arguments += ["--table-bucket", *table_bucket, catalog]
    module = "lineage_bridge_dagster.embedded.aws"
    return Component(
        AWS,
        "Glue and S3",
        f"http://{HOST}:{port}",
        lambda: processes.python(module, "--port", str(port), "--data", paths.data / "aws", *arguments),
        dict,
        _nothing,
        check,
    )


def confluent_component(paths: StackPaths, port: int) -> Component:
    """The emulator of Confluent's APIs, which reads the brokers' addresses from `stack.json`."""

    def check() -> str:
        health = _get(f"http://{HOST}:{port}/emulator/health")
        return ", ".join(f"{cluster}: {state}" for cluster, state in health.get("brokers", {}).items())

    return Component(
        CONFLUENT,
        "Confluent's APIs",
        f"http://{HOST}:{port}",
        lambda: processes.python("lineage_bridge_dagster.embedded.confluent", "--home", paths.home),
        dict,
        _nothing,
        check,
    )


def iceberg_component(paths: StackPaths, port: int, aws_port: int, bucket: str) -> Component:
    """The Iceberg REST catalogs: Glue's endpoint with a table bucket, and Tableflow's catalog."""
    module, data = "lineage_bridge_dagster.embedded.rest", paths.data / ICEBERG
    aws = ("--aws-url", f"http://{HOST}:{aws_port}")

    def check() -> str:
        _get(f"http://{HOST}:{port}{INTERNAL_PATH}/health")
        return f"S3 Tables bucket {bucket}, Tableflow's catalog"

    return Component(
        ICEBERG,
        "Iceberg REST catalogs",
        f"http://{HOST}:{port}",
        lambda: processes.python(module, "--port", str(port), "--data", data, "--bucket", bucket, *aws),
        lambda: {"JAVA_HOME": str(java_home(jars.java()))},
        _nothing,
        check,
    )


def materializer_component(
    paths: StackPaths, confluent_port: int, spark_port: int, env: Callable[[], Mapping[str, str]]
) -> Component:
    """Spark, which writes topics to tables, and serves Dagster's runs. It writes its heartbeat to a file."""
    ready = paths.run / "materializer.ready"

    def check() -> str:
        try:
            heartbeat = json.loads(ready.read_text(encoding="utf-8"))
            age = (datetime.now(UTC) - datetime.fromisoformat(heartbeat["at"])).total_seconds()
        except (OSError, ValueError, KeyError) as error:
            raise NotReadyError("Spark is starting") from error
        running = processes.find(paths).get(MATERIALIZER)
        if running is None or running.pid != heartbeat["pid"]:
            raise NotReadyError("Spark is starting")
        if age > _HEARTBEAT_SECONDS:
            raise NotReadyError(f"no heartbeat for {age:.0f} s")
        entries = _get(f"http://{HOST}:{confluent_port}/emulator/tableflow")
        return f"{sum(entry['phase'] == 'RUNNING' for entry in entries)} of {len(entries)} tables"

    return Component(
        MATERIALIZER,
        "Topics to tables, and Spark for runs",
        f"sc://{HOST}:{spark_port}",
        lambda: processes.python("lineage_bridge_dagster.embedded.materializer", "--home", paths.home),
        lambda: {**env(), "JAVA_HOME": str(java_home(jars.java()))},
        lambda: ready.unlink(missing_ok=True),
        check,
        patience=180.0,
    )


def _get(url: str) -> Any:
    try:
        with local_client(timeout=5) as client:
            return client.get(url).raise_for_status().json()
    except (httpx.HTTPError, ValueError) as error:
        raise NotReadyError(f"no response from {url} ({error})") from error


def _nothing() -> None:
    return None
