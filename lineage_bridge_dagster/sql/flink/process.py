"""The process that hosts Flink's parser: a small JVM of its own."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError

from lineage_bridge_dagster.jars.gateway import JvmDied, JvmGateway

HEAP_MEGABYTES = 192
STATEMENT_MILLISECONDS = 20_000
"""Time limit for one statement; none of tens of thousands needed a tenth of it."""

_NAME = "Flink's SQL parser"
_CLASS = "lineage.FlinkTrees"
_SOURCES = ("TreeWriter.java", "FlinkTrees.java")
# Loaded by flink-sql-parser and Calcite while parsing, or needed to compile our class; all ship with PySpark.
PYSPARK_JARS = ("guava", "slf4j-api", "commons-math3", "janino", "commons-compiler", "py4j")


class ParserProcess:
    """A running JVM with the parser in it. Not thread-safe: one call at a time.

    Raises:
        LineageBridgeError: It did not start.
    """

    def __init__(self, java: Path, classpath: Sequence[Path]) -> None:
        # As in Flink's planner: literals may contain any character.
        options = (f"-Xmx{HEAP_MEGABYTES}m", "-Dcalcite.default.charset=utf8")
        self._gateway = JvmGateway(_NAME, java, classpath, options)
        try:
            self._trees = self._compile()
        except (Py4JError, OSError) as e:
            raise self._gateway.start_failure(_NAME, java, e) from e

    @property
    def pid(self) -> int:
        """The JVM's process id."""
        return self._gateway.pid

    @property
    def usable(self) -> bool:
        """Whether the JVM runs and was started by this process, not by one that it was forked from."""
        return self._gateway.usable

    def parse(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """Parse statements.

        Returns:
            For each processed text `{"root", "nodes"}` or `{"error", "line", "column"}`. If there are fewer
            responses than texts, the last has `"fatal": true`, and this process must not be used again.

        Raises:
            JvmDied: It ended before it responded.
        """
        batch = bytearray(struct.pack(">i", len(texts)))
        for text in texts:
            # UTF-16, since a text may contain lone surrogates, which UTF-8 cannot encode.
            chars = text.encode("utf-16-be", "surrogatepass")
            batch += struct.pack(">i", len(chars) // 2) + chars
        try:
            responses: list[dict[str, Any]] = json.loads(self._trees.parse(batch, STATEMENT_MILLISECONDS))
        except (Py4JError, OSError, ValueError) as e:
            raise JvmDied(self._gateway.error_output() or str(e)) from e
        return responses

    def close(self) -> None:
        """End the JVM, unless a parent process started it. It has no state to lose."""
        self._gateway.close()

    def _compile(self) -> Any:
        jvm = self._gateway.jvm
        loader: Any = None
        for source in _SOURCES:
            compiler = jvm.org.codehaus.janino.SimpleCompiler()
            if loader is not None:
                compiler.setParentClassLoader(loader)
            compiler.cook(resources.files(__package__).joinpath(source).read_text("utf-8"))
            loader = compiler.getClassLoader()
        no_types = self._gateway.array(jvm.java.lang.Class)
        no_values = self._gateway.array(jvm.java.lang.Object)
        return loader.loadClass(_CLASS).getDeclaredConstructor(no_types).newInstance(no_values)
