"""The local stack: Kafka brokers, Glue and S3, Confluent's APIs, and Spark, which writes topics to tables."""

from __future__ import annotations

import contextlib
import json
import secrets
import shlex
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
from filelock import FileLock

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.embedded import ports, processes, world
from lineage_bridge_dagster.embedded.aws import ACCESS_KEY, SECRET_KEY
from lineage_bridge_dagster.embedded.broker import BrokerProcess
from lineage_bridge_dagster.embedded.components import (
    AWS,
    CONFLUENT,
    ICEBERG,
    MATERIALIZER,
    SPARK,
    WAREHOUSE_BUCKET,
    Component,
    NotReadyError,
    StackError,
    Starter,
    aws_component,
    broker_component,
    broker_name,
    confluent_component,
    iceberg_component,
    materializer_component,
)
from lineage_bridge_dagster.embedded.paths import HOME_VARIABLE, MARKER, StackPaths
from lineage_bridge_dagster.embedded.ports import HOST, local_client
from lineage_bridge_dagster.embedded.processes import Tail
from lineage_bridge_dagster.embedded.rest.names import GLUE_PATH, TABLEFLOW_PATH
from lineage_bridge_dagster.embedded.world.connectors import routes
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.jars import class_archive
from lineage_bridge_dagster.spark.connect_address import TOKEN_VARIABLE
from lineage_bridge_dagster.text import ReportLine


@dataclass(frozen=True, slots=True)
class ComponentStatus:
    """The status of one component.

    Attributes:
        state: `running`, `starting or hung` (the process runs but does not respond) or `stopped`.
        process: None if it is stopped.
        detail: A few words about what it serves, or why it is not ready.
    """

    component: Component
    state: str
    process: processes.Running | None = None
    detail: str = ""


class Stack:
    """The stack of one home folder. Every method can be called in any state, also after `kill -9`.

    `up` creates the folder. Without the materializer, nothing writes topics to tables.
    """

    def __init__(self, home: Path, *, materializer: bool = True) -> None:
        self.paths = StackPaths(home.expanduser().resolve())
        self._with_materializer = materializer
        self._progress: ReportLine = lambda _: None

    @property
    def home(self) -> Path:
        """The folder of the stack's data, logs and settings."""
        return self.paths.home

    def up(
        self,
        progress: ReportLine = lambda _: None,
        *,
        port_base: int | None = None,
        beside: Callable[[], None] = lambda: None,
    ) -> None:
        """Start all components that are not running, add the sample data, and return when all of them work.

        Args:
            progress: Called with one line for each step.
            port_base: First of a range of ports; by default the previous ports if free, else any free ones.
            beside: Called as soon as `env` is known, to start what takes long beside the components.

        Raises:
            ConfigurationError: Java is missing, a port is in use, or the home is another kind of folder.
            StackError: A component did not start; the message has the end of its log.
        """
        began = time.monotonic()
        self._progress = progress
        jars.java()
        base = port_base if port_base is not None else ports.base_from_env()
        self.paths.prepare()
        with self._locked(progress):
            for need in ("kafka", "spark", "rest"):
                jars.ensure(need, progress=progress)
            self._assign_ports(base, progress)
            beside()
            starter = Starter(self.paths)
            progress("Starting brokers, Glue and S3, Iceberg's catalogs, and Confluent's APIs (about 20 s)")
            first = [c for c in self._components if c.name != MATERIALIZER]
            started = starter.start(first, progress)
            # Nothing needs the REST catalogs before Spark writes its first table.
            starter.wait([c for c in first if c.name != ICEBERG], started, began, progress)
            # Spark takes long to start; write the records meanwhile.
            last = [c for c in self._components if c.name in (ICEBERG, MATERIALIZER)]
            started = starter.start([c for c in last if c.name == MATERIALIZER], progress) | started
            progress("Writing the sample topics and records")
            report = world.seed(self.home, lambda line: progress(f"  {line}"))
            if report.records:
                progress(f"  {report.topics} topics, {report.records} records written")
            starter.wait(last, started, began, progress)

    def down(self, progress: ReportLine | None = None) -> list[str]:
        """Stop all components and keep their data. Returns the components that had to be killed.

        Args:
            progress: Called with one line for each step; by default that of `up`.
        """
        progress = progress or self._progress
        if not self.paths.run.is_dir():
            return processes.stop(self.paths) if self.paths.home.exists() else []
        with self._locked(progress):
            return self._stop(progress)

    def reset(self, progress: ReportLine = lambda _: None) -> None:
        """Stop all components and remove the home with all data.

        Raises:
            ConfigurationError: The folder is not a stack's home.
        """
        if not self.home.exists():
            return
        if not self.paths.is_marked:
            raise ConfigurationError(
                f"{self.home} is not the home of a local stack (it has no {MARKER}); nothing was removed.",
                hint=f"Set {HOME_VARIABLE} to the stack's home.",
            )
        with self._locked(progress):
            self._stop(progress)
            progress(f"Removing {self.home}")
            # The marker goes last, so that an interrupted removal can be repeated.
            for entry in self.home.iterdir():
                if entry.name not in (MARKER, "run"):
                    shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        shutil.rmtree(self.paths.run, ignore_errors=True)
        shutil.rmtree(self.home, ignore_errors=True)

    def status(self) -> list[ComponentStatus]:
        """The status of each component, in the order in which they start."""
        running = processes.find(self.paths)
        return [self._status(component, running.get(component.name)) for component in self._components]

    def logs(self, component: str | None = None, *, lines: int = 40, follow: bool = False) -> Iterator[str]:
        """Lines of a component's log, or of all logs, prefixed with the component.

        Raises:
            ConfigurationError: The component is unknown.
        """
        names = [c.name for c in self._components]
        others = sorted(path.stem for path in self.paths.logs.glob("*.log") if path.stem not in names)
        if component is not None and component not in (*names, *others):
            raise ConfigurationError(
                f"There is no component {component}.", hint=f"Use one of {', '.join((*names, *others))}."
            )
        chosen = [component] if component else [*names, *others]
        tails = {name: Tail(processes.log_of(self.paths, name), lines) for name in chosen}
        width = max(map(len, chosen))
        while True:
            for name, tail in tails.items():
                for line in tail.read():
                    yield line if component else f"{name:<{width}} | {line}"
            if not follow:
                return
            time.sleep(0.3)

    def env(self) -> dict[str, str]:
        """The variables that point lineage-bridge at this stack.

        Raises:
            ConfigurationError: The stack was never started.
        """
        assigned = self._stored.get("ports") or {}
        if not {CONFLUENT, AWS, ICEBERG} <= set(assigned):
            raise ConfigurationError(
                f"There is no local stack in {self.home}.", hint="Start one with: lineage-bridge local up"
            )
        aws = f"http://{HOST}:{assigned[AWS]}"
        return {
            **world.credentials_env(f"http://{HOST}:{assigned[CONFLUENT]}"),
            "AWS_ENDPOINT_URL": aws,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": world.GLUE_REGION,
            "AWS_DEFAULT_REGION": world.GLUE_REGION,
            # Otherwise the AWS libraries query EC2's metadata service whenever a key is missing.
            "AWS_EC2_METADATA_DISABLED": "true",
            "LINEAGE_BRIDGE_AWS_REGION": world.GLUE_REGION,
            # Commands in a shell of their own push as the demo's Dagster does.
            "LINEAGE_BRIDGE_PUSH_OWNER": "local-demo",
            "LINEAGE_BRIDGE_CATALOG_WAREHOUSE": f"s3://{WAREHOUSE_BUCKET}/warehouse",
            "ICEBERG_REST_URI": f"http://{HOST}:{assigned[ICEBERG]}{GLUE_PATH}",
            "ICEBERG_WAREHOUSE": world.TABLE_BUCKET_CATALOG,
            "LINEAGE_BRIDGE_TABLEFLOW_CATALOG": f"http://{HOST}:{assigned[ICEBERG]}{TABLEFLOW_PATH}",
            **self._spark_env(assigned.get(SPARK)),
            HOME_VARIABLE: str(self.home),
        }

    def _spark_env(self, port: int | None) -> dict[str, str]:
        """Variables of the Spark Connect server, whose token lets only this user run code in it."""
        if not (self._with_materializer and port and self.paths.spark_token.exists()):
            return {}
        # PySpark sends a token without TLS to `localhost` alone.
        return {
            "LINEAGE_BRIDGE_SPARK_REMOTE": f"sc://localhost:{port}",
            TOKEN_VARIABLE: self.paths.spark_token.read_text(encoding="utf-8"),
        }

    def tableflow_tables(self) -> list[tuple[str, str]]:
        """Glue database and table of each topic with Tableflow enabled and storage of the customer's own.

        Raises:
            StackError: The emulator does not respond.
        """
        return sorted(
            {
                (entry["glue_database"], entry["glue_table"])
                for entry in self._enabled()
                if entry["storage_kind"] != world.MANAGED_STORAGE
            }
        )

    def managed_tables(self) -> list[tuple[str, str]]:
        """Cluster and topic of each table in Confluent's own storage, which only Tableflow's catalog has.

        Raises:
            StackError: The emulator does not respond.
        """
        return sorted(
            (entry["cluster"], entry["topic"])
            for entry in self._enabled()
            if entry["storage_kind"] == world.MANAGED_STORAGE
        )

    def s3_tables(self) -> list[tuple[str, str]]:
        """Namespace and name of each table that sink connectors write to the S3 Tables bucket.

        Raises:
            StackError: The emulator does not respond.
        """
        return sorted({route.table for sink in self._internal("sinks") for route in routes(sink["config"])})

    def topics_without_tableflow(self) -> list[str]:
        """Sample topics with records and without Tableflow whose name is unique among the clusters.

        Raises:
            StackError: The emulator does not respond.
        """
        enabled = {(entry["cluster"], entry["topic"]) for entry in self._enabled()}
        names = [topic.name for topic in world.TOPICS]
        return [
            topic.name
            for topic in world.TOPICS
            if topic.schema is not None
            and names.count(topic.name) == 1
            and (topic.cluster, topic.name) not in enabled
        ]

    @property
    def _stored(self) -> dict[str, Any]:
        try:
            stored = json.loads(self.paths.stack_file.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return stored if isinstance(stored, dict) else {}

    @cached_property
    def _components(self) -> list[Component]:
        # No port is assigned before the first start.
        assigned = defaultdict[str, int](int, self._stored.get("ports", {}))
        components = []
        for cluster in world.CLUSTERS:
            client, controller = assigned[broker_name(cluster.id)], assigned[f"controller-{cluster.id}"]
            data = self.paths.data / "kafka" / cluster.id
            broker = BrokerProcess(cluster.id, client, controller, data, self.paths.run)
            components.append(broker_component(broker, f"Kafka of {cluster.name}"))
        own = dict.fromkeys((WAREHOUSE_BUCKET, world.TABLE_BUCKET), world.GLUE_REGION)
        buckets = own | {each: c.region for c in world.CLUSTERS for each in (c.bucket, c.managed_bucket)}
        table_bucket = (world.TABLE_BUCKET, world.GLUE_REGION)
        components += [
            aws_component(self.paths, assigned[AWS], buckets, table_bucket, assigned[ICEBERG]),
            iceberg_component(self.paths, assigned[ICEBERG], assigned[AWS], world.TABLE_BUCKET),
            confluent_component(self.paths, assigned[CONFLUENT]),
        ]
        if self._with_materializer:
            confluent, spark = assigned[CONFLUENT], assigned[SPARK]
            components.append(materializer_component(self.paths, confluent, spark, self.env))
        return components

    def _assign_ports(self, base: int | None, progress: ReportLine) -> None:
        names = [CONFLUENT, AWS]
        for cluster in world.CLUSTERS:
            names += [broker_name(cluster.id), f"controller-{cluster.id}"]
        names += [ICEBERG, SPARK]
        before = {name: int(port) for name, port in self._stored.get("ports", {}).items()}
        running = processes.find(self.paths)
        in_use = [name for name in names if _owner(name) in running]
        assigned = ports.assign(names, before=before, base=base, seed=str(self.home), running=in_use)
        if assigned != before and running:
            # The components know each other's ports.
            progress("Ports have changed: restarting all components")
            processes.stop(self.paths)
        self._write(assigned)

    def _write(self, assigned: Mapping[str, int]) -> None:
        brokers = {c.id: f"{HOST}:{assigned[broker_name(c.id)]}" for c in world.CLUSTERS}
        urls = {name: f"http://{HOST}:{assigned[name]}" for name in (CONFLUENT, AWS, ICEBERG)}
        urls["glue_iceberg"] = urls[ICEBERG] + GLUE_PATH
        if not self.paths.spark_token.exists():
            _replace(self.paths.spark_token, secrets.token_urlsafe(32), mode=0o600)
        stored = {"version": 1, "ports": dict(assigned), "brokers": brokers, "urls": urls}
        _replace(self.paths.stack_file, json.dumps(stored, indent=2) + "\n")
        self.__dict__.pop("_components", None)
        lines = [f"{name}={shlex.quote(value)}\n" for name, value in sorted(self.env().items())]
        _replace(self.paths.env_file, "".join(lines), mode=0o600)

    def _stop(self, progress: ReportLine) -> list[str]:
        running = processes.find(self.paths)
        if running:
            progress(f"Stopping {', '.join(sorted(running))}")
        recordings = processes.arguments_with(self.paths, class_archive.RECORDS)
        if any(class_archive.is_long_enough(Path(part)) for part in recordings):
            progress(
                "Keeping the classes that Java has loaded, so that the next start is faster "
                "(about a minute, once; Ctrl-C leaves it out)"
            )
            with contextlib.suppress(KeyboardInterrupt):
                return self._stop_recording()
        # Stop writers first, so that none of them fails against a stopped component.
        killed = processes.stop(self.paths, [MATERIALIZER])
        killed += processes.stop(self.paths, [CONFLUENT, ICEBERG])
        return killed + processes.stop(self.paths)

    def _stop_recording(self) -> list[str]:
        """Stop in the same order, with time for JVMs to write the classes that they have loaded."""
        until = time.monotonic() + class_archive.EXIT_SECONDS
        # Spark's JVM, which has nothing else to do any more, writes while the others stop.
        for components in ([MATERIALIZER], [CONFLUENT, ICEBERG]):
            processes.terminate(self.paths, components, patience=max(1.0, until - time.monotonic()))
        patience = max(1.0, until - time.monotonic())
        killed = processes.stop(self.paths, patience=patience, children_patience=patience)
        class_archive.keep_recorded()
        return killed

    def _status(self, component: Component, running: processes.Running | None) -> ComponentStatus:
        if running is None:
            return ComponentStatus(component, "stopped")
        try:
            return ComponentStatus(component, "running", running, component.check())
        except NotReadyError as error:
            return ComponentStatus(component, "starting or hung", running, error.message)

    def _enabled(self) -> list[dict[str, str]]:
        return self._internal("tableflow")

    def _internal(self, name: str) -> list[dict[str, Any]]:
        url = f"{self.env()['LINEAGE_BRIDGE_CONFLUENT_API_URL']}/emulator/{name}"
        try:
            with local_client(timeout=15) as client:
                entries = client.get(url).raise_for_status().json()
        except httpx.HTTPError as error:
            raise StackError(
                f"The Confluent emulator does not respond: {error}", hint="Run: lineage-bridge local up"
            ) from error
        return list(entries)

    @contextlib.contextmanager
    def _locked(self, progress: ReportLine) -> Iterator[None]:
        """Run one command at a time per home. The system releases the lock of a killed command."""
        lock = FileLock(self.paths.run / "stack.lock")
        try:
            lock.acquire(blocking=False)
        except TimeoutError:
            progress("Waiting for another lineage-bridge local command on this stack")
            lock.acquire()
        try:
            yield
        finally:
            lock.release()


def _owner(listener: str) -> str:
    """The component that a listener belongs to."""
    return MATERIALIZER if listener == SPARK else listener.replace("controller-", "broker-")


def _replace(path: Path, text: str, mode: int = 0o644) -> None:
    part = path.with_name(f".{path.name}.part")
    part.touch(mode)
    part.chmod(mode)
    part.write_text(text, encoding="utf-8")
    part.replace(path)
