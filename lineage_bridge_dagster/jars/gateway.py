"""A JVM beside this process, called through py4j on a loopback port.

It listens on 127.0.0.1, requires an auth token, and ends when its standard input closes: no JVM outlives this
process, however that ends (`kill -9` included).
"""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import subprocess
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JError

from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.jars import class_archive

_START_SECONDS = 60.0
_CALL_SECONDS = 900.0


class JvmDied(Exception):
    """The JVM ended or dropped the connection before it responded."""


class JvmGateway:
    """A running JVM with a py4j gateway in it. Not thread-safe: one call at a time.

    Args:
        name: What runs in it, for error messages.
        java: The `java` program.
        classpath: Its archives; PySpark's `py4j` must be among them.
        options: Options of the JVM.
        env: Environment variables that it gets besides this process's own.

    A JVM that records its classes is given time to write them when it is closed; others are killed.

    Raises:
        LineageBridgeError: It did not start.
    """

    def __init__(
        self,
        name: str,
        java: Path,
        classpath: Sequence[Path],
        options: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        hide_what_java_gets()
        self._owner = os.getpid()
        # A file, not a pipe: nobody needs to drain it, and its content explains a failed start.
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [
                str(java),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                # Writes no file to the temporary folder.
                "-XX:-UsePerfData",
                "-Djava.awt.headless=true",
                *options,
                "-cp",
                os.pathsep.join(str(jar) for jar in classpath),
                "py4j.GatewayServer",
                "--die-on-broken-pipe",
                "--enable-auth",
                "0",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env={**os.environ, **(env or {})},
            # Ctrl-C reaches this process only, which then ends the JVM.
            start_new_session=True,
        )
        _GATEWAYS.add(self)
        self._finalizer = weakref.finalize(self, _end, self._process, self._owner, _patience(options))
        try:
            port, token = self._port_and_token()
            self._gateway = JavaGateway(
                gateway_parameters=GatewayParameters(
                    address="127.0.0.1",
                    port=int(port),
                    auth_token=token,
                    read_timeout=_CALL_SECONDS,
                    enable_memory_management=False,
                )
            )
            self._gateway.jvm.java.lang.System.nanoTime()
        except (Py4JError, OSError, ValueError) as e:
            raise self.start_failure(name, java, e) from e

    @property
    def jvm(self) -> Any:
        """The JVM's packages: `jvm.java.util.HashMap()`."""
        return self._gateway.jvm

    @property
    def pid(self) -> int:
        """The JVM's process id."""
        return self._process.pid

    @property
    def usable(self) -> bool:
        """Whether the JVM runs and was started by this process, not by one that it was forked from."""
        return self._owner == os.getpid() and self._process.poll() is None

    def array(self, element: Any, *values: Any) -> Any:
        """A Java array of a class's type."""
        array = self._gateway.new_array(element, len(values))
        for index, value in enumerate(values):
            array[index] = value
        return array

    def start_failure(self, name: str, java: Path, cause: Exception) -> LineageBridgeError:
        """End the JVM, and return the error to raise for a start that failed."""
        # An error of Java's asks the JVM for its text.
        reason = self.error_output() or str(cause)
        self.close()
        return LineageBridgeError(
            f"{name} did not start ({java}): {reason}",
            hint="check that this Java runs: java -version",
        )

    def error_output(self) -> str:
        """The end of its stderr, without the logger's notice."""
        with contextlib.suppress(OSError, ValueError):
            self._stderr.seek(0)
            lines = self._stderr.read().decode("utf-8", "replace").splitlines()
            return " / ".join(line for line in lines if not line.startswith("SLF4J"))[-500:]
        return ""

    def close(self) -> None:
        """End the JVM, unless a parent process started it."""
        if self._owner != os.getpid():
            # Closing the connection would shut down the socket shared with the parent.
            return
        self._finalizer()
        with contextlib.suppress(Py4JError, OSError, AttributeError):
            self._gateway.close()
        self._stderr.close()

    def detach(self) -> None:
        """In a forked child: close the pipes, so that the JVM's life depends on its own parent only."""
        self._finalizer.detach()
        _close_pipes(self._process)

    def _port_and_token(self) -> tuple[str, str]:
        """Read the port and the token, the first two lines that the gateway prints."""
        out = self._process.stdout
        if out is None:
            raise ValueError("no pipe to read the port from")
        output = b""
        deadline = time.monotonic() + _START_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            while output.count(b"\n") < 2:
                if not selector.select(timeout=max(0.0, deadline - time.monotonic())):
                    raise ValueError(f"no output for {_START_SECONDS:.0f} s")
                chunk = os.read(out.fileno(), 4096)
                if not chunk:
                    raise ValueError("the process ended at once")
                output += chunk
        port, token = output.decode("ascii", "replace").split("\n")[:2]
        return port.strip(), token.strip()


def _patience(options: Sequence[str]) -> float:
    """Seconds that a JVM with these options may take to exit by itself."""
    records = any(option.startswith(class_archive.RECORDS) for option in options)
    return class_archive.EXIT_SECONDS if records else 0.0


def _end(process: subprocess.Popen[bytes], owner: int, patience: float) -> None:
    if os.getpid() != owner:
        return
    if patience and process.stdin is not None:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            process.stdin.close()
            process.wait(patience)
    with contextlib.suppress(OSError):
        process.kill()
    process.wait()
    _close_pipes(process)


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


_GATEWAYS: weakref.WeakSet[JvmGateway] = weakref.WeakSet()


def _detach_in_child() -> None:
    for gateway in list(_GATEWAYS):
        gateway.detach()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_detach_in_child)


def hide_what_java_gets() -> None:
    """Have py4j log nothing at DEBUG: all that goes to a JVM and comes from it, statements and settings."""
    logging.getLogger("py4j").setLevel(logging.INFO)
