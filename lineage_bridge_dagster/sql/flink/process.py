"""The process that hosts Flink's parser: a small JVM, called through py4j on a loopback port.

It listens on 127.0.0.1, requires an auth token, and ends when its standard input closes: no JVM outlives this
process, however that ends (`kill -9` included).
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import struct
import subprocess
import tempfile
import time
import weakref
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import IO, Any

from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JError

from lineage_bridge_dagster.errors import LineageBridgeError

HEAP_MEGABYTES = 192
STATEMENT_MILLISECONDS = 20_000
"""Time limit for one statement; none of tens of thousands needed a tenth of it."""

_START_SECONDS = 60.0
_RESPONSE_SECONDS = 900.0
_CLASS = "lineage.FlinkTrees"
_SOURCES = ("TreeWriter.java", "FlinkTrees.java")
# Loaded by flink-sql-parser and Calcite while parsing, or needed to compile our class; all ship with PySpark.
PYSPARK_JARS = ("guava", "slf4j-api", "commons-math3", "janino", "commons-compiler", "py4j")


class ParserProcessDied(Exception):
    """The process ended or dropped the connection before it responded."""


class ParserProcess:
    """A running JVM with the parser in it. Not thread-safe: one call at a time.

    Raises:
        LineageBridgeError: It did not start.
    """

    def __init__(self, java: Path, classpath: Sequence[Path]) -> None:
        self._owner = os.getpid()
        # A file, not a pipe: nobody needs to drain it, and its content explains a failed start.
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [
                str(java),
                f"-Xmx{HEAP_MEGABYTES}m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                # Writes no file to the temporary folder.
                "-XX:-UsePerfData",
                "-Djava.awt.headless=true",
                # As in Flink's planner: literals may contain any character.
                "-Dcalcite.default.charset=utf8",
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
            # Ctrl-C reaches this process only, which then ends the JVM.
            start_new_session=True,
        )
        _PROCESSES.add(self)
        self._finalizer = weakref.finalize(self, _end, self._process, self._owner)
        try:
            port, token = self._port_and_token()
            self._gateway = JavaGateway(
                gateway_parameters=GatewayParameters(
                    address="127.0.0.1",
                    port=int(port),
                    auth_token=token,
                    read_timeout=_RESPONSE_SECONDS,
                    enable_memory_management=False,
                )
            )
            self._trees = self._compile()
        except (Py4JError, OSError, ValueError) as e:
            output = self._error_output()
            self.close()
            raise LineageBridgeError(
                f"Flink's SQL parser did not start ({java}): {output or e}",
                hint="check that this Java runs: java -version",
            ) from e

    @property
    def pid(self) -> int:
        """The JVM's process id."""
        return self._process.pid

    @property
    def usable(self) -> bool:
        """Whether the JVM runs and was started by this process, not by one that it was forked from."""
        return self._owner == os.getpid() and self._process.poll() is None

    def parse(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """Parse statements.

        Returns:
            For each processed text `{"root", "nodes"}` or `{"error", "line", "column"}`. If there are fewer
            responses than texts, the last has `"fatal": true`, and this process must not be used again.

        Raises:
            ParserProcessDied: It ended before it responded.
        """
        batch = bytearray(struct.pack(">i", len(texts)))
        for text in texts:
            # UTF-16, since a text may contain lone surrogates, which UTF-8 cannot encode.
            chars = text.encode("utf-16-be", "surrogatepass")
            batch += struct.pack(">i", len(chars) // 2) + chars
        try:
            responses: list[dict[str, Any]] = json.loads(self._trees.parse(batch, STATEMENT_MILLISECONDS))
        except (Py4JError, OSError, ValueError) as e:
            raise ParserProcessDied(self._error_output() or str(e)) from e
        return responses

    def close(self) -> None:
        """End the JVM, unless a parent process started it. It has no state to lose."""
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

    def _compile(self) -> Any:
        jvm: Any = self._gateway.jvm
        loader: Any = None
        for source in _SOURCES:
            compiler = jvm.org.codehaus.janino.SimpleCompiler()
            if loader is not None:
                compiler.setParentClassLoader(loader)
            compiler.cook(resources.files(__package__).joinpath(source).read_text("utf-8"))
            loader = compiler.getClassLoader()
        no_types = self._gateway.new_array(jvm.java.lang.Class, 0)
        no_values = self._gateway.new_array(jvm.java.lang.Object, 0)
        return loader.loadClass(_CLASS).getDeclaredConstructor(no_types).newInstance(no_values)

    def _error_output(self) -> str:
        """The end of its stderr, without the logger's notice."""
        with contextlib.suppress(OSError, ValueError):
            self._stderr.seek(0)
            lines = self._stderr.read().decode("utf-8", "replace").splitlines()
            return " / ".join(line for line in lines if not line.startswith("SLF4J"))[-500:]
        return ""


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() != owner:
        return
    with contextlib.suppress(OSError):
        process.kill()
    process.wait()
    _close_pipes(process)


def _close_pipes(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


_PROCESSES: weakref.WeakSet[ParserProcess] = weakref.WeakSet()


def _detach_in_child() -> None:
    for process in list(_PROCESSES):
        process.detach()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_detach_in_child)
