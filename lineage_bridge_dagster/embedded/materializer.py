"""The process that turns the local stack's topics into Iceberg tables and keeps them up to date.

    python -m lineage_bridge_dagster.embedded.materializer --home DIR

One Spark driver serves all tables: those of Tableflow, see `tableflow_service`, and those of the Iceberg sink
connectors, see `iceberg_sinks`. It commits for as long as it runs, even while lineage is being pushed into
the same Glue tables. It is also the Spark Connect server of Dagster's runs, which then start no Spark.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from dotenv import dotenv_values

from lineage_bridge_dagster.catalogs.settings.catalog import CatalogSettings
from lineage_bridge_dagster.catalogs.settings.catalogs import Catalogs
from lineage_bridge_dagster.config.glue_iceberg import S3_TABLES
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.embedded.iceberg_sinks import IcebergSinks
from lineage_bridge_dagster.embedded.ports import HOST
from lineage_bridge_dagster.embedded.rest.names import INTERNAL_PATH, TABLEFLOW, server_of
from lineage_bridge_dagster.embedded.tableflow_service import TableflowService
from lineage_bridge_dagster.embedded.tableflow_topics import Emulator
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.settings import Settings
from lineage_bridge_dagster.spark.class_path import with_class_archive
from lineage_bridge_dagster.spark.connect_address import TOKEN_VARIABLE, SparkRemote
from lineage_bridge_dagster.spark.java_errors import is_jvm_gone


class Heartbeat:
    """The ready file: created once Spark is up and rewritten after each table while the process is alive.

    `{"pid", "at" (ISO 8601 UTC), "tables", "synced"}`: how many topics are enabled, and how many of their
    tables were up to date at the last check. A file older than a few minutes means that the process hangs.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.clear()

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)

    def __call__(self, **state: int) -> None:
        text = json.dumps({"pid": os.getpid(), "at": datetime.now(UTC).isoformat(), **state})
        temporary = self._path.with_suffix(".part")
        temporary.write_text(text, "utf-8")
        temporary.replace(self._path)


@contextmanager
def exclusive_lock(path: Path) -> Iterator[None]:
    """Hold a lock file, because two writers of one table would write its records twice.

    Raises:
        ConfigurationError: another process holds the lock.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ConfigurationError(
                f"Another materializer is already running on {path.parent.parent}.",
                hint="`lineage-bridge local status` shows it; `lineage-bridge local down` stops it.",
            ) from error
        yield


def local_environment(home: Path) -> dict[str, str]:
    """Return the environment; the stack's variables override the shell's, which may name a real account.

    Raises:
        ConfigurationError: the endpoint of AWS, Confluent or Iceberg is not on this machine.
    """
    stack = {key: value for key, value in dotenv_values(home / "stack.env").items() if value}
    env = {**os.environ, **stack}
    for name in ("AWS_ENDPOINT_URL", "LINEAGE_BRIDGE_CONFLUENT_API_URL", "ICEBERG_REST_URI"):
        host = urlsplit(env.get(name, "")).hostname
        if host not in ("127.0.0.1", "localhost", "::1"):
            raise ConfigurationError(
                f"{name} is {env.get(name) or 'not set'}: the materializer writes only to the local stack.",
                hint=f"Start the stack with `lineage-bridge local up`; it writes {home / 'stack.env'}.",
            )
    env.setdefault("AWS_ACCESS_KEY_ID", "local")
    env.setdefault("AWS_SECRET_ACCESS_KEY", "local")
    region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or "us-east-1"
    # The Java SDK reads AWS_REGION, boto3 AWS_DEFAULT_REGION.
    return {**env, "AWS_REGION": region, "AWS_DEFAULT_REGION": region}


_JAVA_OPTIONS = "spark.driver.extraJavaOptions"

SPARK_CONF: Mapping[str, str] = {
    "spark.master": "local[2]",
    "spark.driver.memory": "768m",
    # Without its second compiler, Java reserves 48 MB for compiled code, which is soon full.
    _JAVA_OPTIONS: "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:MaxMetaspaceSize=320m "
    "-XX:ReservedCodeCacheSize=240m",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.cleaner.periodicGC.interval": "5min",
    "spark.log.level": "ERROR",
}

#: Name in Spark of the catalog of tables in Confluent's own storage.
MANAGED_CATALOG = "confluent_managed"

_log = logging.getLogger("lineage_bridge_dagster.materializer")


def _server_conf(env: Mapping[str, str]) -> dict[str, str]:
    """What makes the session a Spark Connect server, for those on this machine who have the token."""
    return {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(SparkRemote.parse(env["LINEAGE_BRIDGE_SPARK_REMOTE"]).port),
        "spark.connect.authenticate.token": env[TOKEN_VARIABLE],
    }


def class_conf(conf: Mapping[str, str]) -> dict[str, str]:
    """A configuration with what lets Spark's JVM start with the archive of its classes, or record one."""
    return with_class_archive("spark", conf, SPARK_CONF[_JAVA_OPTIONS].split(), record=True)


def _catalogs(settings: Settings) -> Catalogs:
    """Glue's catalog, the S3 Tables bucket's, and Tableflow's without its gate, which lets nobody write."""
    default = settings.catalog
    managed = CatalogSettings(
        name=MANAGED_CATALOG,
        type="rest",
        uri=f"{server_of(os.environ['ICEBERG_REST_URI'])}{INTERNAL_PATH}/{TABLEFLOW}",
        region=default.region,
    )
    found = settings.all_catalogs()
    named = {S3_TABLES: found[S3_TABLES], MANAGED_CATALOG: managed}
    return Catalogs(default, named, variables=os.environ)


def run(home: Path) -> int:
    """Run until SIGTERM or SIGINT and return the exit code: 1 if Spark's JVM exited."""
    from lineage_bridge_dagster.spark.session import LOADING, spark_session

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with exclusive_lock(home / "run" / "materializer.lock"):
        heartbeat = Heartbeat(home / "run" / "materializer.ready")
        os.environ.update(local_environment(home))
        settings = Settings.from_env(os.environ)
        catalogs = _catalogs(settings)
        emulator = Emulator(os.environ["LINEAGE_BRIDGE_CONFLUENT_API_URL"])
        conf = {**LOADING, **class_conf(SPARK_CONF), **_server_conf(os.environ)}
        spark = spark_session(catalogs, conf, app_name="lineage-bridge-materializer")
        confluent = ConfluentSession(settings.confluent)
        tableflow = TableflowService(
            spark,
            emulator,
            catalogs,
            confluent,
            heartbeat,
            managed_catalog=MANAGED_CATALOG,
        )
        sinks = IcebergSinks(spark, emulator, S3_TABLES, confluent)
        heartbeat(tables=0, synced=0)
        _log.info("Ready")
        try:
            while not stop.is_set():
                try:
                    tableflow.step(stop)
                    sinks.step(stop)
                except httpx.HTTPError as error:
                    _log.warning("The Confluent emulator failed: %s", error or type(error).__name__)
                stop.wait(tableflow.wait)
        except Exception as error:
            if not is_jvm_gone(error):
                raise
            _log.error("Spark's JVM exited: %s", error)
            return 1
        finally:
            heartbeat.clear()
            emulator.close()
            confluent.close()
        spark.stop()
    return 0


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Turns the local stack's topics into Iceberg tables.")
    parser.add_argument("--home", type=Path, required=True, help="data home of the local stack")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        sys.exit(run(arguments.home.resolve()))
    except LineageBridgeError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
