"""What a stack is made of: how each part is started, and how to tell that it works."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.embedded import processes
from lineage_bridge_dagster.embedded.broker import KafkaBroker
from lineage_bridge_dagster.embedded.paths import StackPaths
from lineage_bridge_dagster.embedded.ports import HOST
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.jars.jvm import home as java_home

CONFLUENT, AWS, MATERIALIZER = "confluent", "aws", "materializer"

#: The bucket of the lineage tables and of what downstream assets write.
WAREHOUSE_BUCKET = "lineage-bridge"

#: A materializer that has not said anything for so long is hung.
_HEARTBEAT_SECONDS = 60.0


class NotReadyError(LineageBridgeError):
    """A component does not answer, or not as it should."""


@dataclass(frozen=True, slots=True)
class Component:
    """One part of a stack.

    Attributes:
        name: of its log, and for `status` and `logs`.
        title: what it is, for people.
        address: where it listens; empty when nowhere.
        command: what starts it.
        env: variables that it needs besides the shell's.
        prepare: what must be done before its start.
        check: returns how it is in a few words, or raises NotReadyError.
        patience: seconds from its start until it must be ready.
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
    """The name of a cluster's broker among the components."""
    return f"broker-{cluster}"


def broker_component(broker: KafkaBroker, title: str) -> Component:
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
        lambda: list(broker.command()),
        dict,
        broker.prepare,
        check,
    )


def aws_component(paths: StackPaths, port: int, buckets: Mapping[str, str]) -> Component:
    """Glue and S3; `buckets` are the names of those to make, with their regions."""

    def check() -> str:
        _ask(f"http://{HOST}:{port}/_strict/health")
        return "healthy"

    made = [f"--bucket={name}@{region}" for name, region in buckets.items()]
    module = "lineage_bridge_dagster.embedded.aws"
    return Component(
        AWS,
        "Glue and S3",
        f"http://{HOST}:{port}",
        lambda: processes.python(module, "--port", str(port), "--data", paths.data / "aws", *made),
        dict,
        _nothing,
        check,
    )


def confluent_component(paths: StackPaths, port: int) -> Component:
    """The emulator of Confluent's APIs, which reads `stack.json` for where the brokers are."""

    def check() -> str:
        answer = _ask(f"http://{HOST}:{port}/emulator/health")
        return ", ".join(f"{cluster}: {how}" for cluster, how in answer.get("brokers", {}).items())

    return Component(
        CONFLUENT,
        "Confluent's APIs",
        f"http://{HOST}:{port}",
        lambda: processes.python("lineage_bridge_dagster.embedded.confluent", "--home", paths.home),
        dict,
        _nothing,
        check,
    )


def materializer_component(
    paths: StackPaths, confluent_port: int, env: Callable[[], Mapping[str, str]]
) -> Component:
    """Spark, which turns topics into tables; it says in a file that it lives."""
    ready = paths.run / "materializer.ready"

    def check() -> str:
        try:
            said = json.loads(ready.read_text(encoding="utf-8"))
            age = (datetime.now(UTC) - datetime.fromisoformat(said["at"])).total_seconds()
        except (OSError, ValueError, KeyError) as error:
            raise NotReadyError("Spark is starting") from error
        running = processes.find(paths).get(MATERIALIZER)
        if running is None or running.pid != said["pid"]:
            raise NotReadyError("Spark is starting")
        if age > _HEARTBEAT_SECONDS:
            raise NotReadyError(f"no sign of life for {age:.0f} s")
        entries = _ask(f"http://{HOST}:{confluent_port}/emulator/tableflow")
        return f"{sum(entry['phase'] == 'RUNNING' for entry in entries)} of {len(entries)} tables"

    return Component(
        MATERIALIZER,
        "Topics to tables",
        "",
        lambda: processes.python("lineage_bridge_dagster.embedded.materializer", "--home", paths.home),
        lambda: {**env(), "JAVA_HOME": str(java_home(jars.java()))},
        lambda: ready.unlink(missing_ok=True),
        check,
        patience=180.0,
    )


def _ask(url: str) -> Any:
    try:
        answer = httpx.get(url, timeout=5, trust_env=False).raise_for_status().json()
    except (httpx.HTTPError, ValueError) as error:
        raise NotReadyError(f"no answer from {url} ({error})") from error
    return answer


def _nothing() -> None:
    return None
