"""The local stack's Tableflow engine: turns topics into Iceberg tables and keeps them up to date.

    python -m lineage_bridge_dagster.embedded.materializer --home DIR

One Spark driver serves all tables. It fetches the enabled topics from the emulator, creates their Glue tables
at the location that the emulator chose, appends new records, and reports each table's status. It commits for
as long as it runs, even while lineage is being pushed into the same Glue tables. Tables in Confluent's own
storage go to Tableflow's catalog in place of Glue.

It runs the Iceberg sink connectors as well: see `iceberg_sinks`.

When Tableflow is disabled on a topic, its table is dropped from the catalog, but the files stay in the
bucket: Confluent's own role for Glue requires `glue:DeleteTable`, whereas a customer cleans up their own
bucket.

If two topics' names fold to the same Glue table, the topic that was enabled first gets it.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx

from lineage_bridge_dagster.config.catalog import CatalogSettings
from lineage_bridge_dagster.config.catalogs import Catalogs
from lineage_bridge_dagster.config.glue_iceberg import S3_TABLES
from lineage_bridge_dagster.config.settings import Settings
from lineage_bridge_dagster.confluent.api.access import Access
from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.errors import TopicNotFoundError
from lineage_bridge_dagster.confluent.api.schema_registry import SchemaRegistryClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.confluent.registered_schemas import fetch_schemas
from lineage_bridge_dagster.embedded.dead_letters import DeadLetterTopic
from lineage_bridge_dagster.embedded.iceberg_sinks import IcebergSinks
from lineage_bridge_dagster.embedded.kafka.client import KafkaBroker
from lineage_bridge_dagster.embedded.rest.names import INTERNAL_PATH, TABLEFLOW, server_of
from lineage_bridge_dagster.embedded.tableflow_topics import Emulator, Entry
from lineage_bridge_dagster.embedded.worker_process import (
    Backoff,
    Heartbeat,
    exclusive_lock,
    local_environment,
)
from lineage_bridge_dagster.errors import LineageBridgeError
from lineage_bridge_dagster.spark.iceberg_tables import TableName, exists, location
from lineage_bridge_dagster.spark.java_errors import is_jvm_gone
from lineage_bridge_dagster.spark.kafka import KafkaTopic
from lineage_bridge_dagster.spark.tableflow.config import SuspendedError, TopicSchemas, TopicTableConfig
from lineage_bridge_dagster.spark.tableflow.creation import drop
from lineage_bridge_dagster.spark.tableflow.topic_table import TopicTable
from lineage_bridge_dagster.topics.schemas import SubjectSchemas

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Seconds between two passes over the topics.
INTERVAL = 2.0

#: Seconds after which an idle topic's table is checked in the catalog again, as it may have been dropped.
_RECHECK_INTERVAL = 30.0

SPARK_CONF: Mapping[str, str] = {
    "spark.master": "local[2]",
    "spark.driver.memory": "768m",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:MaxMetaspaceSize=320m",
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


class TableWriter:
    """Writes one topic to its table; caches the topic's schemas and backs off after failures."""

    def __init__(self, spark: SparkSession, entry: Entry, catalog: str, confluent: ConfluentSession) -> None:
        self.entry = entry
        self._registry = SchemaRegistryClient(confluent, "")
        self._cached_schemas = TopicSchemas(
            SubjectSchemas(f"{entry.topic}-key"), SubjectSchemas(entry.subject)
        )
        bootstrap = Bootstrap.of_cluster(confluent.settings, entry.bootstrap, "", entry.cluster)
        self._topic = KafkaTopic(entry.topic, bootstrap)
        queue = DeadLetterTopic(
            entry.error_topic,
            KafkaBroker(entry.bootstrap),
            partial(_register, confluent, entry.schema_registry_url),
            environment=entry.environment,
            cluster=entry.cluster,
        )
        self._table = TopicTable(
            spark, self._topic, entry.table_config(catalog), self._schemas, dead_letter_queue=queue
        )
        self._checked_at = float("-inf")
        self.backoff = Backoff(INTERVAL)
        self._written_offsets: Any = None

    def step(self) -> bool:
        """Write all of the topic's new records; returns False while the table's columns are unknown."""
        now = time.monotonic()
        first, last = self._topic.bounds()
        if self._written_offsets == last and now - self._checked_at < _RECHECK_INTERVAL:
            return True
        if first == last and self._schemas().value.latest is None:
            # Without a schema or a record the columns are unknown.
            return False
        self._table.ensure()
        self._checked_at, self._written_offsets = now, None
        caught_up = False
        while not caught_up:
            batch = self._table.advance()
            caught_up = batch.caught_up
            if batch.rows or batch.skipped:
                _log.info("%s: %d rows, %d skipped", self.entry.table, batch.rows, batch.skipped)
            self._written_offsets = batch.offsets
        self.backoff.succeeded()
        return True

    def matches(self, entry: Entry) -> bool:
        """Whether the topic's listing is unchanged; a restarted broker may have another port."""

        def place(one: Entry) -> tuple[TopicTableConfig, str, str]:
            return one.table_config(""), one.bootstrap, one.error_topic

        return place(entry) == place(self.entry)

    def record_failure(self) -> None:
        """Delay the next attempt, which checks the table: a commit may have succeeded."""
        self._written_offsets = None
        self.backoff.failed()

    def _schemas(self) -> TopicSchemas:
        url = self.entry.schema_registry_url
        cached = (self._cached_schemas.key, self._cached_schemas.value)
        key, value = (fetch_schemas(self._registry, url, known.subject, known=known) for known in cached)
        self._cached_schemas = TopicSchemas(key, value)
        return self._cached_schemas


def _register(confluent: ConfluentSession, registry: str, subject: str, schema: str) -> int:
    """Register an Avro schema, and return its id."""
    path = f"/subjects/{quote(subject, safe='')}/versions"
    url = confluent.data_url(registry, path, field="schema_registry_url")
    body = {"schemaType": "AVRO", "schema": schema}
    return int(confluent.post_query(url, Access("schema_registry"), body)["id"])


class Materializer:
    """Keeps the tables of all enabled topics up to date."""

    def __init__(
        self,
        spark: SparkSession,
        emulator: Emulator,
        catalog: str,
        confluent: ConfluentSession,
        s3: Any,
        report_progress: Callable[..., None] = lambda **_: None,
        *,
        managed_catalog: str = "",
    ) -> None:
        """Create one.

        Args:
            spark: the session, which has the catalogs.
            emulator: lists the topics.
            catalog: the catalog of tables in the customers' buckets, which is Glue's.
            confluent: for the Schema Registry.
            s3: a boto3 client that creates the buckets.
            report_progress: called after each table.
            managed_catalog: the catalog of tables in Confluent's own storage; without it they are not
                written.
        """
        self._spark = spark
        self._emulator = emulator
        self._catalogs = {False: catalog, True: managed_catalog}
        self._confluent = confluent
        self._s3 = s3
        self._report_progress = report_progress
        self._writers: dict[str, TableWriter] = {}
        self._buckets: set[str] = set()
        self._synced: set[str] = set()

    def step(self, stop: threading.Event | None = None) -> None:
        """Process every topic once.

        Raises:
            httpx.HTTPError: the emulator did not respond or returned an error.
        """
        for entry in self._emulator.dropped():
            self._drop(entry)
        enabled = self._emulator.enabled()
        paths = {entry.table_path for entry in enabled}
        self._writers = {path: writer for path, writer in self._writers.items() if path in paths}
        self._synced &= paths
        written = [entry for entry in enabled if entry.iceberg and self._catalogs[entry.managed]]
        for entry, first in _by_table(written):
            if stop is not None and stop.is_set():
                return
            if first is not entry:
                self._report(
                    entry,
                    "FAILED",
                    f"Topics {first.topic} and {entry.topic} map to the same Glue table, {entry.database}."
                    f"{entry.table}; {first.topic} was enabled first and owns it.",
                )
                continue
            if self._advance(entry):
                self._synced.add(entry.table_path)
            else:
                self._synced.discard(entry.table_path)
            self._report_progress(tables=len(enabled), synced=len(self._synced))
        self._report_progress(tables=len(enabled), synced=len(self._synced))

    def _advance(self, entry: Entry) -> bool:
        writer = self._writers.get(entry.table_path)
        if writer is None or not writer.matches(entry):
            writer = TableWriter(self._spark, entry, self._catalogs[entry.managed], self._confluent)
            self._writers[entry.table_path] = writer
        if writer.backoff.running:
            return False
        try:
            self._ensure_bucket(entry)
            if not writer.step():
                return False
        except TopicNotFoundError as error:
            # Tableflow was enabled before the topic was created: as at Confluent, it stays PENDING.
            _log.info("%s", error.message)
            return False
        except Exception as error:
            if is_jvm_gone(error):
                raise
            writer.record_failure()
            _log.warning("%s.%s: %s", entry.database, entry.table, error, exc_info=not _expected(error))
            if _suspends(error):
                self._report(entry, "FAILED", _message(error))
            return False
        self._report(entry, "RUNNING")
        return True

    def _drop(self, entry: Entry) -> None:
        table = TableName(self._catalogs[entry.managed], entry.database, entry.table)
        # If the topic has been enabled again, the name may already belong to a new table.
        if exists(self._spark, table) and location(self._spark, table) == entry.table_path:
            drop(self._spark, table)
        self._emulator.confirm_drop(entry)

    def _report(self, entry: Entry, phase: str, message: str = "") -> None:
        if (entry.phase, entry.error_message) != (phase, message[:1000]):
            self._emulator.report(entry, phase, message)

    def _ensure_bucket(self, entry: Entry) -> None:
        if entry.bucket in self._buckets:
            return
        known = {bucket["Name"] for bucket in self._s3.list_buckets()["Buckets"]}
        if entry.bucket not in known:
            # S3 rejects us-east-1 as a location constraint.
            constraint = {"LocationConstraint": entry.bucket_region}
            options = {"CreateBucketConfiguration": constraint} if entry.bucket_region != "us-east-1" else {}
            self._s3.create_bucket(Bucket=entry.bucket, **options)
        self._buckets.add(entry.bucket)


def _by_table(entries: Iterable[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Pair each entry with the first entry of the same table."""
    first: dict[tuple[bool, str, str], Entry] = {}
    for entry in entries:
        yield entry, first.setdefault((entry.managed, entry.database, entry.table), entry)


def _suspends(error: Exception) -> bool:
    """Whether the topic itself must be fixed, unlike a temporarily unreachable broker or catalog."""
    from pyspark.errors import AnalysisException

    return isinstance(error, SuspendedError | AnalysisException)


def _expected(error: Exception) -> bool:
    return isinstance(error, LineageBridgeError | httpx.HTTPError)


def _message(error: Exception) -> str:
    return error.message if isinstance(error, LineageBridgeError) else str(error).partition("\n")[0]


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


def run(home: Path, interval: float = INTERVAL) -> int:
    """Run until SIGTERM or SIGINT and return the exit code: 1 if Spark's JVM exited."""
    import boto3

    from lineage_bridge_dagster.spark.session import spark_session

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with exclusive_lock(home / "run" / "materializer.lock"):
        heartbeat = Heartbeat(home / "run" / "materializer.ready")
        os.environ.update(local_environment(home))
        settings = Settings.from_env(os.environ)
        catalogs = _catalogs(settings)
        emulator = Emulator(os.environ["LINEAGE_BRIDGE_CONFLUENT_API_URL"])
        spark = spark_session(catalogs, SPARK_CONF, app_name="lineage-bridge-materializer")
        confluent = ConfluentSession(settings.confluent)
        materializer = Materializer(
            spark,
            emulator,
            catalogs.default.name,
            confluent,
            boto3.client("s3"),
            heartbeat,
            managed_catalog=MANAGED_CATALOG,
        )
        sinks = IcebergSinks(spark, emulator, S3_TABLES, confluent)
        heartbeat(tables=0, synced=0)
        _log.info("Ready")
        try:
            while not stop.is_set():
                try:
                    materializer.step(stop)
                    sinks.step(stop)
                except httpx.HTTPError as error:
                    _log.warning("The Confluent emulator failed: %s", error or type(error).__name__)
                stop.wait(interval)
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
    parser.add_argument("--interval", type=float, default=INTERVAL, help="seconds between two passes")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        sys.exit(run(arguments.home.resolve(), arguments.interval))
    except LineageBridgeError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
