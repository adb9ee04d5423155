"""Java itself, to compare with: a small JVM with the classes that PySpark ships."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from lineage_bridge_dagster import jars

_SOURCE = Path(__file__).with_name("JavaOracle.java")
_JARS = ("py4j", "janino", "commons-compiler", "guava")


class JavaOracle:
    """The methods of the class `JavaOracle`. A result starts with `=`, an error with `!`."""

    def __init__(self, remote: Any) -> None:
        self._remote = remote

    def java(self, regex: str, replacement: str, name: str) -> str:
        """What RegexRouter makes of a name."""
        return str(self._remote.java(regex, replacement, name))

    def date(self, pattern: str, milliseconds: int) -> str:
        """A time in UTC, formatted."""
        return str(self._remote.date(pattern, str(milliseconds)))

    def case_format(self, old: str, new: str, name: str) -> str:
        """A name in another of Guava's case formats."""
        return str(self._remote.caseFormat(old, new, name))


@contextmanager
def java_oracle() -> Iterator[JavaOracle]:
    """Run the JVM."""
    port, token = launch_gateway(
        classpath=os.pathsep.join(map(str, jars.pyspark_jars(*_JARS))),
        java_path=str(jars.java()),
        javaopts=["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
        die_on_exit=True,
        enable_auth=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
        compiler.cook(_SOURCE.read_text())
        loaded = compiler.getClassLoader().loadClass("lineage.JavaOracle")
        constructor = loaded.getDeclaredConstructor(gateway.new_array(gateway.jvm.java.lang.Class, 0))
        yield JavaOracle(constructor.newInstance(gateway.new_array(gateway.jvm.java.lang.Object, 0)))
    finally:
        gateway.shutdown()
