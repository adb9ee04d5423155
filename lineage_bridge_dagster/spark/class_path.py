"""The class path of a local Spark's JVM, by which it starts with an archive of its classes."""

from __future__ import annotations

import atexit
import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.jars import class_archive

_CLASS_PATH = "spark.driver.extraClassPath"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"

#: Seconds that a JVM may take to write its archive, on a machine that does much else; else about 25.
_WRITING_SECONDS = 600.0

_INDECISIVE = ("-D", "-XX:Tier", "-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC")

#: PySpark's archives with most of the classes that are loaded, and two of whose classes Iceberg's archives
#: have copies.
_MOST_CLASSES = (
    *("spark-catalyst_2.13", "scala-library", "spark-core_2.13", "scala-reflect", "spark-sql-api_2.13"),
    *("spark-sql_2.13", "log4j-core", "jackson-databind", "hadoop-client-api", "netty-common"),
    *("commons-codec", "jcl-over-slf4j"),
)


def with_class_archive(
    name: str, conf: Mapping[str, str], java_options: Sequence[str], *, record: bool = False
) -> dict[str, str]:
    """A configuration with what lets Spark's JVM start with an archive of its classes, or record one.

    A JVM that records compares where each class is from with all archives before it on the class path, with
    two calls of stat() each: those of most classes come first, or Spark would start half as fast.

    Args:
        name: begins that of the archive's file.
        java_options: options that decide whether an archive fits.
        record: whether to record an archive if there is none.
    """
    ours = jars.ensure("spark")
    iceberg = [path for path in ours if path.name.startswith("iceberg-")]
    first = [*jars.pyspark_jars(*_MOST_CLASSES), *sorted(iceberg, reverse=True)]
    folder = first[0].parent
    class_path = [*first, folder / "*", *(path for path in ours if path not in iceberg)]
    files = [*first, *sorted(folder.glob("*.jar")), *ours]
    classes = class_archive.options(name, files, java_options, record=record)
    return {
        **conf,
        _CLASS_PATH: os.pathsep.join(map(str, class_path)),
        _JAVA_OPTIONS: " ".join([conf[_JAVA_OPTIONS], *(f'"{option}"' for option in classes)]),
    }


def of_driver(conf: Mapping[str, str]) -> dict[str, str]:
    """A local driver's configuration with an archive, if there is one or one is asked for.

    What has a class path or an archive of its own stays as it is.
    """
    options = conf[_JAVA_OPTIONS]
    if _CLASS_PATH in conf or "-XX:SharedArchiveFile" in options or "-Xshare" in options:
        return {**conf}
    # Properties, compilers and collectors do not change which classes there are.
    decisive = [option for option in shlex.split(options) if not option.startswith(_INDECISIVE)]
    found = with_class_archive("driver", conf, decisive, record=class_archive.is_asked_for())
    return {**conf} if found[_JAVA_OPTIONS] == options else found


def keep_archive_at_exit() -> None:
    """Have this process, when it ends, wait for its Spark's JVM to write an archive that it records."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway

    def keep() -> None:
        # The JVM ends with this.
        gateway.proc.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            gateway.proc.wait(_WRITING_SECONDS)
        class_archive.keep_recorded(least_seconds=0)

    atexit.register(keep)
