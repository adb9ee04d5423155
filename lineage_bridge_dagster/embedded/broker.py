"""An Apache Kafka broker: one node, with broker and controller in one process (KRaft)."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.embedded.dagster_process import is_listening
from lineage_bridge_dagster.embedded.ports import HOST
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.jars import class_archive

#: For a fast start and a small footprint; the stack is not meant for load.
_JVM = (
    *("-Xms96m", "-Xmx256m", "-XX:MaxMetaspaceSize=160m", "-XX:+UseSerialGC"),
    *("-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:+ExitOnOutOfMemoryError"),
    *("-Djava.awt.headless=true", "-Djava.net.preferIPv4Stack=true"),
)

_LOG4J = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %m (%c)%n
rootLogger.level = WARN
rootLogger.appenderRef.console.ref = console
logger.kafka.name = kafka.server
logger.kafka.level = INFO
"""


@dataclass(frozen=True, slots=True)
class BrokerProcess:
    """One cluster's broker.

    Attributes:
        cluster: Id of the emulated cluster; Kafka's own cluster id is derived from it.
        port: Client port, on the loopback interface.
        controller_port: Port of the quorum, which has this one member.
        data: Folder of topics and metadata.
        run: Folder of the files that are written at each start.
    """

    cluster: str
    port: int
    controller_port: int
    data: Path
    run: Path

    @property
    def address(self) -> str:
        """Bootstrap address."""
        return f"{HOST}:{self.port}"

    @property
    def kafka_id(self) -> str:
        """Kafka's cluster id: 16 bytes in base64."""
        digest = hashlib.md5(self.cluster.encode(), usedforsecurity=False).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def properties(self, data: Path | None = None) -> Mapping[str, str]:
        """`server.properties`: one replica of everything, and no automatic topics, as on Confluent Cloud."""
        return {
            "node.id": "1",
            "process.roles": "broker,controller",
            "controller.quorum.voters": f"1@{HOST}:{self.controller_port}",
            "listeners": f"PLAINTEXT://{HOST}:{self.port},CONTROLLER://{HOST}:{self.controller_port}",
            "advertised.listeners": f"PLAINTEXT://{HOST}:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(data or self.data),
            "auto.create.topics.enable": "false",
            "default.replication.factor": "1",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "2",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "2",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "share.coordinator.state.topic.num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
            # Preallocated for each partition at once; the default is 10 MB.
            "log.index.size.max.bytes": "1048576",
            "log.cleaner.dedupe.buffer.size": "8388608",
            "num.network.threads": "2",
            "num.io.threads": "4",
            "background.threads": "2",
            "controlled.shutdown.max.retries": "0",
        }

    def prepare(self) -> None:
        """Create the data folder, once and atomically.

        Raises:
            LineageBridgeError: Kafka's own tool failed.
        """
        self.run.mkdir(parents=True, exist_ok=True)
        (self.run / "log4j2.properties").write_text(_LOG4J, encoding="utf-8")
        self._write(self.properties(), self._settings)
        if (self.data / "meta.properties").is_file():
            return
        part = self.data.with_name(f".part-{self.data.name}")
        for leftover in (part, self.data):
            shutil.rmtree(leftover, ignore_errors=True)
        self.data.parent.mkdir(parents=True, exist_ok=True)
        settings = self._settings.with_suffix(".format")
        self._write(self.properties(part), settings)
        process = subprocess.run(
            [
                *self._java("kafka.tools.StorageTool"),
                *("format", "--cluster-id", self.kafka_id, "--config", str(settings)),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if process.returncode != 0:
            raise LineageBridgeError(
                f"The data folder of the broker of {self.cluster} could not be created:\n"
                + (process.stderr or process.stdout).strip()[-1500:],
                hint=f"Check that {self.data.parent} is writable and has free space.",
            )
        part.rename(self.data)

    def command(self, *, record_classes: bool = False) -> list[str]:
        """The command that starts the broker; call `prepare` first.

        Args:
            record_classes: Whether it writes an archive of its classes when it exits, if there is none.
        """
        return [*self._java("kafka.Kafka", record_classes=record_classes), str(self._settings)]

    def check(self, timeout: float = 3.0) -> str:
        """List the broker's topics over the Kafka protocol, and return their number as text.

        Raises:
            LineageBridgeError: the broker does not respond, or belongs to another cluster.
        """
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        # The client would try again less and less often, and see late that the broker has started.
        if not is_listening(self.port):
            raise LineageBridgeError(f"no response on {self.address} (nothing listens there)")
        client = AdminClient(
            {"bootstrap.servers": self.address, "log_level": 0, "socket.timeout.ms": int(timeout * 1000)}
        )
        try:
            metadata = client.list_topics(timeout=timeout)
        except KafkaException as error:
            raise LineageBridgeError(f"no response on {self.address} ({error.args[0].str()})") from error
        # The client's type stubs declare it as always None.
        cluster_id = cast("str | None", metadata.cluster_id)
        if cluster_id != self.kafka_id:
            raise LineageBridgeError(f"the broker on {self.address} belongs to cluster {cluster_id}")
        return f"{sum(not name.startswith('__') for name in metadata.topics)} topics"

    @property
    def _settings(self) -> Path:
        return self.run / f"broker-{self.cluster}.properties"

    def _java(self, main: str, *, record_classes: bool = False) -> list[str]:
        archives = jars.ensure("kafka")
        path = ":".join(str(archive) for archive in archives)
        log4j = f"-Dlog4j2.configurationFile={self.run / 'log4j2.properties'}"
        classes = class_archive.options("kafka", archives, _JVM, record=record_classes)
        return [str(jars.java()), *_JVM, *classes, log4j, "-cp", path, main]

    @staticmethod
    def _write(properties: Mapping[str, str], path: Path) -> None:
        path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()), encoding="utf-8")
