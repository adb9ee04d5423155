"""A JVM beside this process that answers texts, such as the statements that it parses.

Its classes are compiled in place by the Janino that PySpark ships; the last of them extends `TextWorker`.
"""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError

from lineage_bridge_dagster.jars.fetch import pyspark_jars
from lineage_bridge_dagster.jars.gateway import JvmDied, JvmGateway
from lineage_bridge_dagster.jars.janino import compilers
from lineage_bridge_dagster.jars.jvm import java

_BASE = (__package__, "TextWorker.java")
_JARS = ("janino", "commons-compiler", "py4j")
_BATCH_TEXTS = 200
_BATCH_CHARS = 512 * 1024

Answer = dict[str, Any]
"""What the JVM says of one text; with the key `error` if it has no answer."""


@dataclass(frozen=True, slots=True)
class JvmProgram:
    """What runs in the JVM.

    Attributes:
        name: For the error of a start that failed.
        died_on: The error of a text that ends the process each time.
        package: Where its sources are.
        sources: Their file names, each after those that it needs. The last one's class is the program.
        pyspark_jars: Archives that it needs of those that PySpark ships.
        milliseconds: Time limit for one text.
        archives: Other archives that it needs, looked up when it starts.
    """

    name: str
    died_on: str
    package: str
    sources: tuple[str, ...]
    pyspark_jars: tuple[str, ...]
    options: tuple[str, ...]
    milliseconds: int
    archives: Callable[[], Sequence[Path]] = tuple


class WorkerProcess:
    """A running JVM with a program in it. Not thread-safe: one call at a time.

    Raises:
        LineageBridgeError: It did not start.
    """

    def __init__(self, program: JvmProgram, java: Path, classpath: Sequence[Path]) -> None:
        self._milliseconds = program.milliseconds
        self._gateway = JvmGateway(program.name, java, classpath, program.options)
        try:
            self._remote = self._compile(program)
        except (Py4JError, OSError) as e:
            raise self._gateway.start_failure(program.name, java, e) from e

    @property
    def pid(self) -> int:
        """The JVM's process id."""
        return self._gateway.pid

    @property
    def usable(self) -> bool:
        """Whether the JVM runs and was started by this process, not by one that it was forked from."""
        return self._gateway.usable

    def answers(self, texts: Sequence[str]) -> list[Answer]:
        """Answer texts.

        Returns:
            An answer for each processed text. If there are fewer answers than texts, the last has
            `"fatal": true`, and this process must not be used again.

        Raises:
            JvmDied: It ended before it responded.
        """
        batch = bytearray(struct.pack(">i", len(texts)))
        for text in texts:
            # UTF-16, since a text may contain lone surrogates, which UTF-8 cannot encode.
            chars = text.encode("utf-16-be", "surrogatepass")
            batch += struct.pack(">i", len(chars) // 2) + chars
        try:
            answers: list[Answer] = json.loads(self._remote.answerAll(batch, self._milliseconds))
        except (Py4JError, OSError, ValueError) as e:
            raise JvmDied(self._gateway.error_output() or str(e)) from e
        return answers

    def close(self) -> None:
        """End the JVM, unless a parent process started it. It has no state to lose."""
        self._gateway.close()

    def _compile(self, program: JvmProgram) -> Any:
        jvm = self._gateway.jvm
        files = (_BASE, *((program.package, source) for source in program.sources))
        sources = (resources.files(package).joinpath(file).read_text("utf-8") for package, file in files)
        loader = compilers(jvm.org.codehaus.janino.SimpleCompiler, sources)[-1].getClassLoader()
        no_types = self._gateway.array(jvm.java.lang.Class)
        no_values = self._gateway.array(jvm.java.lang.Object)
        name = f"lineage.{program.sources[-1].removesuffix('.java')}"
        return loader.loadClass(name).getDeclaredConstructor(no_types).newInstance(no_values)


class JvmWorker(AbstractContextManager["JvmWorker"]):
    """Answers texts by a program in a JVM; a context manager.

    The JVM starts with the first text, serves all threads one after another, is restarted after it died, and
    ends with `close()` or with this process. A text that overflows it or takes too long fails alone.

    Args:
        program: What runs in it.
        java: The Java to run; by default the one found on this machine.
    """

    def __init__(self, program: JvmProgram, java: Path | None = None) -> None:
        self.program = program
        self._java = java
        self._lock = threading.RLock()
        self._process: WorkerProcess | None = None

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """Process id of the JVM; None while it is not running."""
        process = self._process
        return process.pid if process is not None and process.usable else None

    def close(self) -> None:
        """End the JVM; the next text starts another."""
        with self._lock:
            if self._process is not None:
                process, self._process = self._process, None
                process.close()

    def answers(self, texts: Sequence[str]) -> list[Answer]:
        """Answer all texts, in order.

        Raises:
            ConfigurationError: Java is missing or older than 17, or a jar is missing.
            LineageBridgeError: The process does not start.
        """
        with self._lock:
            return [answer for batch in batches(texts) for answer in self._send(batch)]

    def _send(self, texts: Sequence[str]) -> list[Answer]:
        """Send a batch, again and again until every text has its answer."""
        answers: list[Answer] = []
        while len(answers) < len(texts):
            rest = texts[len(answers) :]
            received = self._try_send(rest)
            if received is None:
                # The process died twice on these: halve them until the text that kills it is isolated.
                if len(rest) == 1:
                    received = [{"error": self.program.died_on}]
                else:
                    middle = len(rest) // 2
                    received = self._send(rest[:middle]) + self._send(rest[middle:])
            answers += received
        return answers

    def _try_send(self, texts: Sequence[str]) -> list[Answer] | None:
        """Answers to the first texts, at least one; None when the process died on them twice."""
        for _ in range(2):
            try:
                answers = self._running().answers(texts)
            except JvmDied:
                self.close()
                continue
            if answers and answers[-1].get("fatal"):
                self.close()
            if answers:
                return answers
        return None

    def _running(self) -> WorkerProcess:
        if self._process is not None and not self._process.usable:
            self.close()
        if self._process is None:
            program = self._java or java()
            classpath = [*self.program.archives(), *pyspark_jars(*_JARS, *self.program.pyspark_jars)]
            self._process = WorkerProcess(self.program, program, classpath)
        return self._process


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Batches that fit into one call; a text larger than that is a batch of its own."""
    batch: list[str] = []
    chars = 0
    for text in texts:
        if batch and (len(batch) == _BATCH_TEXTS or chars + len(text) > _BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(text)
        chars += len(text)
    if batch:
        yield batch
