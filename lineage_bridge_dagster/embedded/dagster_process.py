"""Dagster as the demo and the tests run it: further processes of the stack, stopped like the others.

They are those of `dagster dev`, in the same order: the code server, and once it has loaded the code location
and created the instance's databases, the webserver and the daemon. But the daemon, which evaluates the
sensors, can start later, when there is something to discover.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from lineage_bridge_dagster.config.dg_project import dagster_yaml
from lineage_bridge_dagster.embedded import processes
from lineage_bridge_dagster.embedded.paths import StackPaths
from lineage_bridge_dagster.embedded.ports import HOST
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError

CODE_SERVER, WEBSERVER, DAEMON = COMPONENTS = ("dagster-code", "dagster-webserver", "dagster-daemon")
#: All of them write to one log.
LOG = "dagster"

#: Seconds until the code location must be loaded.
_LOAD_SECONDS = 240.0

#: Webserver and daemon share one code server, so that a reload reaches both.
_WORKSPACE = """\
load_from:
  - grpc_server:
      host: {host}
      port: {port}
      location_name: lineage_bridge_dagster
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def is_listening(port: int) -> bool:
    """Whether a process on this machine accepts connections on the port."""
    with contextlib.suppress(OSError), socket.create_connection((HOST, port), timeout=1):
        return True
    return False


@dataclass(slots=True)
class DagsterProcess:
    """Dagster with its UI on `port`, by default a free one.

    The Dagster instance is in `{home}/dagster` and is kept between starts. Processes of an earlier start are
    stopped first.
    """

    paths: StackPaths
    env: Mapping[str, str]
    port: int = field(default_factory=free_port)
    _code_port: int = field(default_factory=free_port)
    _running: list[processes.Running] = field(default_factory=list)
    _leaving: threading.Event = field(default_factory=threading.Event)
    _opening: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        # Beside whatever the caller starts meanwhile.
        self._opening = threading.Thread(target=self._open_ui, daemon=True)

    @property
    def log(self) -> Path:
        return processes.log_of(self.paths, LOG)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def __enter__(self) -> Self:
        processes.stop(self.paths, COMPONENTS)
        if is_listening(self.port):
            raise ConfigurationError(
                f"Port {self.port} is in use.", hint="Choose another with --port, or stop that process."
            )
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "dagster.yaml").write_text(dagster_yaml(), encoding="utf-8")
        self._workspace.write_text(_WORKSPACE.format(host=HOST, port=self._code_port), encoding="utf-8")
        address = ("-h", HOST, "-p")
        location = ("-m", "lineage_bridge_dagster.definitions", "--location-name", "lineage_bridge_dagster")
        serve = ("code-server", "start", "--log-level", "warning", *address, str(self._code_port))
        self._start(CODE_SERVER, "dagster", *serve, *location)
        self._opening.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving.set()
        self._opening.join()
        processes.stop(self.paths, COMPONENTS)

    def start_sensors(self) -> None:
        """Start the daemon, which evaluates sensors and schedules and launches runs.

        Raises:
            LineageBridgeError: A process has exited, or the code location took too long.
        """
        self._wait(self._is_loaded, _LOAD_SECONDS)
        self._start(DAEMON, "dagster._daemon", "run", "-w", self._workspace)

    def check(self) -> None:
        """Raise an error with the end of the log if a process of Dagster has exited."""
        for running in self._running:
            if not processes.is_alive(running.process):
                tail = processes.end_of_log(self.paths, LOG)
                raise LineageBridgeError(
                    f"{running.component} has exited. The end of its log:\n{tail}", hint=f"See {self.log}"
                )

    def wait_until_ready(self, seconds: float = _LOAD_SECONDS) -> None:
        """Wait until the UI's port is open.

        Raises:
            LineageBridgeError: A process has exited, or it took longer.
        """
        self._wait(lambda: is_listening(self.port), seconds)

    def _is_loaded(self) -> bool:
        """Whether the code server listens, which it does once it has loaded the code location."""
        return is_listening(self._code_port)

    def _open_ui(self) -> None:
        while not self._leaving.wait(0.2):
            if self._is_loaded():
                address = ("-h", HOST, "-p", str(self.port))
                self._start(WEBSERVER, "dagster_webserver", "-w", self._workspace, *address)
                return

    def _wait(self, ready: Callable[[], bool], seconds: float) -> None:
        until = time.monotonic() + seconds
        while not ready():
            self.check()
            if time.monotonic() > until:
                raise LineageBridgeError(
                    f"Dagster has not loaded the code location after {seconds:.0f} s.", hint=f"See {self.log}"
                )
            time.sleep(0.3)

    @property
    def home(self) -> Path:
        """The folder of the Dagster instance."""
        return self.paths.home / "dagster"

    @property
    def _workspace(self) -> Path:
        return self.home / "workspace.yaml"

    def _start(self, component: str, module: str, *arguments: str | Path) -> None:
        # Dagster warns about its beta features at every load, with hundreds of lines per minute.
        env = {"PYTHONWARNINGS": "ignore", **self.env, "DAGSTER_HOME": str(self.home)}
        command = processes.python(module, *arguments)
        self._running.append(processes.start(self.paths, component, command, env, log=LOG))
