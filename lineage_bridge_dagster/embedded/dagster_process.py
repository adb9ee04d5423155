"""`dagster dev` as the demo and the tests run it: another process of the stack, stopped like the others."""

from __future__ import annotations

import contextlib
import shutil
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from lineage_bridge_dagster.embedded import processes
from lineage_bridge_dagster.embedded.paths import StackPaths
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError

COMPONENT = "dagster"

#: A workspace file that works wherever the package is installed.
_WORKSPACE = """\
load_from:
  - python_module:
      module_name: lineage_bridge_dagster.definitions
      location_name: lineage_bridge_dagster
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_listening(port: int) -> bool:
    """Whether a process on this machine accepts connections on the port."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@dataclass(slots=True)
class DagsterProcess:
    """`dagster dev` on `port`, by default a free one.

    Webserver and daemon share one code server, so that a reload reaches both. The Dagster instance is in
    `{home}/dagster` and is kept between starts. A process of an earlier start is stopped first.
    """

    paths: StackPaths
    env: Mapping[str, str]
    port: int = field(default_factory=free_port)
    _running: processes.Running | None = None

    @property
    def log(self) -> Path:
        return processes.log_of(self.paths, COMPONENT)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        processes.stop(self.paths, [COMPONENT])
        if is_listening(self.port):
            raise ConfigurationError(
                f"Port {self.port} is in use.", hint="Choose another with --port, or stop that process."
            )
        instance = self.paths.home / "dagster"
        instance.mkdir(parents=True, exist_ok=True)
        settings = Path(__file__).resolve().parents[2] / "dagster.yaml"
        if settings.exists():
            shutil.copyfile(settings, instance / "dagster.yaml")
        workspace = instance / "workspace.yaml"
        workspace.write_text(_WORKSPACE, encoding="utf-8")
        command = processes.python("dagster", "dev", "-w", workspace, "-h", "127.0.0.1", "-p", str(self.port))
        # Dagster warns about its beta features at every load, with hundreds of lines per minute.
        env = {"PYTHONWARNINGS": "ignore", **self.env, "DAGSTER_HOME": str(instance)}
        self._running = processes.start(self.paths, COMPONENT, command, env)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        processes.stop(self.paths, [COMPONENT])

    def check(self) -> None:
        """Raise an error with the end of the log if Dagster has exited."""
        if self._running is None or processes.is_alive(self._running.process):
            return
        tail = processes.end_of_log(self.paths, COMPONENT)
        raise LineageBridgeError(f"Dagster has exited. The end of its log:\n{tail}", hint=f"See {self.log}")

    def wait_until_ready(self, seconds: float = 120) -> None:
        """Wait until the UI's port is open."""
        until = time.monotonic() + seconds
        while not is_listening(self.port):
            self.check()
            if time.monotonic() > until:
                raise LineageBridgeError(
                    f"The UI did not start within {seconds:.0f} s.", hint=f"See {self.log}"
                )
            time.sleep(0.3)
