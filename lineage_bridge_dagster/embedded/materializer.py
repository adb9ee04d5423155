"""Tableflow's engine for the local stack: topics become Iceberg tables, and stay up to date.

    python -m lineage_bridge_dagster.embedded.materializer --home DIR

One Spark driver for all tables. It asks the emulator which topics are enabled, creates their Glue tables at
the place that the emulator decided, appends what the topics got, and reports back. It goes on committing for
as long as it runs, also while lineage is being pushed into the same Glue tables.

A topic on which Tableflow is disabled leaves the catalog; its files stay in the bucket. Confluent's own role
for Glue asks for `glue:DeleteTable`, and a bucket that is the customer's is the customer's to clean.

Of two topics whose names fold to one Glue table the one that was enabled first gets it.
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
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, urlsplit

import httpx
from dotenv import dotenv_values

from lineage_bridge_dagster.config.settings import Settings
from lineage_bridge_dagster.confluent.api.bootstrap import Bootstrap
from lineage_bridge_dagster.confluent.api.errors import TopicNotFoundError
from lineage_bridge_dagster.confluent.api.schema_registry import SchemaRegistryClient
from lineage_bridge_dagster.confluent.api.session import ConfluentSession
from lineage_bridge_dagster.errors import ConfigurationError, LineageBridgeError
from lineage_bridge_dagster.spark.avro import SubjectSchemas, fetch_schemas
from lineage_bridge_dagster.spark.iceberg_tables import TableName, exists, location
from lineage_bridge_dagster.spark.kafka import KafkaTopic
from lineage_bridge_dagster.spark.tableflow.append import (
    Failures,
    SuspendedError,
    TopicSchemas,
    TopicTable,
    TopicTableConfig,
    drop,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Seconds between two looks at the topics.
INTERVAL = 2.0

#: Seconds after which a table that has nothing new is looked at in the catalog: somebody may have dropped it.
_LOOK_AGAIN = 30.0

_LONGEST_BACKOFF = 60.0

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

_log = logging.getLogger("lineage_bridge_dagster.materializer")


@dataclass(frozen=True, slots=True)
class Entry:
    """A Tableflow topic as the emulator's `/emulator/tableflow` lists it."""

    cluster: str
    topic: str
    subject: str
    bootstrap: str
    schema_registry_url: str
    bucket: str
    bucket_region: str
    table_path: str
    database: str
    table: str
    failures: Failures
    portable_names: bool
    iceberg: bool
    phase: str
    error_message: str
    created_at: str

    @classmethod
    def parse(cls, raw: Mapping[str, Any]) -> Self:
        config = raw.get("config") or {}
        failures = (config.get("error_handling") or {}).get("mode", "SUSPEND")
        return cls(
            cluster=raw["cluster"],
            topic=raw["topic"],
            subject=raw["subject"],
            bootstrap=raw["bootstrap"],
            schema_registry_url=raw["schema_registry_url"],
            bucket=raw["bucket"],
            bucket_region=raw["bucket_region"],
            table_path=raw["table_path"],
            database=raw["glue_database"],
            table=raw["glue_table"],
            failures=failures if failures in ("SKIP", "LOG") else "SUSPEND",
            portable_names=config.get("metadata_column_naming_scheme") == "PORTABLE",
            iceberg="ICEBERG" in (raw.get("table_formats") or ["ICEBERG"]),
            phase=raw.get("phase", "PENDING"),
            error_message=raw.get("error_message", ""),
            created_at=raw.get("created_at", ""),
        )

    def table_config(self, catalog: str) -> TopicTableConfig:
        name = TableName(catalog, self.database, self.table)
        return TopicTableConfig(name, self.table_path, self.failures, self.portable_names)


class Emulator:
    """The emulator's own paths, as the materializer uses them."""

    def __init__(self, url: str, client: httpx.Client | None = None) -> None:
        """`client`, with a base URL that ends in `/emulator/`, is for tests."""
        self._client = client or httpx.Client(
            base_url=f"{url.rstrip('/')}/emulator/", timeout=15, trust_env=False
        )

    def close(self) -> None:
        self._client.close()

    def enabled(self) -> list[Entry]:
        """The topics that should be tables, the one that was enabled first before the others."""
        found = [Entry.parse(raw) for raw in self._get("tableflow")]
        return sorted(found, key=lambda entry: (entry.created_at, entry.cluster, entry.topic))

    def dropped(self) -> list[Entry]:
        """Topics disabled since, whose tables are to leave the catalog."""
        return [Entry.parse(raw) for raw in self._get("tableflow/dropped")]

    def report(self, entry: Entry, phase: str, error_message: str = "") -> None:
        """Tell how a topic's table stands. One that was disabled meanwhile is no matter."""
        path = f"tableflow/{quote(entry.cluster, safe='')}/{quote(entry.topic, safe='')}/status"
        answer = self._client.put(path, json={"phase": phase, "error_message": error_message[:1000]})
        if answer.status_code != 404:
            answer.raise_for_status()

    def forget(self, entry: Entry) -> None:
        """Say that a disabled topic's table has left the catalog."""
        answer = self._client.delete(f"tableflow/dropped/{entry.table_path.rpartition('/')[2]}")
        if answer.status_code != 404:
            answer.raise_for_status()

    def _get(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._client.get(path).raise_for_status().json()
        return found


class Flow:
    """One topic's table, with the schemas known so far and when to try again after a failure."""

    def __init__(self, spark: SparkSession, entry: Entry, catalog: str, confluent: ConfluentSession) -> None:
        self.entry = entry
        self._registry = SchemaRegistryClient(confluent, "")
        self._known = TopicSchemas(SubjectSchemas(f"{entry.topic}-key"), SubjectSchemas(entry.subject))
        bootstrap = Bootstrap.of_cluster(confluent.settings, entry.bootstrap, "", entry.cluster)
        self._topic = KafkaTopic(entry.topic, bootstrap)
        self._table = TopicTable(spark, self._topic, entry.table_config(catalog), self._schemas)
        self._looked = self._retry = float("-inf")
        self._failures = 0
        self._seen: Any = None

    def step(self) -> bool:
        """Bring the table up to the topic; False while there is nothing yet to make a table of."""
        now = time.monotonic()
        first, last = self._topic.bounds()
        if self._seen == last and now - self._looked < _LOOK_AGAIN:
            return True
        if first == last and self._schemas().value.reader is None:
            # Neither a schema nor a record says what the columns are.
            return False
        self._table.ensure()
        self._looked, self._seen = now, None
        caught_up = False
        while not caught_up:
            done = self._table.advance()
            caught_up = done.caught_up
            if done.rows or done.skipped:
                _log.info("%s: %d rows, %d left out", self.entry.table, done.rows, done.skipped)
            self._seen = done.offsets
        self._failures = 0
        return True

    def is_for(self, entry: Entry) -> bool:
        """Whether it still is for the topic as it now is listed; a restarted broker may have another port."""
        same = (
            entry.table_config("") == self.entry.table_config(""),
            entry.bootstrap == self.entry.bootstrap,
        )
        return all(same)

    @property
    def resting(self) -> bool:
        """Whether it failed a short while ago."""
        return time.monotonic() < self._retry

    def failed(self) -> None:
        """Wait longer after each failure in a row, then look at the table: a commit may have gone through."""
        self._seen = None
        self._failures += 1
        self._retry = time.monotonic() + min(_LONGEST_BACKOFF, INTERVAL * 2**self._failures)

    def _schemas(self) -> TopicSchemas:
        url = self.entry.schema_registry_url
        sides = (self._known.key, self._known.value)
        key, value = (fetch_schemas(self._registry, url, known.subject, known=known) for known in sides)
        self._known = TopicSchemas(key, value)
        return self._known


class Materializer:
    """Keeps every enabled topic's table up to date, one step of `run` at a time."""

    def __init__(
        self,
        spark: SparkSession,
        emulator: Emulator,
        catalog: str,
        confluent: ConfluentSession,
        s3: Any,
        beat: Any = lambda **_: None,
    ) -> None:
        """`s3` is a boto3 client, for the buckets; `beat` is told how things stand after each table."""
        self._spark = spark
        self._emulator = emulator
        self._catalog = catalog
        self._confluent = confluent
        self._s3 = s3
        self._beat = beat
        self._flows: dict[str, Flow] = {}
        self._buckets: set[str] = set()
        self._synced: set[str] = set()

    def step(self, stop: threading.Event | None = None) -> None:
        """Look at every topic once. An emulator that does not answer raises httpx.HTTPError."""
        for entry in self._emulator.dropped():
            self._drop(entry)
        enabled = self._emulator.enabled()
        paths = {entry.table_path for entry in enabled}
        self._flows = {path: flow for path, flow in self._flows.items() if path in paths}
        self._synced &= paths
        for entry, first in _by_table(entry for entry in enabled if entry.iceberg):
            if stop is not None and stop.is_set():
                return
            if first is not entry:
                self._report(
                    entry,
                    "FAILED",
                    f"Topics {first.topic} and {entry.topic} have one name in Glue, {entry.database}."
                    f"{entry.table}; it is {first.topic}'s.",
                )
                continue
            if self._advance(entry):
                self._synced.add(entry.table_path)
            else:
                self._synced.discard(entry.table_path)
            self._beat(tables=len(enabled), synced=len(self._synced))
        self._beat(tables=len(enabled), synced=len(self._synced))

    def _advance(self, entry: Entry) -> bool:
        flow = self._flows.get(entry.table_path)
        if flow is None or not flow.is_for(entry):
            flow = self._flows[entry.table_path] = Flow(self._spark, entry, self._catalog, self._confluent)
        if flow.resting:
            return False
        try:
            self._ensure_bucket(entry)
            if not flow.step():
                return False
        except TopicNotFoundError as error:
            # Enabled before the topic was made: as with Tableflow, it stays PENDING.
            _log.info("%s", error.message)
            return False
        except Exception as error:
            if _jvm_is_gone(error):
                raise
            flow.failed()
            _log.warning("%s.%s: %s", entry.database, entry.table, error, exc_info=not _expected(error))
            if _suspends(error):
                self._report(entry, "FAILED", _message(error))
            return False
        self._report(entry, "RUNNING")
        return True

    def _drop(self, entry: Entry) -> None:
        table = TableName(self._catalog, entry.database, entry.table)
        # The topic may have been enabled again meanwhile, and the name be another table's.
        if exists(self._spark, table) and location(self._spark, table) == entry.table_path:
            drop(self._spark, table)
        self._emulator.forget(entry)

    def _report(self, entry: Entry, phase: str, message: str = "") -> None:
        if (entry.phase, entry.error_message) != (phase, message[:1000]):
            self._emulator.report(entry, phase, message)

    def _ensure_bucket(self, entry: Entry) -> None:
        if entry.bucket in self._buckets:
            return
        known = {bucket["Name"] for bucket in self._s3.list_buckets()["Buckets"]}
        if entry.bucket not in known:
            place = {"LocationConstraint": entry.bucket_region}
            elsewhere = {"CreateBucketConfiguration": place} if entry.bucket_region != "us-east-1" else {}
            self._s3.create_bucket(Bucket=entry.bucket, **elsewhere)
        self._buckets.add(entry.bucket)


def _by_table(entries: Iterable[Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Each entry with the first one of its Glue table."""
    first: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        yield entry, first.setdefault((entry.database, entry.table), entry)


def _suspends(error: Exception) -> bool:
    """Whether only a change of the topic helps: not for a broker or a catalog that is away."""
    from pyspark.errors import AnalysisException

    return isinstance(error, SuspendedError | AnalysisException)


def _expected(error: Exception) -> bool:
    return isinstance(error, LineageBridgeError | httpx.HTTPError)


def _message(error: Exception) -> str:
    return error.message if isinstance(error, LineageBridgeError) else str(error).partition("\n")[0]


def _jvm_is_gone(error: Exception) -> bool:
    from py4j.protocol import Py4JNetworkError

    return isinstance(error, Py4JNetworkError | ConnectionRefusedError)


class Heartbeat:
    """The ready file: there once Spark is up, and written anew after each table for as long as there is life.

    `{"pid", "at" (ISO 8601 UTC), "tables", "synced"}`: how many topics are enabled, and how many of their
    tables were up to date when last looked at. One that is older than a few minutes means hung.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.clear()

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)

    def __call__(self, **state: int) -> None:
        text = json.dumps({"pid": os.getpid(), "at": datetime.now(UTC).isoformat(), **state})
        part = self._path.with_suffix(".part")
        part.write_text(text, "utf-8")
        part.replace(self._path)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a lock file: two writers of one table would write its records twice.

    Raises:
        ConfigurationError: another process holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ConfigurationError(
                f"Another materializer works on {path.parent.parent}.",
                hint="`lineage-bridge local status` names it; `lineage-bridge local down` ends it.",
            ) from error
        yield


def local_environment(home: Path) -> dict[str, str]:
    """The stack's own variables, which win over the shell's, whose AWS account may be a real one.

    Raises:
        ConfigurationError: AWS or Confluent would not be those of this machine.
    """
    stack = {key: value for key, value in dotenv_values(home / "stack.env").items() if value}
    env = {**os.environ, **stack}
    for name in ("AWS_ENDPOINT_URL", "LINEAGE_BRIDGE_CONFLUENT_API_URL"):
        host = urlsplit(env.get(name, "")).hostname
        if host not in ("127.0.0.1", "localhost", "::1"):
            raise ConfigurationError(
                f"{name} is {env.get(name) or 'not set'}: the materializer writes to the local stack alone.",
                hint=f"Start the stack with `lineage-bridge local up`; it writes {home / 'stack.env'}.",
            )
    env.setdefault("AWS_ACCESS_KEY_ID", "local")
    env.setdefault("AWS_SECRET_ACCESS_KEY", "local")
    region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or "us-east-1"
    # The Java SDK reads the one name, boto3 the other.
    return {**env, "AWS_REGION": region, "AWS_DEFAULT_REGION": region}


def run(home: Path, interval: float = INTERVAL) -> int:
    """Work until SIGTERM or SIGINT. Returns the exit code: 1 when Spark's JVM went away."""
    import boto3

    from lineage_bridge_dagster.spark.session import spark_session

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with alone(home / "run" / "materializer.lock"):
        beat = Heartbeat(home / "run" / "materializer.ready")
        os.environ.update(local_environment(home))
        catalog = Settings.from_env(os.environ).catalog
        emulator = Emulator(os.environ["LINEAGE_BRIDGE_CONFLUENT_API_URL"])
        spark = spark_session(catalog, SPARK_CONF, app_name="lineage-bridge-materializer")
        confluent = ConfluentSession(Settings.from_env(os.environ).confluent)
        materializer = Materializer(spark, emulator, catalog.name, confluent, boto3.client("s3"), beat)
        beat(tables=0, synced=0)
        _log.info("Ready")
        try:
            while not stop.is_set():
                try:
                    materializer.step(stop)
                except httpx.HTTPError as error:
                    _log.warning("The Confluent emulator did not answer: %s", error or type(error).__name__)
                stop.wait(interval)
        except Exception as error:
            if not _jvm_is_gone(error):
                raise
            _log.error("Spark's JVM went away: %s", error)
            return 1
        finally:
            beat.clear()
            emulator.close()
            confluent.close()
        spark.stop()
    return 0


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Turns the local stack's topics into Iceberg tables.")
    parser.add_argument("--home", type=Path, required=True, help="data home of the local stack")
    parser.add_argument("--interval", type=float, default=INTERVAL, help="seconds between two looks")
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
