"""A Kafka broker of the embedded stack, without the stack."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lineage_bridge_dagster.embedded.broker import BrokerProcess
from lineage_bridge_dagster.embedded.dagster_process import free_port
from lineage_bridge_dagster.errors import LineageBridgeError


@dataclass(frozen=True)
class ConfiguredBroker(BrokerProcess):
    """A broker with further properties."""

    further: Mapping[str, str] = field(default_factory=dict)

    def properties(self, data: Path | None = None) -> Mapping[str, str]:
        return {**BrokerProcess.properties(self, data), **self.further}


class RestartableBroker:
    """A broker that can be stopped and started again, with its data and on its port.

    Args:
        folder: where it keeps everything.
        properties: further ones of the broker, with underscores for dots.
    """

    def __init__(self, folder: Path, **properties: str) -> None:
        further = {name.replace("_", "."): value for name, value in properties.items()}
        data, run = folder / "data", folder / "run"
        self.broker = ConfiguredBroker("lkc-test", free_port(), free_port(), data, run, further)
        self._log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self.broker.prepare()

    def start(self) -> None:
        """Start it, and return when it responds."""
        with self._log.open("a") as log:
            process = subprocess.Popen(self.broker.command(), stdout=log, stderr=subprocess.STDOUT)
        self._process = process
        deadline = time.monotonic() + 60
        while not self._responds():
            assert process.poll() is None, self._log.read_text()[-2000:]
            assert time.monotonic() < deadline, self._log.read_text()[-2000:]
            time.sleep(0.3)

    def _responds(self) -> bool:
        try:
            self.broker.check()
        except LineageBridgeError:
            return False
        return True

    def stop(self) -> None:
        """Kill it: a broker that fails does not say goodbye either."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)
            self._process = None


@contextmanager
def restartable_broker(folder: Path, **properties: str) -> Iterator[RestartableBroker]:
    """Start a broker with its data in a folder, and stop it at the end; see `RestartableBroker`."""
    broker = RestartableBroker(folder, **properties)
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


@contextmanager
def running_broker(folder: Path, **properties: str) -> Iterator[BrokerProcess]:
    """Start a broker that stays up; arguments as of `restartable_broker`."""
    with restartable_broker(folder, **properties) as process:
        yield process.broker
