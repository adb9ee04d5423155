"""The process that hosts Flink's parser: one small JVM, spoken to by py4j on a loopback port of its own.

It is bound to 127.0.0.1, wants an auth token, and ends when its standard input does, so however this process
ends (`kill -9` too) it leaves none behind.
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
"""How long one statement may take; none of tens of thousands took a tenth of it."""

_START_SECONDS = 60.0
_ANSWER_SECONDS = 900.0
_CLASS = "lineage.FlinkTrees"
_SOURCE = "FlinkTrees.java"
# What flink-sql-parser and Calcite load while parsing, and what compiles our class: all of it comes with
# PySpark.
PYSPARK_JARS = ("guava", "slf4j-api", "commons-math3", "janino", "commons-compiler", "py4j")


class ParserProcessDied(Exception):
    """The process ended, or broke off, before it answered."""


class ParserProcess:
    """A running JVM with the parser in it. Not thread-safe: one call at a time.

    Raises:
        LineageBridgeError: It did not start.
    """

    def __init__(self, java: Path, classpath: Sequence[Path]) -> None:
        self._owner = os.getpid()
        # A file, not a pipe: nobody needs to drain it, and it is there to be shown if the start fails.
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [
                str(java),
                f"-Xmx{HEAP_MEGABYTES}m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                # Leaves no file in the temporary folder.
                "-XX:-UsePerfData",
                "-Djava.awt.headless=true",
                # As Flink's planner sets it: literals may hold any character.
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
            # Ctrl-C is for us; we then end it.
            start_new_session=True,
        )
        _PROCESSES.add(self)
        self._finalizer = weakref.finalize(self, _end, self._process, self._owner)
        try:
            port, token = self._greeting()
            self._gateway = JavaGateway(
                gateway_parameters=GatewayParameters(
                    address="127.0.0.1",
                    port=int(port),
                    auth_token=token,
                    read_timeout=_ANSWER_SECONDS,
                    enable_memory_management=False,
                )
            )
            self._trees = self._compile()
        except (Py4JError, OSError, ValueError) as e:
            told = self._told()
            self.close()
            raise LineageBridgeError(
                f"Flink's SQL parser did not start ({java}): {told or e}",
                hint="check that this Java runs: java -version",
            ) from e

    @property
    def pid(self) -> int:
        """The JVM's process id."""
        return self._process.pid

    @property
    def usable(self) -> bool:
        """Whether it runs and is this process's own, not that of a process we were forked from."""
        return self._owner == os.getpid() and self._process.poll() is None

    def parse(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """Parses statements.

        Returns:
            For each text that was come to `{"root", "nodes"}` or `{"error", "line", "column"}`. Fewer answers
            than texts, the last with `"fatal": true`, mean that this process is no longer to be used.

        Raises:
            ParserProcessDied: It ended before it answered.
        """
        batch = bytearray(struct.pack(">i", len(texts)))
        for text in texts:
            # Lone surrogates are no UTF-8, but they are chars, and a text may hold them.
            chars = text.encode("utf-16-be", "surrogatepass")
            batch += struct.pack(">i", len(chars) // 2) + chars
        try:
            answers: list[dict[str, Any]] = json.loads(self._trees.parse(batch, STATEMENT_MILLISECONDS))
        except (Py4JError, OSError, ValueError) as e:
            raise ParserProcessDied(self._told() or str(e)) from e
        return answers

    def close(self) -> None:
        """Ends the JVM, if it is ours to end. It holds nothing that would be lost."""
        if self._owner != os.getpid():
            # Closing the connection would shut down the socket that we share with our parent.
            return
        self._finalizer()
        with contextlib.suppress(Py4JError, OSError, AttributeError):
            self._gateway.close()
        self._stderr.close()

    def forget(self) -> None:
        """In a forked child: lets go of the pipe, so that the JVM ends with its own parent alone."""
        self._finalizer.detach()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _greeting(self) -> tuple[str, str]:
        """The port and the token, which the gateway prints first of all, a line each."""
        out = self._process.stdout
        if out is None:
            raise ValueError("no pipe to read the port from")
        said = b""
        deadline = time.monotonic() + _START_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            while said.count(b"\n") < 2:
                if not selector.select(timeout=max(0.0, deadline - time.monotonic())):
                    raise ValueError(f"it said nothing for {_START_SECONDS:.0f} s")
                chunk = os.read(out.fileno(), 4096)
                if not chunk:
                    raise ValueError("it ended at once")
                said += chunk
        port, token = said.decode("ascii", "replace").split("\n")[:2]
        return port.strip(), token.strip()

    def _compile(self) -> Any:
        jvm: Any = self._gateway.jvm
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.cook(resources.files(__package__).joinpath(_SOURCE).read_text("utf-8"))
        no_types = self._gateway.new_array(jvm.java.lang.Class, 0)
        no_values = self._gateway.new_array(jvm.java.lang.Object, 0)
        return (
            compiler.getClassLoader()
            .loadClass(_CLASS)
            .getDeclaredConstructor(no_types)
            .newInstance(no_values)
        )

    def _told(self) -> str:
        """The last of what it said on stderr, without its logger's notice."""
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
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


_PROCESSES: weakref.WeakSet[ParserProcess] = weakref.WeakSet()


def _let_go_in_child() -> None:
    for process in list(_PROCESSES):
        process.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)
