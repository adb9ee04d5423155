"""The Spark session: dagster-pyspark's lazy resource, with jars and a catalog."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_pyspark import LazyPySparkResource
from dagster_spark.utils import flatten_dict
from pydantic import Field

from lineage_bridge_dagster import jars
from lineage_bridge_dagster.catalogs.settings.catalog_properties import (
    CATALOG,
    GLUE_ENDPOINT,
    PROFILE,
    REGION,
    of_catalog,
)
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.catalogs.settings.catalogs_resource import CatalogsResource
from lineage_bridge_dagster.errors import ConfigurationError
from lineage_bridge_dagster.jars import class_archive
from lineage_bridge_dagster.jars.gateway import hide_what_java_gets
from lineage_bridge_dagster.jars.jvm import home
from lineage_bridge_dagster.spark import classic, driver, remote
from lineage_bridge_dagster.spark.class_path import keep_archive_at_exit, of_driver
from lineage_bridge_dagster.spark.connect_address import MASTER, SECRET_NAMES, remote_of
from lineage_bridge_dagster.spark.foreign_catalogs import without_servers_code
from lineage_bridge_dagster.text import first_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Avro reserves as much memory as a value claims to have, so that a corrupt record could end the JVM: the
#: most that one may claim, in bytes and in elements.
_AVRO_LIMITS = {
    "org.apache.avro.limits.bytes.maxLength": str(64 << 20),
    "org.apache.avro.limits.string.maxLength": str(64 << 20),
    "org.apache.avro.limits.collectionItems.maxLength": str(16 << 20),
}
#: Spark compiles the steps of a query into one method; Java would interpret those of more than 8,000 bytes.
_COMPILE_ALL = "-XX:-DontCompileHugeMethods"
#: By default, Java's second compiler spends more than all else in a driver's first minute, on code that plans
#: queries and runs a few thousand times. With twenty times its thresholds it compiles what runs for each row.
_COMPILE_LATER = (
    "-XX:Tier4InvocationThreshold=100000 -XX:Tier4MinInvocationThreshold=12000 "
    "-XX:Tier4CompileThreshold=300000 -XX:Tier4BackEdgeThreshold=800000"
)
#: For a driver that has little to do: of its CPU time, Java's second compiler would take more than it saves.
_COMPILE_ONCE = "-XX:TieredStopAtLevel=1"
#: With a heap of up to this many bytes, Java's serial collector lets a local Spark take a quarter less memory
#: than the default one does, and no more time.
_SMALL_HEAP = 1 << 30
_SERIAL = "-XX:+UseSerialGC"
#: Java's default collector keeps the large arrays of sorts and of Parquet's writers apart, and marks the heap
#: for them again and again: it costs a load a fifteenth more CPU time than this one.
_PARALLEL = "-XX:+UseParallelGC"
_COLLECTOR = re.compile(r"-XX:\+Use\w*GC\b")
#: Java and Spark add the options in these to ours, and Java starts with one collector only.
_JAVA_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "PYSPARK_SUBMIT_ARGS")
_DRIVER_MEMORY = "spark.driver.memory"
#: The Python of workers.
_PYTHON = "spark.pyspark.python"
_DRIVER_OPTIONS = "spark.driver.extraJavaOptions"
_JAVA_OPTIONS = (_DRIVER_OPTIONS, "spark.executor.extraJavaOptions")
#: Prefix of the settings that record which of Java's system properties are this project's.
_OURS = "spark.lineage_bridge.java."

EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"

#: For processes that load topics.
LOADING = {
    # The topics of a run share the cores fairly, whichever began first.
    "spark.scheduler.mode": "FAIR",
    # PySpark would tell the JVM the line of Python of each operation on a column: most of its calls to it.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}

_log = logging.getLogger(__name__)
_lock = threading.Lock()


class SparkResource(CatalogsResource, LazyPySparkResource):
    """One Spark session per process, started when an asset first needs it.

    It is dagster-pyspark's `LazyPySparkResource` with the Iceberg, Kafka and Avro jars, the Iceberg
    extensions and the catalog in its configuration. `spark_config` takes precedence.
    """

    spark_config: dict[str, Any] = Field(
        default_factory=dict,
        description="Spark configuration, flat or nested, such as {'spark.master': 'local[2]'}.",
    )

    def _init_session(self) -> None:
        # A server may have lost the session of a Connect client; a classic one lasts as long as the process.
        if self._spark_session is None or not classic.is_classic(self._spark_session):
            self._spark_session = spark_session(self.all_catalogs, self.spark_config)


def spark_session(
    catalogs: Catalogs,
    conf: Mapping[str, Any] | None = None,
    *,
    app_name: str = "lineage-bridge",
    is_brief: bool = False,
) -> SparkSession:
    """The process's Spark session, started if none runs; with `spark.remote`, one of a Connect server.

    The catalogs are added to a running session; settings that only a start can apply (memory, jars, the
    master) stay as they are.

    Args:
        conf: the user's settings.
        is_brief: whether a driver that is started has little to do.

    Raises:
        ConfigurationError: Java is missing or too old, Spark did not start, or a running session has a
            catalog of the same name, or an AWS identity, that differs; the process has a session of the
            other kind; what `remote.connect` raises.
        SparkServerError: the server does not answer.
    """
    hide_what_java_gets()
    with _lock:
        from pyspark.sql import SparkSession

        user = _flat(conf)
        catalogs = without_servers_code(catalogs)
        server = remote_of(user, os.environ)
        running = classic.running()
        if (running is not None and server is not None) or (server is None and remote.is_connected()):
            raise ConfigurationError(
                "A process works with Spark of its own or with a Spark Connect server, and both are wanted.",
                hint="Set the same spark.remote for all components of a code location, or for none.",
            )
        if server is not None:
            return remote.connect(server, catalogs, user)
        if running is not None:
            _add(running, catalogs, user)
            return running
        settings = session_conf(catalogs, conf, is_brief=is_brief)
        master = settings.get(MASTER, "the master of spark-submit")
        if not is_submitted():
            _point_at_java()
            if master.startswith("local"):
                settings = of_driver(settings)
        if python := settings.get(_PYTHON):
            # PySpark reads the variable, and not the setting.
            os.environ["PYSPARK_PYTHON"] = python
        if master.startswith("local"):
            # Workers run this Python, not whichever `python3` comes first on the path.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.appName(app_name)
        for key, value in settings.items():
            builder = builder.config(key, value)
        _log.info("Starting Spark on %s", master)
        try:
            driver.launch(settings)
            if class_archive.RECORDS in settings[_DRIVER_OPTIONS]:
                keep_archive_at_exit()
            session = builder.getOrCreate()
        except Exception as error:
            raise ConfigurationError(
                f"Spark did not start on {master}: {first_line(error)}",
                hint="Check spark.master, the memory and the Java in use; Spark logged the lines above.",
            ) from error
        classic.remember_classes()
        return session


def starts_here(conf: Mapping[str, Any] | None = None) -> bool:
    """Whether a session with this configuration would start a JVM of this process."""
    has_jvm = is_submitted() or classic.running() is not None
    return not has_jvm and remote_of(_flat(conf), os.environ) is None


def session_conf(
    catalogs: Catalogs, conf: Mapping[str, Any] | None = None, *, is_brief: bool = False
) -> dict[str, str]:
    """The configuration of a session: our defaults, overridden by the user's settings.

    The user's lists (`spark.jars`, `spark.sql.extensions`) are appended to ours. In a program that
    spark-submit runs, the master and the jars are those that it was given.
    """
    user = _flat(conf)
    master = user.get(MASTER) or os.environ.get("SPARK_MASTER") or "local[*]"
    started: dict[str, str] = {}
    if not is_submitted():
        started = {MASTER: master, "spark.jars": ",".join(str(path) for path in jars.ensure("spark"))}
    settings = {
        **started,
        "spark.sql.extensions": EXTENSIONS,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Catalog properties may hold secrets, which the UI's environment page would show.
        "spark.redaction.regex": SECRET_NAMES,
        **catalogs.spark_conf(),
    }
    if settings.get(MASTER, "").startswith("local"):
        settings["spark.driver.host"] = "127.0.0.1"
        settings["spark.driver.bindAddress"] = "127.0.0.1"
    if "AWS_ACCESS_KEY_ID" in os.environ and any(c.profile and c.role_arn for c in catalogs.values()):
        _log.warning(
            "Spark assumes the role of a catalog with the keys in AWS_ACCESS_KEY_ID, and everything else "
            "with the profile: unset AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN."
        )
    properties = catalogs.java_properties()
    settings |= {_OURS + name: value for name, value in properties.items()}
    system = [_option(f"-D{name}={value}") for name, value in {**_AVRO_LIMITS, **properties}.items()]
    options = " ".join([_COMPILE_ALL, *system])
    settings |= dict.fromkeys(_JAVA_OPTIONS, options)
    settings[_DRIVER_OPTIONS] = f"{_COMPILE_ONCE if is_brief else _COMPILE_LATER} {options}"
    if started and master.startswith("local") and not _chooses_collector(user, os.environ):
        collector = _SERIAL if _has_small_heap(user.get(_DRIVER_MEMORY, "")) else _PARALLEL
        settings[_DRIVER_OPTIONS] = f"{collector} {settings[_DRIVER_OPTIONS]}"
    for keys, separator in ((("spark.jars", "spark.sql.extensions"), ","), (_JAVA_OPTIONS, " ")):
        for key in keys:
            if key in user and key in settings:
                user[key] = f"{settings[key]}{separator}{user[key]}"
    return {**settings, **user}


def _has_small_heap(memory: str) -> bool:
    """Whether a driver's memory is known and small."""
    size = re.fullmatch(r"(\d+)([kmg])b?", memory.strip().lower())
    return size is not None and int(size[1]) << {"k": 10, "m": 20, "g": 30}[size[2]] <= _SMALL_HEAP


def _chooses_collector(user: Mapping[str, str], environment: Mapping[str, str]) -> bool:
    """Whether the user has Java use a certain garbage collector."""
    options = ("spark.driver.defaultJavaOptions", _DRIVER_OPTIONS)
    texts = [*map(user.get, options), *map(environment.get, _JAVA_VARIABLES), _spark_defaults(environment)]
    return any(_COLLECTOR.search(text or "") for text in texts)


def _spark_defaults(environment: Mapping[str, str]) -> str:
    """The text of the user's `spark-defaults.conf`, empty without one that can be read."""
    spark_home = environment.get("SPARK_HOME", "")
    folder = environment.get("SPARK_CONF_DIR") or (spark_home and f"{spark_home}/conf")
    try:
        return Path(folder, "spark-defaults.conf").read_text(errors="replace") if folder else ""
    except OSError:
        return ""


def _add(running: SparkSession, catalogs: Catalogs, user: Mapping[str, str]) -> None:
    """Add catalogs to a running session.

    Spark keeps a catalog that it has loaded, whatever its configuration becomes: of two catalogs of one name,
    the second one's tables would be read and written in the first one's account.

    Raises:
        ConfigurationError: the session has a catalog of the same name, or an AWS identity, that differs.
    """
    present: Mapping[str, str] = running.conf.getAll
    wanted = catalogs.spark_conf()
    for name in catalogs:
        conf = {**of_catalog(name, wanted), **of_catalog(name, user)}
        existing = of_catalog(name, present)
        if existing and existing != conf:
            differing = sorted(
                key.removeprefix(f"{CATALOG}{name}.")
                for key in existing.keys() | conf.keys()
                if existing.get(key) != conf.get(key)
            )
            raise ConfigurationError(
                f"Spark, which all code of a process shares, has a catalog {name!r} with other values of "
                f"{', '.join(differing)}.",
                hint="Give one of the two another name: set spark.catalog.name in the component's defs.yaml.",
            )
        if not existing:
            for key, value in conf.items():
                running.conf.set(key, value)
    _set_java_properties(running, catalogs.java_properties(), present)


def _set_java_properties(
    running: SparkSession, wanted: Mapping[str, str], present: Mapping[str, str]
) -> None:
    """Set Java's system properties in a JVM that runs, unless it has others."""
    system = classic.java_class(running, "java.lang.System")
    for name in (PROFILE, GLUE_ENDPOINT, REGION):
        value, ours, actual = wanted.get(name), present.get(_OURS + name), system.getProperty(name)
        # A property that only the user set is the user's affair; any region's STS will do.
        if value == ours or (name == REGION and (actual or not value)):
            continue
        if value is None or ours is not None or actual not in (None, value):
            raise ConfigurationError(
                f"Spark, which all code of a process shares, runs with {name} {actual or 'unset'}, and the "
                f"catalogs need {value or 'none'}.",
                hint="Use one AWS profile in a code location, and role_arn for catalogs that need another "
                "identity.",
            )
        system.setProperty(name, value)
        running.conf.set(_OURS + name, value)


def _flat(conf: Mapping[str, Any] | None) -> dict[str, str]:
    """A user's configuration by property name; it may be nested."""
    flat = flatten_dict(dict(conf or {}))  # type: ignore[no-untyped-call]
    return {key: _text(value) for key, value in flat}


def is_submitted() -> bool:
    """Whether spark-submit runs this program, and has started its JVM."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _option(text: str) -> str:
    """An option as Spark parses a list of them."""
    return f'"{text}"' if " " in text else text


def _point_at_java() -> None:
    """Have PySpark start a Java that is new enough."""
    os.environ["JAVA_HOME"] = str(home(jars.java()))


def _text(value: Any) -> str:
    """A value as Spark parses it: `true`, not `True`."""
    return str(value).lower() if isinstance(value, bool) else str(value)
