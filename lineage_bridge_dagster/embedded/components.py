"""The components of a stack: how each is started and checked, and their start."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.embedded import processes
from lineage_bridge_dagster.embedded.broker import BrokerProcess
from lineage_bridge_dagster.embedded.paths import StackPaths
from lineage_bridge_dagster.embedded.ports import HOST, local_client
from lineage_bridge_dagster.embedded.rest.names import INTERNAL_PATH, S3_TABLES
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.jars.jvm import home as java_home
from lineage_bridge_dagster.text import ReportLine

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
        env: Variables that it needs besides those of the shell.
        prepare: Runs before each start.
        check: Returns a few words about its state, or raises NotReadyError.
        patience: Seconds from its start until it must be ready.
    """

    name: str
    title: str
    address: str
    command: Callable[[], Sequence[str | Path]]
    check: Callable[[], str]
    env: Callable[[], Mapping[str, str]] = dict
    prepare: Callable[[], None] = lambda: None
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
        lambda: broker.command(record_classes=True),
        check,
        prepare=broker.prepare,
    )


def aws_component(
    paths: StackPaths, port: int, buckets: Mapping[str, str], table_bucket: Sequence[str], iceberg_port: int
) -> Component:
    """Glue, S3, and the API of a table bucket of S3 Tables.

    Args:
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
        check,
        lambda: {"JAVA_HOME": str(java_home(jars.java()))},
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
        check,
        lambda: {**env(), "JAVA_HOME": str(java_home(jars.java()))},
        lambda: ready.unlink(missing_ok=True),
        patience=180.0,
    )


def _get(url: str) -> Any:
    try:
        with local_client(timeout=5) as client:
            return client.get(url).raise_for_status().json()
    except (httpx.HTTPError, ValueError) as error:
        raise NotReadyError(f"no response from {url} ({error})") from error


class StackError(LineageBridgeError):
    """A component of the stack did not start, or is not running."""


class Starter:
    """Starts components and waits for them."""

    def __init__(self, paths: StackPaths) -> None:
        self.paths = paths

    def start(self, components: Sequence[Component], progress: ReportLine) -> dict[str, processes.Running]:
        """Start the components that are not running, concurrently, and restart those that do not respond."""
        running = processes.find(self.paths)
        missing = [c for c in components if c.name not in running]
        hung = [c for c in components if c.name in running and not self._responds(c, running[c.name])]
        if hung:
            progress(f"Restarting {', '.join(c.name for c in hung)}: no response")
            processes.stop(self.paths, [c.name for c in hung])
        elif missing:
            # Leftovers of a killed component, such as a JVM, would block the new one.
            processes.stop(self.paths, [c.name for c in missing])
        with ThreadPoolExecutor(len(components) or 1) as pool:
            for preparation in [pool.submit(c.prepare) for c in (*missing, *hung)]:
                preparation.result()
        for component in (*missing, *hung):
            running[component.name] = processes.start(
                self.paths, component.name, component.command(), component.env()
            )
        return running

    def _responds(self, component: Component, running: processes.Running) -> bool:
        until = time.monotonic() + (10 if component.name != MATERIALIZER else component.patience)
        while processes.is_alive(running.process) and time.monotonic() < until:
            with contextlib.suppress(NotReadyError):
                component.check()
                return True
            time.sleep(0.3)
        return False

    def wait(
        self,
        components: Sequence[Component],
        running: Mapping[str, processes.Running],
        began: float,
        progress: ReportLine,
    ) -> None:
        waiting = list(components)
        start = reported = time.monotonic()
        reasons: dict[str, str] = {}
        while waiting:
            for component in list(waiting):
                try:
                    detail = component.check()
                except NotReadyError as error:
                    reasons[component.name] = error.message
                else:
                    waiting.remove(component)
                    where = f" at {component.address}" if component.address else ""
                    progress(
                        f"  {component.title} ready{where} after {time.monotonic() - began:.0f} s: {detail}"
                    )
                    continue
                dead = not processes.is_alive(running[component.name].process)
                if dead or time.monotonic() - start > component.patience:
                    self._fail(component, dead, reasons[component.name])
            if waiting and time.monotonic() - reported > 10:
                reported = time.monotonic()
                progress(f"  waiting for {', '.join(f'{c.name} ({reasons[c.name]})' for c in waiting)}")
            if waiting:
                time.sleep(0.2)

    def _fail(self, component: Component, dead: bool, reason: str) -> None:
        log = processes.log_of(self.paths, component.name)
        problem = "exited" if dead else f"is not ready after {component.patience:.0f} s: {reason}"
        tail = processes.end_of_log(self.paths, component.name)
        raise StackError(
            f"{component.title} ({component.name}) {problem}. The end of its log:\n{tail}",
            hint=f"Read {log}, then run lineage-bridge local up again, or lineage-bridge local down.",
        )
