"""Functions for Spark that are written in Java, in a catalog of functions.

The sources are compiled by the Janino that PySpark ships, once in each process, and a session gets the
classes as a jar: those of a driver of this process and of a Spark Connect server alike, and their executors.
"""

from __future__ import annotations

import tempfile
import threading
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.jars.gateway import JvmGateway
from lineage_bridge_dagster.jars.janino import compilers
from lineage_bridge_dagster.spark import classic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COMPILER = "org.codehaus.janino.SimpleCompiler"

_lock = threading.Lock()
#: The sessions' contexts, and the Connect sessions, that have the jar of a catalog, by its name.
_have_jar: dict[str, WeakSet[Any]] = {}


def function_catalog(spark: SparkSession, package: str, *names: str) -> str:
    """Give a session a catalog of functions.

    Args:
        package: where the sources are.
        names: of the classes, which are in the Java package `lineage`, each after those that it uses. The
            last one is the catalog.

    Returns:
        The name of the catalog.

    Raises:
        ConfigurationError: the session is one of Spark Connect, and there is no Java here to compile with.
    """
    is_classic = classic.is_classic(spark)
    target: Any = classic.context(spark) if is_classic else spark
    with _lock:
        if target not in (have_jar := _have_jar.setdefault(names[-1], WeakSet())):
            jar = str(_jar(package, names, spark if is_classic else None))
            if is_classic:
                classic.add_jar(spark, jar)
            else:
                target.addArtifacts(jar)
            have_jar.add(target)
    if is_classic:
        classic.see_added_jars(spark)
    catalog = f"lineage_{names[-1].lower()}"
    spark.conf.set(f"spark.sql.catalog.{catalog}", f"lineage.{names[-1]}")
    return catalog


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="lineage-bridge-java-")


def _jar(package: str, names: Sequence[str], spark: SparkSession | None) -> Path:
    """The jar of a catalog's classes, which lasts as long as this process."""
    file = Path(_folder().name) / f"{names[-1]}.jar"
    if file.exists():
        return file
    sources = [resources.files(package).joinpath(f"{name}.java").read_text("utf-8") for name in names]
    if spark is not None:
        _write(file, compilers(classic.java_class(spark, _COMPILER), sources))
    else:
        (py4j,) = jars.pyspark_jars("py4j")
        with closing(JvmGateway("Java's compiler", jars.java(), [py4j.parent / "*"])) as gateway:
            _write(file, compilers(gateway.jvm.org.codehaus.janino.SimpleCompiler, sources))
    return file


def _write(jar: Path, compiled: Iterable[Any]) -> None:
    with zipfile.ZipFile(jar, "w") as found:
        for compiler in compiled:
            for name, code in compiler.getBytecodes().items():
                found.writestr(f"{name.replace('.', '/')}.class", code)
