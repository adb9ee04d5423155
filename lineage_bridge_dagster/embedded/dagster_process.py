"""Dagster as the demo and the tests run it: a process group of our own, logged to a file."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError

#: The project's own workspace file, for wherever the package is installed.
_WORKSPACE = """\
load_from:
  - python_module:
      module_name: lineage_bridge_dagster.definitions
      location_name: lineage_bridge_dagster
"""

#: Signal and the seconds it is given; `dagster dev` ends its children on SIGINT.
_STOPPING = ((signal.SIGINT, 20.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    """Whether something on this machine accepts connections there."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@dataclass(slots=True)
class DagsterProcess:
    """`dagster dev`, with the UI on `port`; without one, on any port that is free.

    The instance lives in `{home}/dagster` and is kept from one start to the next.
    """

    home: Path
    env: Mapping[str, str]
    port: int | None = None
    _process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self.home / "logs" / "dagster.log"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def _workspace(self) -> Path:
        return self.home / "dagster" / "workspace.yaml"

    def _command(self) -> list[str]:
        # Never the daemon alone: its code server is its own copy, which a new state can't be loaded into.
        port = free_port() if self.port is None else self.port
        target = ["-w", str(self._workspace), "-h", "127.0.0.1", "-p", str(port)]
        return [sys.executable, "-m", "dagster", "dev", *target]

    def __enter__(self) -> Self:
        if self.port is not None and answers(self.port):
            raise ConfigurationError(
                f"Port {self.port} is in use.", hint="Give another with --port, or end what listens there."
            )
        instance = self.home / "dagster"
        instance.mkdir(parents=True, exist_ok=True)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        settings = Path(__file__).resolve().parents[2] / "dagster.yaml"
        if settings.exists():
            shutil.copyfile(settings, instance / "dagster.yaml")
        self._workspace.write_text(_WORKSPACE)
        with self.log.open("ab") as sink:
            self._process = subprocess.Popen(
                self._command(),
                # Dagster warns of each of its own beta features at every load, hundreds of lines a minute.
                env={
                    **os.environ,
                    "PYTHONWARNINGS": "ignore",
                    **self.env,
                    "DAGSTER_HOME": str(instance),
                },
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process = self._process
        if process is None:
            return
        for number, patience in _STOPPING:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience)
                break
        # What outlived its leader: runs are processes of the same group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    def check(self) -> None:
        """Raise, with the end of its log, when it has ended by itself."""
        if self._process is None or self._process.poll() is None:
            return
        tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
        raise LineageBridgeError(
            f"Dagster ended with exit code {self._process.returncode}:\n{tail}", hint=f"See {self.log}"
        )

    def wait_until_it_answers(self, seconds: float = 120) -> None:
        """Block until the UI's port is open."""
        until = time.monotonic() + seconds
        while self.port is not None and not answers(self.port):
            self.check()
            if time.monotonic() > until:
                raise LineageBridgeError(f"The UI did not answer in {seconds:.0f} s.", hint=f"See {self.log}")
            time.sleep(0.3)
