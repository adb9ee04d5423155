"""A Kafka broker of the embedded stack, without the stack."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lineage_bridge_dagster.embedded.broker import KafkaBroker
from lineage_bridge_dagster.embedded.dagster_process import free_port
from lineage_bridge_dagster.errors import LineageBridgeError


@dataclass(frozen=True)
class ConfiguredBroker(KafkaBroker):
    """A broker with further properties."""

    further: Mapping[str, str] = field(default_factory=dict)

    def properties(self, data: Path | None = None) -> Mapping[str, str]:
        return {**KafkaBroker.properties(self, data), **self.further}


@contextmanager
def running_broker(folder: Path, **properties: str) -> Iterator[KafkaBroker]:
    """Start a broker with its data in a folder, and stop it at the end.

    Args:
        folder: where it keeps everything.
        properties: further ones of the broker, with underscores for dots.
    """
    further = {name.replace("_", "."): value for name, value in properties.items()}
    data, run = folder / "data", folder / "run"
    broker = ConfiguredBroker("lkc-test", free_port(), free_port(), data, run, further)
    broker.prepare()
    log_file = folder / "log"
    with log_file.open("w") as log:
        process = subprocess.Popen(broker.command(), stdout=log, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                broker.check()
                break
            except LineageBridgeError:
                assert process.poll() is None, log_file.read_text()[-2000:]
                assert time.monotonic() < deadline, log_file.read_text()[-2000:]
                time.sleep(0.3)
        yield broker
    finally:
        process.terminate()
        process.wait(30)
